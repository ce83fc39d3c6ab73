// Exercise 9.3: does it cheat?
// A model that can see the answer trains to perfection, and then translates nothing. You get a model as a black
// box: it takes the target and gives a row of logits for each of its tokens. Row i must not depend on token i, nor
// on any after it. Find out whether it does.
#include <functional>

#include "attn/core/random.hpp"
#include "attn/reference/transformer.hpp"
#include "exercise.hpp"

using attn::Matrix;
using attn::Tokens;
using Model = std::function<Matrix(const Tokens& target)>;

// [answer]
bool cheats(const Model& model, const Tokens& target) {
  const Matrix before = model(target);
  for (std::size_t j = 0; j < target.size(); ++j) {
    Tokens other = target;
    other[j] = other[j] == 3 ? 4 : 3;  // any other word
    const Matrix after = model(other);
    for (std::size_t i = 0; i <= j; ++i) {  // the rows that must not know token j
      const Matrix change = xt::view(after - before, xt::range(i, i + 1), xt::all());
      if (xt::amax(xt::abs(change))() > 0.0) return true;
    }
  }
  return false;
}
// [answer]

void checks() {
  attn::Config config;
  config.vocabulary = 12, config.d_model = 8, config.d_ff = 16, config.h = 2;
  config.encoder_layers = config.decoder_layers = 2;
  attn::Random random(1);
  const attn::Transformer model = attn::initial_transformer(config, random);
  const Tokens source = {3, 7, 5, 2}, target = {8, 4, 6, 9, 2};
  const Matrix memory = attn::encode(model, source);

  const Model honest = [&](const Tokens& y) { return attn::transformer(model, source, y); };
  const Model not_shifted = [&](const Tokens& y) { return attn::decode(model, y, memory, source); };
  const Model no_mask = [&](const Tokens& y) {  // shifted, but an encoder layer looks both ways
    return attn::product(attn::encode(model, attn::shift_right(model, y)), attn::transpose(model.embedding));
  };
  const Model only_the_last = [&](const Tokens& y) {  // honest, but for the last row
    Matrix logits = honest(y);
    logits(y.size() - 1, 0) += y.back();
    return logits;
  };
  const Model only_the_next = [&](const Tokens& y) {  // honest, but for the token after its own
    Matrix logits = honest(y);
    for (std::size_t i = 0; i + 1 < y.size(); ++i) logits(i, 0) += y[i + 1];
    return logits;
  };
  exercise::expect(!cheats(honest, target), "the Transformer of this chapter does not cheat");
  exercise::expect(cheats(not_shifted, target),
                   "a model whose target is not shifted cheats: row i has read token i");
  exercise::expect(cheats(no_mask, target), "a model without causal mask cheats: row i has read tokens after i");
  exercise::expect(cheats(only_the_last, target), "this one cheats in the last row alone");
  exercise::expect(cheats(only_the_next, target),
                   "this one cheats too: row i has read token i + 1, and not token i");
}

int main() { return exercise::run(checks); }
