// The picture of the inner product: an arrow, another, and the shadow of one on the other.
#pragma once

#include <string>

#include "attn/drawing/svg.hpp"

inline std::string inner_product_picture() {
  using attn::Point;
  const attn::Colour blue = {0, 90, 160}, orange = {200, 80, 0}, grey = {120, 128, 136};
  attn::Svg picture(420, 250, "The inner product is the shadow of a on b, times the length of b");
  picture.text({16, 26}, "a·b = (shadow of a on b) × |b|", {.bold = true});
  const Point origin = {60, 200}, a = {200, 60}, b = {340, 200}, foot = {200, 200};
  picture.line(a, foot, grey, 1.0, true);
  picture.line({foot.x - 12, foot.y}, {foot.x - 12, foot.y - 12}, grey);
  picture.line({foot.x - 12, foot.y - 12}, {foot.x, foot.y - 12}, grey);
  picture.arrow(origin, b, orange, 2.5);
  picture.arrow(origin, a, blue, 2.5);
  picture.line({origin.x, origin.y + 14}, {foot.x, origin.y + 14}, blue, 4.0);
  picture.text({a.x + 8, a.y + 2}, "a", {.colour = blue, .bold = true});
  picture.text({b.x + 8, b.y + 5}, "b", {.colour = orange, .bold = true});
  picture.text({130, 236}, "shadow = |a| cos θ", {.size = 13, .anchor = attn::Anchor::middle, .colour = blue});
  picture.text({92, 192}, "θ", {.size = 13});
  return picture.str();
}
