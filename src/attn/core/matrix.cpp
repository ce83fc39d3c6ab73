#include "attn/core/matrix.hpp"

#include <xtensor-blas/xblas.hpp>

#include <cmath>
#include <string>

#include "attn/core/cost.hpp"
#include "attn/core/errors.hpp"
#include "attn/core/shape.hpp"

namespace attn {

Matrix product(const Matrix& A, const Matrix& B) {
  if (A.shape(1) != B.shape(0)) {
    refuse("product", "A's columns to match B's rows", shape_text(A) + " times " + shape_text(B));
  }
  count_multiply_adds(std::uint64_t{A.shape(0)} * A.shape(1) * B.shape(1));
  Matrix C = xt::zeros<double>({A.shape(0), B.shape(1)});
  if (A.size() != 0 && B.size() != 0) xt::blas::gemm(A, B, C);
  return C;
}

Matrix transpose(const Matrix& A) { return xt::transpose(A); }

Matrix identity(std::size_t n) {
  Matrix I = xt::zeros<double>({n, n});
  for (std::size_t i = 0; i < n; ++i) I(i, i) = 1.0;
  return I;
}

double dot(const Vector& a, const Vector& b) {
  if (a.size() != b.size()) {
    refuse("dot", std::to_string(a.size()) + " numbers in b, as in a", std::to_string(b.size()));
  }
  return xt::sum(a * b)();
}

double norm(const Vector& a) { return std::sqrt(dot(a, a)); }

}  // namespace attn
