// Chapter 03.
#include "attn/reference/scaling.hpp"

#include <cmath>

#include "attn/core/errors.hpp"
#include "attn/core/shape.hpp"
#include "attn/core/trace.hpp"
#include "attn/reference/similarity.hpp"

namespace attn {

// [scaled_attention]
Matrix scaled_attention(const Matrix& Q, const Matrix& K, const Matrix& V, double scale) {
  const std::size_t d_k = Q.shape(1), n_k = K.shape(0), d_v = V.shape(1);
  expect_shape(K, {n_k, d_k}, "K");
  expect_shape(V, {n_k, d_v}, "V");

  trace("Q", Q);
  trace("K", K);
  trace("V", V);
  const Matrix scores = trace("scores", product(Q, transpose(K)));
  const Matrix scaled_scores = trace("scaled_scores", scale * scores);
  const Matrix weights = trace("weights", softmax(scaled_scores));
  return trace("output", weighted_sum(weights, V));
}
// [scaled_attention]

// [attention]
Matrix attention(const Matrix& Q, const Matrix& K, const Matrix& V) {
  const std::size_t d_k = Q.shape(1);
  if (d_k == 0) refuse("Q", "at least one column, since the scale is 1/sqrt(d_k)", shape_text(Q));
  return scaled_attention(Q, K, V, 1.0 / std::sqrt(static_cast<double>(d_k)));
}
// [attention]

// [self_attention]
Matrix self_attention(const Matrix& X, const Projections& weights) {
  trace("X", X);
  return attention(project(X, weights.W_Q), project(X, weights.W_K), project(X, weights.W_V));
}
// [self_attention]

// [softmax_jacobian]
Matrix softmax_jacobian(const Vector& p) {
  Matrix J({p.size(), p.size()});
  for (std::size_t i = 0; i < p.size(); ++i) {
    for (std::size_t j = 0; j < p.size(); ++j) J(i, j) = p(i) * ((i == j ? 1.0 : 0.0) - p(j));
  }
  return J;
}
// [softmax_jacobian]

}  // namespace attn
