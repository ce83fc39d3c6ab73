// Chapter 04.
#include "attn/reference/multi_head.hpp"

#include <string>

#include "attn/core/errors.hpp"
#include "attn/core/shape.hpp"
#include "attn/core/trace.hpp"

namespace attn {

// [linear]
Matrix linear(const Matrix& X, const Matrix& W, const Matrix& b) {
  Matrix Y = project(X, W);
  if (b.size() == 0) return Y;
  expect_shape(b, {1, W.shape(1)}, "b");
  Y += b;
  return Y;
}
// [linear]

// [split]
std::vector<Matrix> split_heads(const Matrix& Q, std::size_t h) {
  const std::size_t width = Q.shape(1);
  if (h == 0 || width % h != 0) {
    refuse("split_heads", "columns that h = " + std::to_string(h) + " divides", shape_text(Q));
  }
  const std::size_t d = width / h;
  std::vector<Matrix> heads;
  for (std::size_t i = 0; i < h; ++i) heads.push_back(xt::view(Q, xt::all(), xt::range(i * d, (i + 1) * d)));
  return heads;
}
// [split]

// [concat]
Matrix concat(const std::vector<Matrix>& heads) {
  if (heads.empty()) refuse("concat", "at least one head", "none");
  const auto [n, d] = shape(heads[0]);
  Matrix joined({n, heads.size() * d});
  for (std::size_t i = 0; i < heads.size(); ++i) {
    expect_shape(heads[i], {n, d}, "head " + std::to_string(i));
    xt::view(joined, xt::all(), xt::range(i * d, (i + 1) * d)) = heads[i];
  }
  return joined;
}
// [concat]

// [multi_head_attention]
Matrix multi_head_attention(const Matrix& x, const Matrix& memory, const MultiHead& weights,
                            const Attend& attend) {
  const Matrix Q = trace("Q", linear(x, weights.W_Q, weights.b_Q));
  const Matrix K = trace("K", linear(memory, weights.W_K, weights.b_K));
  const Matrix V = trace("V", linear(memory, weights.W_V, weights.b_V));

  const auto Qs = split_heads(Q, weights.h), Ks = split_heads(K, weights.h), Vs = split_heads(V, weights.h);
  std::vector<Matrix> heads;
  for (std::size_t i = 0; i < weights.h; ++i) {
    const TraceScope scope("head." + std::to_string(i));
    heads.push_back(attend(Qs[i], Ks[i], Vs[i]));
  }
  const Matrix joined = trace("concat", concat(heads));
  return trace("output", linear(joined, weights.W_O, weights.b_O));
}
// [multi_head_attention]

}  // namespace attn
