// What this chapter measures: the size of inner products, and what softmax makes of it.
#pragma once

#include <cmath>

#include "attn/core/random.hpp"
#include "attn/reference/scaling.hpp"
#include "attn/reference/similarity.hpp"

namespace attn {

struct Moments {
  double mean = 0.0;
  double variance = 0.0;
};

// [moments]
/// Mean and variance of the inner products of many pairs of random vectors.
inline Moments inner_products(Random& random, std::size_t d, bool same_vector) {
  const int pairs = 10000;
  double sum = 0.0, squares = 0.0;
  for (int n = 0; n < pairs; ++n) {
    double s = 0.0;
    for (std::size_t i = 0; i < d; ++i) {
      const double q = random.normal();
      s += q * (same_vector ? q : random.normal());
    }
    sum += s;
    squares += s * s;
  }
  const double mean = sum / pairs;
  return {mean, squares / pairs - mean * mean};
}
// [moments]

/// How sharp softmax is at some scores, and how much it answers when they move.
struct Sharpness {
  double largest = 0.0;   // the largest weight
  double jacobian = 0.0;  // the size of the Jacobian: the root of its squares' sum
};

// [sharpness]
inline Sharpness sharpness(const Matrix& scores) {
  const Vector p = xt::row(softmax(scores), 0);
  const Matrix J = softmax_jacobian(p);
  return {xt::amax(p)(), std::sqrt(xt::sum(J * J)())};
}
// [sharpness]

inline void add_share(Sharpness& mean, const Sharpness& one, int draws) {
  mean.largest += one.largest / draws;
  mean.jacobian += one.jacobian / draws;
}

/// What the scale does at one d_k.
struct Effect {
  Sharpness unscaled, scaled;
};

// [effect]
/// The mean over many draws of one query and ten keys of d_k features each, all normal with variance 1.
inline Effect effect_of_scale(Random& random, std::size_t d_k) {
  const int draws = 500;
  const double root = std::sqrt(static_cast<double>(d_k));
  Effect mean;
  for (int n = 0; n < draws; ++n) {
    const Matrix q = random.normal_matrix(1, d_k);
    const Matrix K = random.normal_matrix(10, d_k);
    const Matrix scores = product(q, transpose(K));
    add_share(mean.unscaled, sharpness(scores), draws);
    add_share(mean.scaled, sharpness(scores / root), draws);
  }
  return mean;
}
// [effect]

}  // namespace attn
