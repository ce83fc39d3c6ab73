// Chapter 08.
#include "attn/reference/layer_norm.hpp"

#include <cmath>

#include "attn/core/errors.hpp"
#include "attn/core/shape.hpp"

namespace attn {

// [layer_norm]
Matrix layer_norm(const Matrix& x, const LayerNorm& weights, const Dialect& dialect) {
  const auto [n, d] = shape(x);
  const bool annotated = dialect.norm == NormForm::annotated;
  expect_shape(weights.gamma, {1, d}, "gamma");
  expect_shape(weights.beta, {1, d}, "beta");
  if (annotated && d < 2) refuse("x", "at least two columns to take an unbiased deviation of", shape_text(x));

  Matrix y({n, d});
  for (std::size_t i = 0; i < n; ++i) {
    const double mean = xt::mean(xt::row(x, i))();
    const Vector apart = xt::row(x, i) - mean;
    const double squares = dot(apart, apart), width = static_cast<double>(d);
    const double divisor = annotated ? std::sqrt(squares / (width - 1)) + dialect.epsilon
                                     : std::sqrt(squares / width + dialect.epsilon);
    xt::row(y, i) = apart / divisor;
  }
  return y * weights.gamma + weights.beta;
}
// [layer_norm]

}  // namespace attn
