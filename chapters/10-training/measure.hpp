// What this chapter measures before anything is trained: gradients, the size of the first loss.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "attn/core/config.hpp"
#include "attn/core/random.hpp"
#include "attn/engine/backend/cpu.hpp"
#include "attn/engine/transformer.hpp"
#include "attn/reference/backward.hpp"
#include "attn/reference/loss.hpp"
#include "attn/reference/transformer.hpp"

namespace attn {

/// The root of the mean square of all numbers.
inline double size_of(const Matrix& X) { return std::sqrt(xt::mean(X * X)()); }

// [central]
/// How a loss answers to each number of x, which is moved a little up and a little down.
inline Matrix central_differences(Matrix& x, const std::function<double()>& loss) {
  const double step = 1e-5;
  Matrix slope(x.shape());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = x.flat(i);
    x.flat(i) = value + step;
    const double above = loss();
    x.flat(i) = value - step;
    slope.flat(i) = (above - loss()) / (2 * step);
    x.flat(i) = value;
  }
  return slope;
}
// [central]

/// A model so small that every one of its numbers can be moved by itself.
inline Config smallest() {
  Config config;
  config.vocabulary = 7;
  config.d_model = 8;
  config.d_ff = 16;
  config.h = 2;
  config.encoder_layers = config.decoder_layers = 1;
  return config;
}

/// "encoder.0.self" of "encoder.0.self.W_Q" and of "encoder.0.self.norm.gamma".
inline std::string part_of(const std::string& parameter) {
  return parameter.substr(0, std::min(parameter.find(".norm"), parameter.rfind('.')));
}

/// What is found out about the gradients of one part of a model.
struct PartGradients {
  std::size_t numbers = 0;
  double squares = 0.0;     // of the gradients
  double difference = 0.0;  // the largest, from what is measured
};

// [whole]
/// The engine's gradients of a whole model beside the reference's central differences, part by part.
inline std::map<std::string, PartGradients> whole_model_gradients(Transformer& model, const Tokens& source,
                                                                  const Tokens& target) {
  const Config& config = model.config;
  std::map<std::string, Matrix*> values;
  for_each(model, [&](const std::string& name, Matrix& value) { values[name] = &value; });
  const auto backend = engine::make_cpu_backend();
  engine::Transformer twin(config, *backend);
  twin.parameters().set([&](const Parameter& p) { return *values.at(p.name); });
  const engine::Batch batch = engine::pack(config, {&source, 1}, {&target, 1});
  const double scale = 1.0 / static_cast<double>(target.size());  // the mean over the tokens
  twin.add_gradients(batch, {}, {.dropout = 0.0, .gradient_scale = scale});

  std::map<std::string, PartGradients> parts;
  for (const Parameter& p : parameters(config)) {
    const Matrix gradient = twin.parameters().gradient(p.name);
    const Matrix measured = central_differences(
        *values.at(p.name), [&] { return cross_entropy(transformer(model, source, target), target, config.pad); });
    PartGradients& part = parts[part_of(p.name)];
    part.numbers += p.size();
    part.squares += xt::sum(gradient * gradient)();
    part.difference = std::max(part.difference, xt::amax(xt::abs(gradient - measured))());
  }
  return parts;
}
// [whole]

}  // namespace attn
