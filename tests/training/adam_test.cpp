#include "attn/training/adam.hpp"

#include <cmath>

#include "attn/engine/backend/cpu.hpp"
#include "matrices.hpp"

using namespace attn;

namespace {

Config tiny() {
  Config config;
  config.vocabulary = 5;
  config.d_model = config.h = 1;
  config.d_ff = 1;
  config.encoder_layers = config.decoder_layers = 0;
  return config;  // one parameter: the embedding, of 5 numbers
}

/// Parameters whose gradients are g, g, g, g, g.
void set_gradients(engine::Parameters& parameters, engine::Backend& backend, float g) {
  const std::vector<float> numbers(5, g);
  backend.upload(parameters.gradient_at("embedding"), numbers);
}

}  // namespace

TEST_CASE("two updates by hand, and rows without a gradient move on") {
  const auto backend = engine::make_cpu_backend();
  engine::Parameters parameters(tiny(), *backend);
  training::Adam adam(parameters, *backend);
  set_gradients(parameters, *backend, 0.5f);
  CHECK(std::abs(adam.update(0.1) - std::sqrt(1.25)) < 1e-6);
  // m = .05, v = .005, corrected .5 and .25: one whole step of .1
  CHECK(std::abs(parameters.value("embedding")(0, 0) + 0.1) < 1e-6);
  // no gradient: m = .045 / .19, v = .0049 / .0396, so .1 .236842 / .351763
  adam.update(0.1);
  CHECK(std::abs(parameters.value("embedding")(0, 0) + 0.1 + 0.067330) < 1e-5);
  CHECK(adam.updates() == 2);
  CHECK(xt::amax(parameters.gradient("embedding"))() == 0.0);
}

TEST_CASE("gradients that are no numbers change nothing") {
  const auto backend = engine::make_cpu_backend();
  engine::Parameters parameters(tiny(), *backend);
  training::Adam adam(parameters, *backend);
  for (const float bad : {std::nanf(""), INFINITY}) {
    set_gradients(parameters, *backend, bad);
    CHECK(tests::complaint([&] { adam.update(0.1); }) ==
          "gradients: wanted numbers, got NaN or infinity; nothing was updated");
    CHECK(xt::amax(xt::abs(parameters.value("embedding")))() == 0.0);
  }
  CHECK(adam.updates() == 0);
}

TEST_CASE("a gradient that is too long is shortened, after it is scaled") {
  const auto backend = engine::make_cpu_backend();
  engine::Parameters parameters(tiny(), *backend);
  training::Adam adam(parameters, *backend,
                      {0.9, 0.98, 1.0, 1.0});  // an epsilon that shows the size of the gradient
  set_gradients(parameters, *backend, 8.0f);
  CHECK(std::abs(adam.update(1.0, 0.5) - 4.0 * std::sqrt(5.0)) < 1e-5);
  const double g = 1 / std::sqrt(5.0);
  CHECK(std::abs(parameters.value("embedding")(0, 0) + g / (g + 1.0)) < 1e-6);
}
