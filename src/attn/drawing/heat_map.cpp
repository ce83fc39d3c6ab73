#include "attn/drawing/heat_map.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/errors.hpp"
#include "attn/core/shape.hpp"
#include "attn/core/table.hpp"
#include "attn/drawing/svg.hpp"

namespace attn {
namespace {

constexpr double cell = 56.0;
constexpr double letter_width = 8.2;

/// From white to deep blue, or to dark red for negative shares: readable in print and by colour-blind readers.
Colour colour_of(double share) {
  if (std::isnan(share)) return {200, 200, 200};
  const Colour full = share < 0 ? Colour{140, 20, 30} : Colour{8, 48, 107};
  const auto mix = [&](int c) { return static_cast<int>(std::lround(255 + std::abs(share) * (c - 255))); };
  return {mix(full.red), mix(full.green), mix(full.blue)};
}

double longest(const std::vector<std::string>& names) {
  std::size_t width = 0;
  for (const std::string& name : names) width = std::max(width, display_width(name));
  return letter_width * static_cast<double>(width);
}

}  // namespace

std::string heat_map(const Matrix& A, const HeatMapWords& words) {
  const auto [rows, columns] = shape(A);
  if (words.rows.size() != rows) refuse("row names", std::to_string(rows), std::to_string(words.rows.size()));
  if (words.columns.size() != columns) {
    refuse("column names", std::to_string(columns), std::to_string(words.columns.size()));
  }
  const double left = 28 + longest(words.rows), top = 64;
  const double step = std::max(cell, longest(words.columns) + 8);
  const double grid = static_cast<double>(columns) * step;
  const double title_width = 8.8 * static_cast<double>(display_width(words.title));
  Svg picture(std::max(left + grid + 16, title_width + 32), top + static_cast<double>(rows) * cell + 14,
              words.title);
  picture.text({16, 26}, words.title, {.bold = true});

  double largest = 0.0;
  for (const double a : A) largest = std::max(largest, std::abs(a));
  for (std::size_t j = 0; j < columns; ++j) {
    const double x = left + step * (static_cast<double>(j) + 0.5);
    picture.text({x, top - 10}, words.columns[j], {.anchor = Anchor::middle});
  }
  for (std::size_t i = 0; i < rows; ++i) {
    const double y = top + cell * static_cast<double>(i);
    picture.text({left - 10, y + cell / 2 + 5}, words.rows[i], {.anchor = Anchor::end});
    for (std::size_t j = 0; j < columns; ++j) {
      // Rounded to what is printed in the cell, so that a last bit cannot change the colour.
      const double share = largest == 0.0 ? 0.0 : std::round(100 * A(i, j) / largest) / 100;
      const double x = left + step * static_cast<double>(j);
      picture.rectangle({x, y}, step - 2, cell - 2, colour_of(share),
                        words.rows[i] + " → " + words.columns[j] + ": " + fixed(A(i, j)));
      const Colour ink = std::abs(share) > 0.5 ? Colour{255, 255, 255} : Colour{31, 35, 40};
      picture.text({x + step / 2 - 1, y + cell / 2 + 4}, fixed(A(i, j), 2),
                   {.anchor = Anchor::middle, .colour = ink});
    }
  }
  return picture.str();
}

}  // namespace attn
