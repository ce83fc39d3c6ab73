// Small heat maps beside each other, to be compared at a glance: white at 0, deep blue at the largest of all
// shares.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attn/core/matrix.hpp"
#include "attn/core/table.hpp"
#include "attn/drawing/svg.hpp"

namespace attn {

/// One of the heat maps.
struct Panel {
  std::string name;
  Matrix shares;  // none below 0
};

inline Colour shade(double share) {
  if (std::isnan(share)) return {200, 200, 200};
  const Colour full = {8, 48, 107};
  // Rounded, so that a last bit cannot change the colour.
  const double rounded = std::round(100 * share) / 100;
  const auto mix = [&](int c) { return static_cast<int>(std::lround(255 + rounded * (c - 255))); };
  return {mix(full.red), mix(full.green), mix(full.blue)};
}

inline void draw_panel(Svg& picture, Point corner, double cell, double largest, const Panel& panel,
                       const std::vector<std::string>& rows, const std::vector<std::string>& columns) {
  const Colour frame = {210, 214, 218};
  const double width = cell * static_cast<double>(columns.size());
  picture.text({corner.x + width / 2, corner.y - 10}, panel.name, {.size = 13, .anchor = Anchor::middle});
  picture.rectangle({corner.x - 1, corner.y - 1}, width + 1, cell * static_cast<double>(rows.size()) + 1, frame);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const Point at = {corner.x + cell * static_cast<double>(j), corner.y + cell * static_cast<double>(i)};
      picture.rectangle(at, cell - 1, cell - 1, shade(panel.shares(i, j) / largest),
                        rows[i] + " → " + columns[j] + ": " + fixed(panel.shares(i, j)));
    }
  }
}

/// Draws heat maps of one shape, four beside each other, or two if they are large.
/// @param title    what the picture shows
/// @param all      the heat maps
/// @param rows     the names of the rows
/// @param columns  the names of the columns
/// @return         an SVG picture
inline std::string panels(const std::string& title, const std::vector<Panel>& all,
                          const std::vector<std::string>& rows, const std::vector<std::string>& columns) {
  double largest = 0.0;
  for (const Panel& panel : all) largest = std::max(largest, xt::amax(panel.shares)());
  std::size_t longest = 0;
  for (const std::string& row : rows) longest = std::max(longest, display_width(row));
  const double cell = std::clamp(160.0 / static_cast<double>(std::max(rows.size(), columns.size())), 10.0, 30.0);
  const std::size_t across =
      std::min<std::size_t>(all.size(), cell * static_cast<double>(columns.size()) > 200 ? 2 : 4);
  const std::size_t down = (all.size() + across - 1) / across;
  const double left = 28 + 7.4 * static_cast<double>(longest), top = 72;
  const double step_x = cell * static_cast<double>(columns.size()) + 28;
  const double step_y = cell * static_cast<double>(rows.size()) + 44;
  const double grid = left + step_x * static_cast<double>(across);
  Svg picture(std::max(grid, 8.8 * static_cast<double>(display_width(title)) + 32),
              top + step_y * static_cast<double>(down) - 28, title);
  picture.text({16, 26}, title, {.bold = true});
  const double size = std::min(13.0, cell - 1);
  for (std::size_t y = 0; y < down; ++y) {
    const double upper = top + step_y * static_cast<double>(y);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      picture.text({left - 8, upper + cell * (static_cast<double>(i) + 0.5) + size / 3}, rows[i],
                   {.size = size, .anchor = Anchor::end});
    }
    for (std::size_t x = 0; x < across && y * across + x < all.size(); ++x) {
      const Point corner = {left + step_x * static_cast<double>(x), upper};
      draw_panel(picture, corner, cell, largest, all[y * across + x], rows, columns);
    }
  }
  return picture.str();
}

}  // namespace attn
