// Chapter 08.
#include "attn/reference/dropout.hpp"

namespace attn {

// [dropout]
Matrix apply_dropout(const Matrix& X, Dropout* dropout) {
  if (dropout == nullptr) return X;
  const std::uint32_t site = dropout->next_site++;
  Matrix Y = X;
  std::uint32_t index = 0;
  for (double& y : Y) y *= dropout->factor(site, index++);
  return Y;
}
// [dropout]

}  // namespace attn
