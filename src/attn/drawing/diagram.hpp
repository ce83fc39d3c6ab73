/// @file
/// @brief Boxes and arrows: where a tensor comes from.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace attn {

/// A box on the grid.
struct Box {
  std::string name;     ///< such as "Q"
  std::string note;     ///< the small line under it, such as its shape
  double column = 0.0;  ///< where, counted from the left
  double row = 0.0;     ///< where, counted from the top
};

/// An arrow between two boxes.
struct Link {
  std::size_t from = 0;  ///< the number of a box
  std::size_t to = 0;    ///< the number of another
  std::string label;     ///< what happens on the way; may be empty
};

/// Draws boxes on a grid and the arrows between them.
/// @param title  what the picture shows
/// @param boxes  all boxes
/// @param links  all arrows
/// @return       an SVG picture
/// @throws std::out_of_range when an arrow names a box that is not there
std::string diagram(const std::string& title, const std::vector<Box>& boxes, const std::vector<Link>& links);

}  // namespace attn
