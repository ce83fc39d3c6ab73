// What this chapter draws: the table of positions as colours, and some of its channels as waves.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "attn/core/matrix.hpp"
#include "attn/drawing/svg.hpp"

namespace attn {

/// Blue for positive numbers and red for negative ones, in steps of a tenth: so that a last bit cannot change it.
inline Colour shade(double value) {
  const double share = std::round(10 * value) / 10;
  const Colour full = share < 0 ? Colour{140, 20, 30} : Colour{8, 48, 107};
  const auto mix = [&](int c) { return static_cast<int>(std::lround(255 + std::abs(share) * (c - 255))); };
  return {mix(full.red), mix(full.green), mix(full.blue)};
}

inline bool alike(Colour a, Colour b) { return a.red == b.red && a.green == b.green && a.blue == b.blue; }

/// The table: a row for each position, a column for each channel. Equal cells of a column make one rectangle.
inline std::string table_picture(const Matrix& table) {
  constexpr double cell = 9, left = 60, top = 78;
  const std::size_t rows = table.shape(0), columns = table.shape(1);
  const double bottom = top + cell * static_cast<double>(rows);
  const std::string title = "PE: blue is positive, red is negative";
  Svg picture(left + cell * static_cast<double>(columns) + 20, bottom + 16, title);
  picture.text({16, 26}, title, {.bold = true});
  picture.text({left, 48}, "channel", {.size = 13});
  picture.text({8, top + 9}, "p", {.size = 13});
  for (std::size_t c = 0; c < columns; ++c) {
    const double x = left + cell * static_cast<double>(c);
    for (std::size_t p = 0, end = 0; p < rows; p = end) {
      const Colour colour = shade(table(p, c));
      for (end = p + 1; end < rows && alike(shade(table(end, c)), colour);) ++end;
      picture.rectangle({x, top + cell * static_cast<double>(p)}, cell, cell * static_cast<double>(end - p),
                        colour);
    }
    if (c % 8 == 0) picture.text({x, top - 8}, std::to_string(c), {.size = 12});
  }
  for (std::size_t p = 0; p < rows; p += 10) {
    picture.text({left - 8, top + cell * static_cast<double>(p) + 9}, std::to_string(p),
                 {.size = 12, .anchor = Anchor::end});
  }
  return picture.str();
}

/// Some pairs of channels over the positions, the sine heavy and its cosine light.
inline std::string waves_picture(const Matrix& table, const std::vector<std::size_t>& channels) {
  constexpr double left = 120, step = 9, height = 66;
  const std::size_t rows = table.shape(0);
  const Colour blue = {0, 90, 160}, light = {150, 190, 225}, grey = {210, 214, 218};
  const double right = left + step * static_cast<double>(rows - 1);
  const std::string title = "Each pair of channels turns more slowly than the one before";
  Svg picture(right + 24, 62 + (height + 18) * static_cast<double>(channels.size()) + 22, title);
  picture.text({16, 26}, title, {.bold = true});
  double middle = 50 + height / 2;
  for (const std::size_t c : channels) {
    const auto points = [&](std::size_t channel) {
      std::vector<Point> curve;
      for (std::size_t p = 0; p < rows; ++p) {
        curve.push_back({left + step * static_cast<double>(p), middle - height / 2 * table(p, channel)});
      }
      return curve;
    };
    picture.line({left, middle}, {right, middle}, grey);
    picture.polyline(points(c + 1), light);
    picture.polyline(points(c), blue);
    picture.text({16, middle - 2}, "sine " + std::to_string(c), {.size = 13, .colour = blue});
    picture.text({16, middle + 15}, "cosine " + std::to_string(c + 1), {.size = 13, .colour = {90, 140, 185}});
    middle += height + 18;
  }
  for (std::size_t p = 0; p < rows; p += 10) {
    picture.text({left + step * static_cast<double>(p), middle - height / 2 + 4}, std::to_string(p),
                 {.size = 12, .anchor = Anchor::middle});
  }
  picture.text({(left + right) / 2, middle - height / 2 + 22}, "position", {.size = 13, .anchor = Anchor::middle});
  return picture.str();
}

}  // namespace attn
