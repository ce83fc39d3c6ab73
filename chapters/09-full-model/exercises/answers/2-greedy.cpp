// Exercise 9.2: one token at a time.
// You have attn::encode(model, source), which reads the source once, and attn::decode(model, input, memory,
// source), whose last row of logits scores what comes after the last token of the input. Begin with BOS, take the
// likeliest token, give it back to the decoder, and go on until EOS, which belongs to the answer, or until there
// are `most` tokens. BOS does not belong to the answer.
#include "attn/core/random.hpp"
#include "attn/reference/greedy.hpp"
#include "exercise.hpp"

using attn::Matrix;
using attn::Tokens;
using attn::Transformer;

// [answer]
Tokens translate(const Transformer& model, const Tokens& source, std::size_t most) {
  const Matrix memory = attn::encode(model, source);
  Tokens read = {model.config.bos};
  while (read.size() <= most) {
    const Matrix logits = attn::decode(model, read, memory, source);
    const auto row = xt::row(logits, read.size() - 1);
    read.push_back(static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin()));
    if (read.back() == model.config.eos) break;
  }
  return Tokens(read.begin() + 1, read.end());
}
// [answer]

/// A model without layers, in which each token is followed by a certain other one.
Transformer chain(const Tokens& next) {
  attn::Config config;
  config.vocabulary = next.size();
  config.d_model = next.size();
  config.h = 1;
  config.tied = false;
  config.encoder_layers = config.decoder_layers = 0;
  return attn::make_transformer(config, [&](const attn::Parameter& parameter) {
    Matrix rows = 10.0 * attn::identity(next.size());  // each token points in a direction of its own
    if (parameter.name != "projection.W") return rows;
    Matrix W = xt::zeros<double>({next.size(), next.size()});
    for (std::size_t t = 0; t < next.size(); ++t) W(static_cast<std::size_t>(next[t]), t) = 1.0;
    return W;
  });
}

void expect_tokens(const Tokens& got, const Tokens& wanted, const std::string& what) {
  const auto text = [](const Tokens& tokens) {
    std::string all;
    for (const int token : tokens) all += (all.empty() ? "" : " ") + std::to_string(token);
    return "(" + all + ")";
  };
  exercise::expect(got == wanted, what + " should be " + text(wanted) + ", and is " + text(got));
}

void checks() {
  // by hand: BOS is 1, EOS is 2, and 1 is followed by 5, 5 by 3, 3 by 7, 7 by 2, 2 by 4
  const Transformer model = chain({0, 5, 4, 7, 6, 3, 0, 2});
  expect_tokens(translate(model, {3, 4, 2}, 10), {5, 3, 7, 2}, "what the chain says");
  expect_tokens(translate(model, {3, 4, 2}, 3), {5, 3, 7}, "what the chain says in three tokens");
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    attn::Config config;
    config.vocabulary = 12, config.d_model = 8, config.d_ff = 16, config.h = 2;
    config.encoder_layers = config.decoder_layers = 2;
    attn::Random random(seed);
    const Transformer untrained = attn::initial_transformer(config, random);
    expect_tokens(translate(untrained, {3, 7, 5, 2}, 6), attn::greedy(untrained, {3, 7, 5, 2}, 6).tokens,
                  "what the untrained model " + std::to_string(seed) + " says");
  }
}

int main() { return exercise::run(checks); }
