// The picture of the whole model: figure 1 of the paper, in the words of this course.
#pragma once

#include <string>
#include <string_view>

#include "attn/drawing/svg.hpp"

namespace model_picture {

using attn::Anchor;
using attn::Colour;
using attn::Point;
using attn::Svg;

inline constexpr Colour ink = {60, 72, 84}, orange = {200, 80, 0}, grey = {140, 148, 156};
inline constexpr Colour attention_fill = {219, 233, 249}, norm_fill = {214, 240, 224}, map_fill = {250, 232, 210};
inline constexpr double half = 100, tall = 17;

inline void box(Svg& picture, Point centre, std::string_view name, Colour fill) {
  picture.rectangle({centre.x - half, centre.y - tall}, 2 * half, 2 * tall, fill, "", 6);
  picture.text({centre.x, centre.y + 5}, name, {.anchor = Anchor::middle, .bold = true});
}

inline void up(Svg& picture, double x, double from, double to) {
  picture.arrow({x, from - tall}, {x, to + tall}, ink);
}

/// One sub-layer with what comes after it: the residual leaves below, goes round by the side and joins at the
/// norm.
inline void sublayer(Svg& picture, double x, double y, std::string_view name, double side, Colour fill) {
  const double leaves = y + 30, joins = y - 46;
  box(picture, {x, y}, name, fill);
  up(picture, x, y, joins);
  box(picture, {x, joins}, "add and norm", norm_fill);
  picture.disc({x, leaves}, 3.5, orange);
  picture.polyline({{x, leaves}, {x + side * (half + 18), leaves}, {x + side * (half + 18), joins}}, orange, 2.0);
  picture.arrow({x + side * (half + 18), joins}, {x + side * half, joins}, orange, 2.0);
}

/// The lower end of a stack: tokens, embedding, and the sum with the positions.
inline void input(Svg& picture, double x, double side, std::string_view tokens, std::string_view example) {
  picture.text({x, 768}, tokens, {.anchor = Anchor::middle, .bold = true});
  picture.text({x, 788}, example, {.size = 12, .anchor = Anchor::middle, .colour = grey});
  picture.arrow({x, 752}, {x, 724}, ink);
  box(picture, {x, 706}, "embedding × √d_model", map_fill);
  picture.arrow({x, 689}, {x, 665}, ink);
  picture.disc({x, 652}, 13, orange);
  picture.text({x, 658}, "+", {.size = 18, .anchor = Anchor::middle, .colour = {255, 255, 255}, .bold = true});
  const double start = x + side * 76;
  picture.arrow({start, 652}, {x + side * 13, 652}, ink);
  picture.text({start + side * 6, 657}, "positions", {.anchor = side < 0 ? Anchor::end : Anchor::start});
  picture.arrow({x, 639}, {x, 587}, ink);
}

inline void frame(Svg& picture, double x, double top, double bottom, double side, std::string_view name) {
  const double reach = half + 32;
  for (const double edge : {-reach, reach}) picture.line({x + edge, top}, {x + edge, bottom}, grey, 1.0, true);
  for (const double y : {top, bottom}) picture.line({x - reach, y}, {x + reach, y}, grey, 1.0, true);
  picture.text({x + side * (reach + 8), (top + bottom) / 2}, name,
               {.anchor = side < 0 ? Anchor::end : Anchor::start, .bold = true});
}

}  // namespace model_picture

inline std::string architecture_picture() {
  using namespace model_picture;
  const double left = 196, right = 520, bottom = 616;
  Svg picture(
      690, 806,
      "The Transformer: an encoder reads the source, a decoder reads the target so far and says what comes next");
  picture.text({16, 28}, "The Transformer", {.size = 16, .bold = true});

  input(picture, left, -1, "source", "ein Hund läuft EOS");
  sublayer(picture, left, 570, "self-attention", -1, attention_fill);
  up(picture, left, 524, 446);
  sublayer(picture, left, 446, "feed-forward", -1, map_fill);
  frame(picture, left, 372, bottom, -1, "N ×");

  input(picture, right, 1, "target, shifted right", "BOS a dog runs");
  sublayer(picture, right, 570, "masked self-attention", 1, attention_fill);
  up(picture, right, 524, 446);
  sublayer(picture, right, 446, "cross-attention", 1, attention_fill);
  up(picture, right, 400, 322);
  sublayer(picture, right, 322, "feed-forward", 1, map_fill);
  frame(picture, right, 248, bottom, 1, "N ×");

  // The memory, from the top of the encoder into every layer of the decoder.
  const double middle = (left + right) / 2;
  picture.polyline({{left, 400 - tall}, {left, 346}, {middle, 346}, {middle, 446}}, ink, 2.0);
  picture.arrow({middle, 446}, {right - half, 446}, ink, 2.0);
  picture.text({left, 338}, "memory: keys and values", {.size = 13, .anchor = Anchor::middle});

  up(picture, right, 276, 196);
  box(picture, {right, 196}, "× embeddingᵀ", map_fill);
  picture.text({right + half + 10, 201}, "logits", {.size = 13});
  up(picture, right, 196, 136);
  box(picture, {right, 136}, "softmax", map_fill);
  picture.arrow({right, 119}, {right, 92}, ink);
  picture.text({right, 68}, "probabilities of the next token", {.anchor = Anchor::middle, .bold = true});
  picture.text({right, 86}, "a dog runs EOS", {.size = 12, .anchor = Anchor::middle, .colour = grey});
  return picture.str();
}
