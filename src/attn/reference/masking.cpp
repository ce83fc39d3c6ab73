// Chapter 05.
#include "attn/reference/masking.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/errors.hpp"
#include "attn/core/shape.hpp"
#include "attn/core/trace.hpp"
#include "attn/reference/similarity.hpp"

namespace attn {

// [masks]
Mask full_mask(std::size_t n_q, std::size_t n_k) { return xt::ones<bool>({n_q, n_k}); }

Mask causal_mask(std::size_t n) {
  Mask mask({n, n});
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) mask(i, j) = j <= i;
  }
  return mask;
}

Mask padding_mask(std::size_t n_q, const std::vector<bool>& is_token) {
  Mask mask({n_q, is_token.size()});
  for (std::size_t i = 0; i < n_q; ++i) std::copy(is_token.begin(), is_token.end(), xt::row(mask, i).begin());
  return mask;
}

Mask both(const Mask& a, const Mask& b) {
  expect_shape(b, shape(a), "b");
  return a && b;
}
// [masks]

// [masked_softmax]
Matrix masked_scores(const Matrix& scores, const Mask& mask) {
  expect_shape(mask, shape(scores), "mask");
  return xt::where(mask, scores, -INFINITY);
}

Matrix masked_softmax(const Matrix& scores) {
  Matrix weights = softmax(scores);
  for (std::size_t i = 0; i < scores.shape(0); ++i) {
    const auto row = xt::row(scores, i);
    const bool nothing_left = std::all_of(row.begin(), row.end(), [](double s) { return s == -INFINITY; });
    if (nothing_left) xt::row(weights, i) = 0.0;
  }
  return weights;
}
// [masked_softmax]

// [masked_sum]
Matrix masked_sum(const Matrix& weights, const Matrix& V, const Mask& mask) {
  expect_shape(mask, shape(weights), "mask");
  const Matrix finite = xt::where(xt::isfinite(V), V, 0.0);
  Matrix output = weighted_sum(weights, finite);
  for (std::size_t j = 0; j < V.shape(0); ++j) {
    for (std::size_t c = 0; c < V.shape(1); ++c) {
      if (std::isfinite(V(j, c))) continue;
      for (std::size_t i = 0; i < output.shape(0); ++i) {
        if (mask(i, j)) output(i, c) += weights(i, j) * V(j, c);
      }
    }
  }
  return output;
}
// [masked_sum]

// [masked_attention]
Matrix masked_attention(const Matrix& Q, const Matrix& K, const Matrix& V, const Mask& mask,
                        const std::function<Matrix(const Matrix&)>& on_weights) {
  const std::size_t n_q = Q.shape(0), d_k = Q.shape(1), n_k = K.shape(0), d_v = V.shape(1);
  expect_shape(K, {n_k, d_k}, "K");
  expect_shape(V, {n_k, d_v}, "V");
  expect_shape(mask, {n_q, n_k}, "mask");
  if (d_k == 0) refuse("Q", "at least one column, since the scale is 1/sqrt(d_k)", shape_text(Q));

  trace("Q", Q);
  trace("K", K);
  trace("V", V);
  const Matrix scores = trace("scores", product(Q, transpose(K)));
  const Matrix scaled_scores = trace("scaled_scores", scores * (1.0 / std::sqrt(static_cast<double>(d_k))));
  const Matrix masked = trace("masked_scores", masked_scores(scaled_scores, mask));
  const Matrix weights = trace("weights", masked_softmax(masked));
  return trace("output", masked_sum(on_weights ? on_weights(weights) : weights, V, mask));
}

Attend under(const Mask& mask, const std::function<Matrix(const Matrix&)>& on_weights) {
  return [mask, on_weights](const Matrix& Q, const Matrix& K, const Matrix& V) {
    return masked_attention(Q, K, V, mask, on_weights);
  };
}
// [masked_attention]

}  // namespace attn
