// The little model of this chapter, its words, and what is measured on it.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "attn/core/config.hpp"
#include "attn/core/random.hpp"
#include "attn/core/trace.hpp"
#include "attn/reference/loss.hpp"
#include "attn/reference/transformer.hpp"

namespace attn {

using Words = std::vector<std::string>;

// [vocabulary]
inline const Words vocabulary = {"PAD",     "BOS", "EOS", "ein",  "Hund", "läuft",
                                 "schnell", "a",   "dog", "runs", "fast"};
inline const Tokens source = {3, 4, 5, 2, 0};  // ein Hund läuft EOS PAD
inline const Tokens target = {7, 8, 9, 2};     // a dog runs EOS
// [vocabulary]

inline std::string word(int token) { return vocabulary.at(static_cast<std::size_t>(token)); }

inline Words words(const Tokens& tokens) {
  Words all;
  for (const int token : tokens) all.push_back(word(token));
  return all;
}

// [toy]
/// Two layers a side, small enough to print.
inline Config toy() {
  Config config;
  config.vocabulary = vocabulary.size();
  config.d_model = 16;
  config.d_ff = 32;
  config.h = 4;
  config.encoder_layers = config.decoder_layers = 2;
  return config;
}
// [toy]

/// The root of the mean square of all numbers.
inline double size_of(const Matrix& X) { return std::sqrt(xt::mean(X * X)()); }

/// 63045632 as 63,045,632.
inline std::string grouped(std::size_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

/// How far each state of the decoder moves when one token of the source, or of what the decoder reads, is another.
/// Padding stays padding; it gets another embedding.
inline Matrix influence(const Transformer& model, const Tokens& input) {
  const auto states = [&](const Transformer& m, const Tokens& s, const Tokens& t) {
    Trace trace;
    decode(m, t, encode(m, s), s);
    return trace["decoder.states"];
  };
  const Matrix before = states(model, source, input);
  Matrix moved({input.size(), source.size() + input.size()});
  for (std::size_t j = 0; j < moved.shape(1); ++j) {
    Transformer other = model;
    Tokens s = source, t = input;
    int& token = j < source.size() ? s[j] : t[j - source.size()];
    if (token == model.config.pad) {
      xt::row(other.embedding, token) += 1.0;
    } else {
      token = 10;  // "fast", which stands nowhere in them
    }
    const Matrix change = states(other, s, t) - before;
    for (std::size_t i = 0; i < input.size(); ++i) moved(i, j) = norm(xt::row(change, i));
  }
  return moved;
}

/// What an untrained model makes of random sentences: its loss, and the size of its logits.
struct Start {
  double loss = 0.0;
  double logits = 0.0;
};

// [start]
/// The mean over many models, their embeddings drawn with this standard deviation.
inline Start before_training(double deviation) {
  const int seeds = 100;
  Start mean;
  for (int seed = 0; seed < seeds; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    const Transformer model = make_transformer(toy(), [&](const Parameter& p) {
      const bool is_embedding = p.kind == Parameter::Kind::embedding;
      return is_embedding ? random.normal_matrix(p.rows, p.columns, deviation) : initial_value(p, random);
    });
    Tokens from(6), to(6);
    for (int& token : from) token = 3 + static_cast<int>(random.bits() % 8);
    for (int& token : to) token = 3 + static_cast<int>(random.bits() % 8);
    const Matrix logits = transformer(model, from, to);
    mean.loss += cross_entropy(logits, to, model.config.pad) / seeds;
    mean.logits += size_of(logits) / seeds;
  }
  return mean;
}
// [start]

/// Weights for every parameter that any dialect has, so that all of them can be given the same.
class SharedWeights {
 public:
  explicit SharedWeights(std::uint64_t seed) {
    Config everything = toy();
    everything.dialect.attention_bias = everything.dialect.output_bias = everything.dialect.final_norm = true;
    Random random(seed);
    for (const Parameter& p : parameters(everything)) {
      const bool is_vector = p.kind == Parameter::Kind::bias || p.kind == Parameter::Kind::gain;
      Matrix value = initial_value(p, random);
      if (is_vector) value += random.normal_matrix(p.rows, p.columns, 0.2);  // as if something had been learned
      weights_[p.name] = value;
    }
  }

  // [dialect]
  /// A model of some dialect, with as many of the weights as it has use for.
  Transformer in(const Dialect& dialect) const {
    Config config = toy();
    config.dialect = dialect;
    return make_transformer(config, [&](const Parameter& p) { return weights_.at(p.name); });
  }
  // [dialect]

 private:
  std::map<std::string, Matrix> weights_;
};

}  // namespace attn
