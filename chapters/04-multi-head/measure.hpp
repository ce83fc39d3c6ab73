// What this chapter measures and tries: what a head can see, what it costs, and what a reshape does.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "attn/core/cost.hpp"
#include "attn/core/random.hpp"
#include "attn/reference/multi_head.hpp"
#include "attn/reference/scaling.hpp"

namespace attn {

/// The numbers of a matrix in the same order, row by row, in another shape: a view, or reshape, of the memory.
inline Matrix reshaped(Matrix A, std::size_t rows, std::size_t columns) {
  A.reshape({rows, columns});
  return A;
}

inline Matrix rows_from(const Matrix& A, std::size_t first, std::size_t count) {
  return xt::view(A, xt::range(first, first + count), xt::all());
}

inline double largest_difference(const Matrix& A, const Matrix& B) { return xt::amax(xt::abs(A - B))(); }

/// Random matrices for h heads, of such a size that queries, keys and values have variance 1.
inline MultiHead random_heads(Random& random, const Matrix& X, std::size_t h) {
  const std::size_t d_model = X.shape(1), d_k = std::max<std::size_t>(1, d_model / h), width = h * d_k;
  const double length = std::sqrt(xt::sum(X * X)() / static_cast<double>(X.shape(0)));
  const double deviation = length > 0.0 ? 1.0 / length : 1.0;
  const auto matrix = [&] { return random.normal_matrix(d_model, width, deviation); };
  return {h, matrix(), matrix(), matrix(),
          random.normal_matrix(width, d_model, 1.0 / std::sqrt(static_cast<double>(width)))};
}

/// Heads of given sizes with nothing in them: enough to count what they cost.
inline MultiHead empty_heads(std::size_t h, std::size_t d_model, std::size_t d_k) {
  const Matrix W = xt::zeros<double>({d_model, h * d_k});
  return {h, W, W, W, xt::zeros<double>({h * d_k, d_model})};
}

/// 71303168 as "71,303,168".
inline std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

/// How fast the output of each head moves when a feature of the first token moves: shape (h, d_model).
template <class Heads>
Matrix reach(const Matrix& X, const Heads& heads) {
  const std::vector<Matrix> before = heads(X);
  Matrix speed({before.size(), X.shape(1)});
  for (std::size_t c = 0; c < X.shape(1); ++c) {
    Matrix moved = X;
    moved(0, c) += 1e-6;
    const std::vector<Matrix> after = heads(moved);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const Matrix change = (after[i] - before[i]) / 1e-6;
      speed(i, c) = std::sqrt(xt::sum(change * change)());
    }
  }
  return speed;
}

}  // namespace attn
