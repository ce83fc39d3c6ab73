#include "attn/training/adam.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/errors.hpp"

namespace attn::training {

double paper_rate(std::size_t d_model, std::size_t warmup, std::uint64_t step) {
  if (warmup == 0) refuse("warmup", "at least 1 update", "0");
  if (step == 0) refuse("step", "the number of an update, from 1", "0");
  const double s = static_cast<double>(step), w = static_cast<double>(warmup);
  return std::min(1.0 / std::sqrt(s), s / (w * std::sqrt(w))) / std::sqrt(static_cast<double>(d_model));
}

Adam::Adam(engine::Parameters& parameters, engine::Backend& backend, const AdamOptions& options)
    : parameters_(parameters), backend_(backend), options_(options) {
  const std::size_t size = parameters.size();
  mean_ = {backend.allocate(size), 1, size, size};
  square_ = {backend.allocate(size), 1, size, size};
}

Adam::~Adam() {
  backend_.release(mean_.data, mean_.columns);
  backend_.release(square_.data, square_.columns);
}

double Adam::update(double rate, double gradient_scale) {
  const engine::View gradients = parameters_.gradients();
  const double length = std::sqrt(backend_.sum_of_squares(gradients)) * gradient_scale;
  if (!std::isfinite(length)) refuse("gradients", "numbers", "NaN or infinity; nothing was updated");
  const bool too_long = options_.longest_gradient > 0.0 && length > options_.longest_gradient;
  const double scale = gradient_scale * (too_long ? options_.longest_gradient / length : 1.0);
  backend_.adam({rate, options_.beta_1, options_.beta_2, options_.epsilon, ++t_, scale}, parameters_.values(),
                gradients, mean_, square_);
  backend_.zero(gradients);
  return length;
}

}  // namespace attn::training
