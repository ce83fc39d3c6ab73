/// @file
/// @brief An array of any rank and type, as files hold it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attn/core/matrix.hpp"

namespace attn {

/// A true or false of one byte. (`std::vector<bool>` has no bytes to read into.)
enum class Bool : std::uint8_t {
  no = 0,  ///< false
  yes = 1  ///< true
};

/// An array of any rank: numbers in row-major order, and a shape.
struct Tensor {
  /// The numbers, last index fastest.
  using Values = std::variant<std::vector<float>, std::vector<double>, std::vector<std::int32_t>,
                              std::vector<std::int64_t>, std::vector<Bool>>;

  std::vector<std::size_t> shape;  ///< the length along each index; empty for a single number
  Values values;                   ///< as many as the shape says

  /// @return the type as NumPy calls it: "float32", "float64", "int32", "int64" or "bool"
  std::string_view dtype() const;
};

/// A shape as text.
/// @param shape  any rank
/// @return       "()", "(3,)" or "(2, 3)"
std::string shape_text(const std::vector<std::size_t>& shape);

/// A matrix as a tensor of float64.
/// @param A  any matrix
/// @return   the same numbers
Tensor to_tensor(const Matrix& A);

/// A tensor as a matrix.
/// @param tensor  of rank 2, float32 or float64
/// @param name    what to call it when it is refused
/// @return        the same numbers
/// @throws std::invalid_argument when it has another rank or type
Matrix to_matrix(const Tensor& tensor, std::string_view name);

}  // namespace attn
