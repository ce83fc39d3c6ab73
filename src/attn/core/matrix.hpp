/// @file
/// @brief Matrices of doubles and the matrix product. The only file that includes xtensor.
#pragma once

// xtensor moved its headers into folders in version 0.26.
#if __has_include(<xtensor/containers/xtensor.hpp>)
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/core/xmath.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xmath.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#endif

#include <cstddef>

namespace attn {

/// A matrix of doubles. A token is a row, a feature is a column.
using Matrix = xt::xtensor<double, 2>;

/// A row of numbers.
using Vector = xt::xtensor<double, 1>;

/// Who may look at whom: a row for each query, a column for each key, true = may look.
using Mask = xt::xtensor<bool, 2>;

/// The matrix product \f$C = AB\f$, with \f$C_{ij} = \sum_k A_{ik} B_{kj}\f$, computed by the BLAS library.
/// @param A  a matrix of shape (n, k)
/// @param B  a matrix of shape (k, m)
/// @return   a matrix of shape (n, m); zeros where k = 0
/// @throws std::invalid_argument when A's columns and B's rows differ in number
Matrix product(const Matrix& A, const Matrix& B);

/// The transpose \f$A^\top\f$, as a matrix of its own.
/// @param A  a matrix of shape (n, m)
/// @return   a matrix of shape (m, n)
Matrix transpose(const Matrix& A);

/// The identity matrix: ones on the diagonal, zeros elsewhere.
/// @param n  how many rows and columns
/// @return   a matrix of shape (n, n)
Matrix identity(std::size_t n);

/// The inner product \f$a \cdot b = \sum_i a_i b_i\f$.
/// @param a  a vector of n numbers
/// @param b  a vector of n numbers
/// @return   one number
/// @throws std::invalid_argument when the lengths differ
double dot(const Vector& a, const Vector& b);

/// The length of a vector, \f$\lVert a \rVert = \sqrt{a \cdot a}\f$.
/// @param a  any vector
/// @return   a number >= 0
double norm(const Vector& a);

}  // namespace attn
