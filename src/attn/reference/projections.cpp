// Chapter 02.
#include "attn/reference/projections.hpp"

#include "attn/core/shape.hpp"
#include "attn/core/trace.hpp"
#include "attn/reference/similarity.hpp"

namespace attn {

// [project]
Matrix project(const Matrix& X, const Matrix& W) {
  expect_shape(W, {X.shape(1), W.shape(1)}, "W");
  return product(X, W);
}
// [project]

// [dot_product_attention]
Matrix dot_product_attention(const Matrix& Q, const Matrix& K, const Matrix& V) {
  const std::size_t d_k = Q.shape(1), n_k = K.shape(0), d_v = V.shape(1);
  expect_shape(K, {n_k, d_k}, "K");
  expect_shape(V, {n_k, d_v}, "V");

  const Matrix scores = trace("scores", product(Q, transpose(K)));
  const Matrix weights = trace("weights", softmax(scores));
  return trace("output", weighted_sum(weights, V));
}
// [dot_product_attention]

// [projected_attention]
Matrix projected_attention(const Matrix& X, const Projections& weights) {
  trace("X", X);
  const Matrix Q = trace("Q", project(X, weights.W_Q));
  const Matrix K = trace("K", project(X, weights.W_K));
  const Matrix V = trace("V", project(X, weights.W_V));
  return dot_product_attention(Q, K, V);
}
// [projected_attention]

}  // namespace attn
