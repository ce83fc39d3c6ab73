#include "attn/translation/greedy.hpp"

#include <limits>

#include "attn/core/random.hpp"
#include "attn/engine/backend/cpu.hpp"
#include "attn/reference/greedy.hpp"
#include "matrices.hpp"

using namespace attn;

namespace {

Config small() {
  Config config;
  config.vocabulary = 12;
  config.d_model = 16;
  config.d_ff = 24;
  config.h = 4;
  config.encoder_layers = config.decoder_layers = 2;
  return config;
}

const std::vector<Tokens> sources = {{4, 7, 3, 2}, {9, 5, 6, 8, 11, 10, 2}, {3, 2}, {10, 10, 4, 9, 2}};

}  // namespace

TEST_CASE("it writes what the reference writes, alone or in company") {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    INFO("seed " << seed);
    Random one(seed), two(seed);
    const attn::Transformer reference = initial_transformer(small(), one);
    const auto backend = engine::make_cpu_backend();
    engine::Transformer model(small(), *backend);
    model.parameters().set([&](const Parameter& p) { return initial_value(p, two); });
    const std::vector<Tokens> all = translation::greedy(model, sources, 9);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const Tokens wanted = greedy(reference, sources[i], 9).tokens;
      CHECK(all[i] == wanted);
      CHECK(translation::greedy(model, {&sources[i], 1}, 9)[0] == all[i]);
    }
  }
}

TEST_CASE("it ends with EOS, or where it is told to") {
  const auto backend = engine::make_cpu_backend();
  engine::Transformer model(small(), *backend);
  Random random(3);
  // A bias towards one token, by a model that knows nothing else: all logits are products with this embedding.
  const auto always = [&](int token) {
    model.parameters().set([&](const Parameter& p) {
      Matrix value = initial_value(p, random);
      if (p.name == "embedding") value *= 0.0;
      if (p.name == "embedding") xt::row(value, token) = xt::ones<double>({p.columns});
      if (p.name == "decoder.1.feed_forward.norm.gamma") value *= 0.0;
      if (p.name == "decoder.1.feed_forward.norm.beta") value += 1.0;
      return value;
    });
  };
  always(2);
  CHECK(translation::greedy(model, sources, 5) == std::vector<Tokens>(4, Tokens{2}));
  always(7);
  CHECK(translation::greedy(model, sources, 3) == std::vector<Tokens>(4, Tokens{7, 7, 7}));
  CHECK(translation::greedy(model, sources, 0) == std::vector<Tokens>(4));
  CHECK(translation::greedy(model, {}, 3).empty());
  // A NaN has no place in an order; std::max_element would take it for the largest, or overlook it.
  model.parameters().set([&](const Parameter& p) {
    Matrix value = initial_value(p, random);
    if (p.name == "embedding") value(9, 0) = std::numeric_limits<double>::quiet_NaN();
    return value;
  });
  CHECK(tests::complaint([&] {
          translation::greedy(model, {&sources[0], 1}, 3);
        }) == "logits: wanted numbers, got NaN");
  always(7);
  const std::vector<Tokens> targets = {{7, 7, 7}, {7, 7}, {7, 2}, {2}};
  CHECK(translation::exact_matches(model, sources, targets) == std::vector<bool>{true, false, false, false});
  CHECK(translation::exact_match(model, sources, targets) == 0.25);
  CHECK(tests::complaint([&] { translation::exact_match(model, {}, {}); }) ==
        "exact_match: wanted as many targets as sources, and at least one, got 0 sources and 0 targets");
}
