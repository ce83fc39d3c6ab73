/// @file
/// @brief Executable shapes: the first lines of every public function.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "attn/core/matrix.hpp"

namespace attn {

/// Rows and columns.
using Shape = std::array<std::size_t, 2>;

/// The shape of a matrix, to be taken apart: `const auto [n, d_model] = shape(X);`
/// @param A  any matrix
/// @return   {rows, columns}
Shape shape(const Matrix& A);

/// Demands a shape; the call is also the documentation of the shape.
/// @param A       the matrix that was given
/// @param wanted  {rows, columns}
/// @param name    the argument's name
/// @throws std::invalid_argument "name: wanted shape (2, 3), got (3, 2)"
void expect_shape(const Matrix& A, Shape wanted, std::string_view name);

/// The same for a mask.
/// @param mask  any mask
/// @return      {rows, columns}
Shape shape(const Mask& mask);

/// The same demand of a mask.
/// @param mask    the mask that was given
/// @param wanted  {rows, columns}
/// @param name    the argument's name
/// @throws std::invalid_argument "mask: wanted shape (2, 3), got (3, 2)"
void expect_shape(const Mask& mask, Shape wanted, std::string_view name);

/// A shape as text.
/// @param A  any matrix
/// @return   "(2, 3)"
std::string shape_text(const Matrix& A);

/// A shape as text.
/// @param shape  {rows, columns}
/// @return       "(2, 3)"
std::string shape_text(Shape shape);

}  // namespace attn
