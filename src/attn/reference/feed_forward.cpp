// Chapter 08.
#include "attn/reference/feed_forward.hpp"

#include "attn/core/trace.hpp"
#include "attn/reference/multi_head.hpp"

namespace attn {

Matrix relu(const Matrix& X) { return xt::where(X < 0.0, 0.0, X); }

Matrix swish(const Matrix& X) { return X / (1.0 + xt::exp(-X)); }

// [feed_forward]
Matrix feed_forward(const Matrix& x, const FeedForward& weights, const Dialect& dialect, Dropout* dropout) {
  const Matrix wide = linear(x, weights.W_1, weights.b_1);
  const Matrix hidden = trace("hidden", dialect.activation == Activation::relu ? relu(wide) : swish(wide));
  const Matrix kept = dialect.feed_forward_dropout ? apply_dropout(hidden, dropout) : hidden;
  return trace("output", linear(kept, weights.W_2, weights.b_2));
}
// [feed_forward]

}  // namespace attn
