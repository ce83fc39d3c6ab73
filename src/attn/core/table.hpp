/// @file
/// @brief Matrices and tables as text that lines up.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/matrix.hpp"

namespace attn {

/// A number with a fixed count of decimals; never "-0.0000".
/// @param value     the number
/// @param decimals  how many digits after the point
/// @return          such as "0.7311"
std::string fixed(double value, int decimals = 4);

/// How many columns a text takes on a terminal: letters of Chinese, Japanese and Korean take two.
/// @param text  UTF-8
/// @return      the number of columns
std::size_t display_width(std::string_view text);

/// Prints a matrix under its name and shape, 4 decimals, with names for the rows and columns if there are any.
/// @param out      where to
/// @param name     what it is
/// @param A        the matrix
/// @param rows     the names of the rows; none, or one each
/// @param columns  the names of the columns; none, or one each
void print(std::ostream& out, std::string_view name, const Matrix& A, const std::vector<std::string>& rows = {},
           const std::vector<std::string>& columns = {});

/// Prints a mask as a picture, a filled square where a query may look and a dot where it may not.
/// @param out      where to
/// @param name     what it is
/// @param mask     the mask
/// @param rows     the names of the queries; none, or one each
/// @param columns  the names of the keys; none, or one each
void print_mask(std::ostream& out, std::string_view name, const Mask& mask,
                const std::vector<std::string>& rows = {}, const std::vector<std::string>& columns = {});

/// A table of texts: columns of numbers to the right, all others to the left.
class Table {
 public:
  /// @param header  the names of the columns
  explicit Table(std::vector<std::string> header);

  /// Adds a row.
  /// @param cells  one text for each column
  /// @throws std::invalid_argument when there are more or fewer
  void add(std::vector<std::string> cells);

  /// Prints the table.
  /// @param out  where to
  void print(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace attn
