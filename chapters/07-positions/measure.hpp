// What this chapter measures: how well the table keeps what the formulas promise.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attn/core/matrix.hpp"
#include "attn/reference/positions.hpp"
#include "program.hpp"

namespace attn {

// [shift_error]
/// The largest error of PE(p + k) = PE(p) M_k, over all p up to 5000.
inline double shift_error(std::size_t k, std::size_t d) {
  const Matrix table = positional_encoding(5001 + k, d);
  const Matrix here = xt::view(table, xt::range(std::size_t{0}, std::size_t{5001}), xt::all());
  const Matrix there = xt::view(table, xt::range(k, 5001 + k), xt::all());
  return max_difference(product(here, shift_matrix(k, d)), there);
}
// [shift_error]

/// How much of the variance of y a prediction explains: 1 for all of it.
inline double r_squared(const Vector& y, const Vector& predicted) {
  const Vector error = y - predicted, spread = y - xt::mean(y)();
  return 1.0 - dot(error, error) / dot(spread, spread);
}

/// The straight line through the points (x, y) with the smallest squared error, at each x.
inline Vector best_line(const Vector& x, const Vector& y) {
  const Vector from_mean = x - xt::mean(x)();
  const double slope = dot(from_mean, y) / dot(from_mean, from_mean);
  return xt::mean(y)() + slope * from_mean;
}

// [wavelength]
/// After how many positions a pair of channels has turned once, read off the table itself.
inline double wavelength(std::size_t i, std::size_t d) {
  const Matrix one = positional_encoding(1, d, PositionLayout::interleaved, 1);
  return 2 * std::numbers::pi / std::atan2(one(0, 2 * i), one(0, 2 * i + 1));
}
// [wavelength]

}  // namespace attn
