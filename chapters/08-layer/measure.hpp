// What this chapter measures, and layers with the random weights that stand before training.
#pragma once

#include <cmath>

#include "attn/core/config.hpp"
#include "attn/core/random.hpp"
#include "attn/reference/layer.hpp"

namespace attn {

/// A matrix as it is before training.
inline Matrix before_training(Random& random, std::size_t rows, std::size_t columns) {
  return initial_value({"", rows, columns, Parameter::Kind::matrix}, random);
}

inline MultiHead random_heads(Random& random, std::size_t h, std::size_t d) {
  const Matrix W_Q = before_training(random, d, d), W_K = before_training(random, d, d);
  const Matrix W_V = before_training(random, d, d), W_O = before_training(random, d, d);
  return {h, W_Q, W_K, W_V, W_O};
}

inline FeedForward random_feed_forward(Random& random, std::size_t d, std::size_t d_ff) {
  const Matrix W_1 = before_training(random, d, d_ff), W_2 = before_training(random, d_ff, d);
  return {W_1, xt::zeros<double>({std::size_t{1}, d_ff}), W_2, xt::zeros<double>({std::size_t{1}, d})};
}

/// A norm that has learned nothing: gamma is 1 and beta is 0.
inline LayerNorm plain_norm(std::size_t d) {
  return {xt::ones<double>({std::size_t{1}, d}), xt::zeros<double>({std::size_t{1}, d})};
}

inline EncoderLayer random_encoder_layer(Random& random, std::size_t h, std::size_t d, std::size_t d_ff) {
  const MultiHead self = random_heads(random, h, d);
  return {self, plain_norm(d), random_feed_forward(random, d, d_ff), plain_norm(d)};
}

inline DecoderLayer random_decoder_layer(Random& random, std::size_t h, std::size_t d, std::size_t d_ff) {
  const MultiHead self = random_heads(random, h, d), cross = random_heads(random, h, d);
  return {self, plain_norm(d), cross, plain_norm(d), random_feed_forward(random, d, d_ff), plain_norm(d)};
}

// [sizes]
/// The root of the mean square of all numbers.
inline double size_of(const Matrix& X) { return std::sqrt(xt::mean(X * X)()); }

/// How different the tokens still are: 0 when all rows are equal, about 1 when they are random.
inline double apartness(const Matrix& X) {
  const Matrix rest = X - xt::mean(X, {0});
  return size_of(X) == 0.0 ? 0.0 : size_of(rest) / size_of(X);
}
// [sizes]

// [variances]
/// The variance of a token in float, in two passes: first the mean, then the squares of what lies apart from it.
inline float two_passes(const std::vector<float>& x) {
  float mean = 0, squares = 0;
  for (const float a : x) mean += a / static_cast<float>(x.size());
  for (const float a : x) squares += (a - mean) * (a - mean) / static_cast<float>(x.size());
  return squares;
}

/// The same on paper, in one pass: the mean of the squares, less the square of the mean.
inline float one_pass(const std::vector<float>& x) {
  float sum = 0, squares = 0;
  for (const float a : x) sum += a, squares += a * a;
  const float n = static_cast<float>(x.size());
  return squares / n - (sum / n) * (sum / n);
}
// [variances]

// [convolution]
/// A convolution along the tokens: output i looks at the tokens around i, one matrix for each offset.
inline Matrix convolution(const Matrix& x, const std::vector<Matrix>& kernel, const Matrix& bias) {
  const std::size_t n = x.shape(0), size = kernel.size(), width = kernel[0].shape(1);
  Matrix y = xt::zeros<double>({n, width});
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < size; ++k) {
      const std::size_t from = i + k - size / 2;
      if (from >= n) continue;  // over the edge: below 0 wraps to something huge
      for (std::size_t a = 0; a < x.shape(1); ++a) {
        for (std::size_t b = 0; b < width; ++b) y(i, b) += x(from, a) * kernel[k](a, b);
      }
    }
  }
  return y + bias;
}
// [convolution]

}  // namespace attn
