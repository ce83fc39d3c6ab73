// Chapter 10.
#include "attn/reference/adam.hpp"

#include <cmath>

#include "attn/core/shape.hpp"
#include "attn/core/trace.hpp"

namespace attn {

// [adam]
Matrix adam_update(const Matrix& theta, const Matrix& g, double rate, Adam& adam) {
  expect_shape(g, shape(theta), "g");
  if (adam.t == 0) adam.m = adam.v = xt::zeros_like(theta);
  expect_shape(adam.m, shape(theta), "m");
  const double t = static_cast<double>(++adam.t);
  adam.m = trace("m", adam.beta_1 * adam.m + (1.0 - adam.beta_1) * g);
  adam.v = trace("v", adam.beta_2 * adam.v + (1.0 - adam.beta_2) * g * g);
  const Matrix m_hat = trace("m_hat", adam.m / (1.0 - std::pow(adam.beta_1, t)));
  const Matrix v_hat = trace("v_hat", adam.v / (1.0 - std::pow(adam.beta_2, t)));
  return theta - rate * m_hat / (xt::sqrt(v_hat) + adam.epsilon);
}
// [adam]

}  // namespace attn
