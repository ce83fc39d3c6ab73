/// @file
/// @brief Curves in a frame.
#pragma once

#include <string>
#include <vector>

#include "attn/drawing/svg.hpp"

namespace attn {

/// One curve.
struct Curve {
  std::string name;       ///< for the legend
  std::vector<double> y;  ///< its height at each x
};

/// Draws curves over common points, evenly spaced and named, as for doublings: 1, 2, 4, 8 ...
/// @param title   what the picture shows
/// @param x_name  what runs to the right
/// @param x       the names of the points
/// @param curves  at least one; each with as many heights as there are points
/// @param top     the upper edge of the frame; the lower edge is 0
/// @return        an SVG picture
/// @throws std::invalid_argument when a curve has another number of points
std::string chart(const std::string& title, const std::string& x_name, const std::vector<std::string>& x,
                  const std::vector<Curve>& curves, double top);

}  // namespace attn
