#include "attn/core/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <ostream>

#include "attn/core/errors.hpp"
#include "attn/core/numbers.hpp"
#include "attn/core/shape.hpp"
#include "attn/core/utf8.hpp"

namespace attn {
namespace {

/// The first and the last code point of a block.
using Block = std::array<char32_t, 2>;

/// Letters of Chinese, Japanese and Korean, and emoji.
constexpr Block two_columns[] = {{0x1100, 0x115F}, {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
                                 {0xF900, 0xFAFF}, {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
                                 {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};

/// Accents and points that sit on the letter before them, joiners and selectors.
constexpr Block no_width[] = {{0x300, 0x36F},   {0x591, 0x5BD},   {0x64B, 0x65F},    {0x200B, 0x200F},
                              {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0x1F3FB, 0x1F3FF}};

template <std::size_t N>
bool is_in(char32_t letter, const Block (&blocks)[N]) {
  return std::any_of(std::begin(blocks), std::end(blocks),
                     [&](const Block& block) { return letter >= block[0] && letter <= block[1]; });
}

std::string padding(std::string_view text, std::size_t width) {
  return std::string(width - std::min(width, display_width(text)), ' ');
}

bool is_number(std::string_view text) {
  const std::size_t start = text.substr(0, 1) == "-" ? 1 : 0;
  return start < text.size() && text[start] >= '0' && text[start] <= '9';
}

}  // namespace

std::string fixed(double value, int decimals) {
  if (std::isnan(value)) return "nan";
  const std::string number = to_text(value, std::chars_format::fixed, decimals);
  const bool is_zero = number.find_first_not_of("-0.") == std::string::npos;
  return is_zero && number[0] == '-' ? number.substr(1) : number;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Letter letter = decode_utf8(text, at).value_or(Letter{U'?', 1});
    if (!is_in(letter.code, no_width)) width += is_in(letter.code, two_columns) ? 2 : 1;
    at += letter.length;
  }
  return width;
}

namespace {

/// Cells in columns of one width at least `narrowest`, with names at the left and on top.
void print_cells(std::ostream& out, Shape shape, std::size_t narrowest, const std::vector<std::string>& rows,
                 const std::vector<std::string>& columns,
                 const std::function<std::string(std::size_t, std::size_t)>& cell) {
  std::size_t label_width = 0;
  for (const std::string& row : rows) label_width = std::max(label_width, display_width(row));
  std::size_t cell_width = narrowest;
  for (const std::string& column : columns) cell_width = std::max(cell_width, display_width(column));
  for (std::size_t i = 0; i < shape[0]; ++i) {
    for (std::size_t j = 0; j < shape[1]; ++j) cell_width = std::max(cell_width, display_width(cell(i, j)));
  }
  if (!columns.empty()) {
    out << "  " << std::string(label_width, ' ');
    for (const std::string& column : columns) out << "  " << padding(column, cell_width) << column;
    out << '\n';
  }
  for (std::size_t i = 0; i < shape[0]; ++i) {
    out << "  ";
    if (!rows.empty()) out << rows.at(i) << padding(rows.at(i), label_width);
    for (std::size_t j = 0; j < shape[1]; ++j) {
      const std::string text = cell(i, j);
      out << "  " << padding(text, cell_width) << text;
    }
    out << '\n';
  }
}

}  // namespace

void print(std::ostream& out, std::string_view name, const Matrix& A, const std::vector<std::string>& rows,
           const std::vector<std::string>& columns) {
  out << name << "  " << shape_text(A) << '\n';
  print_cells(out, shape(A), 7, rows, columns, [&](std::size_t i, std::size_t j) { return fixed(A(i, j)); });
}

void print_mask(std::ostream& out, std::string_view name, const Mask& mask, const std::vector<std::string>& rows,
                const std::vector<std::string>& columns) {
  out << name << "  " << shape_text(shape(mask)) << '\n';
  print_cells(out, shape(mask), 1, rows, columns,
              [&](std::size_t i, std::size_t j) { return mask(i, j) ? "■" : "·"; });
}

Table::Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }

void Table::add(std::vector<std::string> cells) {
  if (cells.size() != rows_[0].size()) {
    refuse("table row", std::to_string(rows_[0].size()) + " cells", std::to_string(cells.size()));
  }
  rows_.push_back(std::move(cells));
}

void Table::print(std::ostream& out) const {
  std::vector<std::size_t> widths(rows_[0].size(), 0);
  std::vector<bool> numbers(rows_[0].size(), true);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    for (std::size_t j = 0; j < rows_[i].size(); ++j) {
      widths[j] = std::max(widths[j], display_width(rows_[i][j]));
      if (i > 0) numbers[j] = numbers[j] && is_number(rows_[i][j]);
    }
  }
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t j = 0; j < row.size(); ++j) {
      const std::string blanks = padding(row[j], widths[j]);
      line += "  " + (numbers[j] ? blanks + row[j] : row[j] + blanks);
    }
    out << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
  }
}

}  // namespace attn
