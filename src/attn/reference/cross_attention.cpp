// Chapter 06.
#include "attn/reference/cross_attention.hpp"

#include "attn/core/errors.hpp"
#include "attn/core/shape.hpp"
#include "attn/core/trace.hpp"

namespace attn {

// [cross_attention]
Matrix cross_attention(const Matrix& x, const Matrix& memory, const Projections& weights, const Attend& attend) {
  if (weights.W_Q.shape(1) != weights.W_K.shape(1)) {
    refuse("cross_attention", "as many columns (d_k) in W_Q as in W_K",
           shape_text(weights.W_Q) + " and " + shape_text(weights.W_K));
  }
  trace("x", x);
  trace("memory", memory);
  const Matrix Q = project(x, weights.W_Q);
  const Matrix K = project(memory, weights.W_K), V = project(memory, weights.W_V);
  return attend(Q, K, V);
}
// [cross_attention]

}  // namespace attn
