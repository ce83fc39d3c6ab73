#include "attn/training/adam.hpp"

#include <cmath>

#include "attn/core/errors.hpp"

namespace attn::training {

Adam::Adam(engine::Parameters& parameters, engine::Backend& backend, const AdamOptions& options)
    : parameters_(parameters), backend_(backend), options_(options) {
  const std::size_t size = parameters.size();
  const engine::View both = {backend.allocate(2 * size), 2, size, size};
  mean_ = both.rows_from(0, 1), square_ = both.rows_from(1, 1);
}

Adam::~Adam() { backend_.release(mean_.data, 2 * mean_.columns); }

double Adam::update(double rate, double gradient_scale) {
  const engine::View gradients = parameters_.gradients();
  const double length = std::sqrt(backend_.sum_of_squares(gradients)) * gradient_scale;
  if (!std::isfinite(length)) refuse("gradients", "numbers", "NaN or infinity; nothing was updated");
  const bool too_long = options_.longest_gradient > 0.0 && length > options_.longest_gradient;
  const double scale = gradient_scale * (too_long ? options_.longest_gradient / length : 1.0);
  backend_.adam({rate, options_.beta_1, options_.beta_2, options_.epsilon, ++t_, scale}, parameters_.values(),
                gradients, mean_, square_);
  return length;
}

}  // namespace attn::training
