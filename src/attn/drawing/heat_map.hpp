/// @file
/// @brief A matrix as a picture: one cell a number.
#pragma once

#include <string>
#include <vector>

#include "attn/core/matrix.hpp"

namespace attn {

/// The words of a heat map.
struct HeatMapWords {
  std::string title;                 ///< what it shows
  std::vector<std::string> rows;     ///< the names of the rows; one each
  std::vector<std::string> columns;  ///< the names of the columns; one each
};

/// Draws a matrix as cells: white at 0, deep blue at the largest size, red for negative numbers, each with its
/// value in it.
/// @param A      any matrix
/// @param words  title and names
/// @return       an SVG picture
/// @throws std::invalid_argument when a row or column has no name
std::string heat_map(const Matrix& A, const HeatMapWords& words);

}  // namespace attn
