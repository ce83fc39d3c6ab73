#include "attn/core/shape.hpp"

#include "attn/core/errors.hpp"

namespace attn {

Shape shape(const Matrix& A) { return {A.shape(0), A.shape(1)}; }

Shape shape(const Mask& mask) { return {mask.shape(0), mask.shape(1)}; }

std::string shape_text(Shape shape) {
  return "(" + std::to_string(shape[0]) + ", " + std::to_string(shape[1]) + ")";
}

std::string shape_text(const Matrix& A) { return shape_text(shape(A)); }

void expect_shape(const Matrix& A, Shape wanted, std::string_view name) {
  if (shape(A) != wanted) refuse(name, "shape " + shape_text(wanted), shape_text(A));
}

void expect_shape(const Mask& mask, Shape wanted, std::string_view name) {
  if (shape(mask) != wanted) refuse(name, "shape " + shape_text(wanted), shape_text(shape(mask)));
}

}  // namespace attn
