// Chapter 10.
#include "attn/reference/backward.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/errors.hpp"
#include "attn/core/shape.hpp"
#include "attn/core/trace.hpp"
#include "attn/reference/masking.hpp"
#include "attn/reference/similarity.hpp"

namespace attn {
namespace {

/// 1/√d_k, once all shapes are found to fit.
double scale_of(const Matrix& Q, const Matrix& K, const Matrix& V, const Matrix& dO) {
  const std::size_t n_q = Q.shape(0), d_k = Q.shape(1), n_k = K.shape(0), d_v = V.shape(1);
  expect_shape(K, {n_k, d_k}, "K");
  expect_shape(V, {n_k, d_v}, "V");
  expect_shape(dO, {n_q, d_v}, "dO");
  if (d_k == 0) refuse("Q", "at least one column, since the scale is 1/sqrt(d_k)", shape_text(Q));
  return 1.0 / std::sqrt(static_cast<double>(d_k));
}

}  // namespace

// [cross_entropy_backward]
Matrix cross_entropy_backward(const Matrix& logits, const Tokens& targets, int pad, LabelSmoothing smoothing) {
  const auto [m, V] = shape(logits);
  expect_loss(logits, targets, smoothing);
  const auto counted = m - static_cast<std::size_t>(std::count(targets.begin(), targets.end(), pad));
  const Matrix p = softmax(logits);
  Matrix dlogits = xt::zeros<double>({m, V});
  for (std::size_t i = 0; i < m; ++i) {
    if (targets[i] == pad) continue;
    expect_token(targets[i], V, "target " + std::to_string(i));
    for (std::size_t c = 0; c < V; ++c) {
      const double q = share(static_cast<int>(c), targets[i], pad, V, smoothing);
      dlogits(i, c) = (p(i, c) - q) / static_cast<double>(counted);
    }
  }
  return trace("dlogits", dlogits);
}
// [cross_entropy_backward]

// [softmax_backward]
Matrix softmax_backward(const Matrix& A, const Matrix& dA) {
  expect_shape(dA, shape(A), "dA");
  const Matrix mean = xt::sum(A * dA, {1}, xt::keep_dims);
  return A * (dA - mean);
}
// [softmax_backward]

// [attention_backward]
AttentionGradients attention_backward(const Matrix& Q, const Matrix& K, const Matrix& V, const Matrix& dO) {
  const double scale = scale_of(Q, K, V, dO);
  const Matrix A = trace("weights", softmax(scale * product(Q, transpose(K))));
  const Matrix dV = trace("dV", product(transpose(A), dO));
  const Matrix dA = trace("dA", product(dO, transpose(V)));
  const Matrix dS = trace("dS", softmax_backward(A, dA));
  const Matrix dQ = trace("dQ", scale * product(dS, K));
  const Matrix dK = trace("dK", scale * product(transpose(dS), Q));
  return {dQ, dK, dV};
}
// [attention_backward]

// [masked_attention_backward]
AttentionGradients masked_attention_backward(const Matrix& Q, const Matrix& K, const Matrix& V, const Mask& mask,
                                             const Matrix& dO) {
  const double scale = scale_of(Q, K, V, dO);
  const Mask seen_by = xt::transpose(mask);
  const Matrix A = trace("weights", masked_softmax(masked_scores(scale * product(Q, transpose(K)), mask)));
  const Matrix dV = trace("dV", masked_sum(transpose(A), dO, seen_by));
  const Matrix dA = trace("dA", product(dO, transpose(V)));
  const Matrix dS = trace("dS", softmax_backward(A, xt::where(mask, dA, 0.0)));
  const Matrix dQ = trace("dQ", scale * masked_sum(dS, K, mask));
  const Matrix dK = trace("dK", scale * masked_sum(transpose(dS), Q, seen_by));
  return {dQ, dK, dV};
}
// [masked_attention_backward]

}  // namespace attn
