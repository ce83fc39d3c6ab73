// Chapter 01.
#include "attn/reference/similarity.hpp"

#include <cmath>

#include "attn/core/errors.hpp"
#include "attn/core/shape.hpp"
#include "attn/core/trace.hpp"

namespace attn {

// [scores]
Matrix similarity_scores(const Matrix& X) { return product(X, transpose(X)); }
// [scores]

// [softmax]
Matrix softmax(const Matrix& scores) {
  Matrix weights(scores.shape());
  for (std::size_t i = 0; i < scores.shape(0); ++i) {
    const auto row = xt::row(scores, i);
    const double largest = xt::amax(row)();
    const Vector e = xt::exp(row - largest);
    xt::row(weights, i) = e / xt::sum(e)();
  }
  return weights;
}
// [softmax]

// [weighted_sum]
Matrix weighted_sum(const Matrix& weights, const Matrix& V) {
  expect_shape(V, {weights.shape(1), V.shape(1)}, "V");
  return product(weights, V);
}
// [weighted_sum]

// [similarity_attention]
Matrix similarity_attention(const Matrix& X) {
  trace("X", X);
  const Matrix scores = trace("scores", similarity_scores(X));
  const Matrix weights = trace("weights", softmax(scores));
  return trace("output", weighted_sum(weights, X));
}
// [similarity_attention]

// [cosine]
double cosine(const Vector& a, const Vector& b) {
  const double lengths = norm(a) * norm(b);
  if (lengths == 0.0) refuse("cosine", "two vectors that are not zero", "a zero vector");
  if (!std::isfinite(lengths)) refuse("cosine", "lengths that a double can hold", "larger ones");
  return dot(a, b) / lengths;
}
// [cosine]

}  // namespace attn
