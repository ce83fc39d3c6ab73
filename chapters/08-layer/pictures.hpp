// The picture of the two orders: where the norm stands, and what the residual goes around.
#pragma once

#include <string>
#include <vector>

#include "attn/drawing/svg.hpp"

namespace layer_picture {

inline constexpr attn::Colour ink = {60, 72, 84}, orange = {200, 80, 0}, box_fill = {219, 233, 249};
inline constexpr attn::Colour norm_fill = {214, 240, 224};

/// One order as a line of boxes from x to the output, and the residual as a bow over the boxes that it goes
/// around.
inline void draw_order(attn::Svg& picture, double y, const std::vector<std::string>& boxes, std::size_t joins) {
  const double left = 50, step = 110, half = 42;
  const auto x_of = [&](std::size_t i) { return left + step * static_cast<double>(i + 1); };
  picture.text({left - 14, y + 5}, "x", {.anchor = attn::Anchor::middle, .bold = true});
  double from = left;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const bool plus = boxes[i] == "+", is_norm = boxes[i] == "norm";
    const double x = x_of(i), reach = plus ? 15 : half;
    picture.arrow({from, y}, {x - reach, y}, ink);
    if (plus) {
      picture.disc({x, y}, reach, orange);
      picture.text({x, y + 6}, "+",
                   {.size = 18, .anchor = attn::Anchor::middle, .colour = {255, 255, 255}, .bold = true});
    } else {
      picture.rectangle({x - half, y - 20}, 2 * half, 40, is_norm ? norm_fill : box_fill, "", 6);
      picture.text({x, y + 5}, boxes[i], {.anchor = attn::Anchor::middle, .bold = true});
    }
    from = x + reach;
  }
  picture.arrow({from, y}, {x_of(boxes.size()) - half, y}, ink);
  picture.text({x_of(boxes.size()) - half + 6, y + 5}, "output", {.bold = true});
  const double start = left + 18, end = x_of(joins);
  picture.disc({start, y}, 4, orange);
  picture.polyline({{start, y}, {start, y - 44}, {end, y - 44}}, orange, 2.5);
  picture.arrow({end, y - 44}, {end, y - 15}, orange, 2.5);
}

}  // namespace layer_picture

inline std::string orders_picture() {
  using namespace layer_picture;
  attn::Svg picture(624, 286, "The two orders: post-norm norms the sum, pre-norm norms what goes into F");
  picture.text({16, 28}, "Post-norm, as in the paper: LN(x + F(x))", {.bold = true});
  draw_order(picture, 108, {"F", "dropout", "+", "norm"}, 2);
  picture.text({16, 168}, "Pre-norm: x + F(LN(x))", {.bold = true});
  draw_order(picture, 248, {"norm", "F", "dropout", "+"}, 3);
  return picture.str();
}
