/// @file
/// @brief A matrix in the memory of a backend.
#pragma once

#include <cstddef>

namespace attn::engine {

/// A matrix of floats, row by row, that somebody else owns. Only a backend may follow the pointer: it may lead
/// into the memory of another device.
struct View {
  float* data = nullptr;    ///< the first number of the first row
  std::size_t rows = 0;     ///< how many rows
  std::size_t columns = 0;  ///< how many columns
  std::size_t stride = 0;   ///< how far it is from one row to the next; at least `columns`

  /// Some of the rows.
  /// @param first  the first of them
  /// @param count  how many
  /// @return       a view of shape (count, columns)
  View rows_from(std::size_t first, std::size_t count) const {
    return {data + first * stride, count, columns, stride};
  }

  /// Some of the columns.
  /// @param first  the first of them
  /// @param count  how many
  /// @return       a view of shape (rows, count)
  View columns_from(std::size_t first, std::size_t count) const { return {data + first, rows, count, stride}; }
};

}  // namespace attn::engine
