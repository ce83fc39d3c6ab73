// What this chapter draws: where each tensor comes from, and an image of sixteen patches with words that look into
// it.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "attn/core/matrix.hpp"
#include "attn/core/table.hpp"
#include "attn/drawing/diagram.hpp"
#include "attn/drawing/svg.hpp"

namespace attn {

inline std::string flow_picture() {
  return diagram("Queries from one sequence, keys and values from another",
                 {{"x", "(n_q, d_x)", 0, 0},
                  {"memory", "(n_k, d_memory)", 0, 1.5},
                  {"Q", "(n_q, d_k)", 1, 0},
                  {"K", "(n_k, d_k)", 1, 1},
                  {"V", "(n_k, d_v)", 1, 2},
                  {"scores", "(n_q, n_k)", 2, 0.5},
                  {"weights", "(n_q, n_k)", 3, 0.5},
                  {"output", "(n_q, d_v)", 4, 1.25}},
                 {{0, 2, "W_Q"},
                  {1, 3, "W_K"},
                  {1, 4, "W_V"},
                  {2, 5, ""},
                  {3, 5, ""},
                  {5, 6, "softmax"},
                  {6, 7, ""},
                  {4, 7, ""}});
}

/// Four rows of four patches, row by row: sky with a sun, grass with a house. Red, green and blue, 0 to 1.
inline Matrix patches() {
  const std::vector<double> sky = {0.3, 0.6, 1.0}, sun = {1.0, 0.9, 0.1}, grass = {0.2, 0.7, 0.2},
                            house = {0.8, 0.2, 0.1};
  const std::vector<std::vector<double>> image = {sky,   sky,   sky,   sun,    //
                                                  sky,   sky,   sky,   sky,    //
                                                  grass, house, grass, grass,  //
                                                  grass, house, grass, grass};
  Matrix memory({16, 3});
  for (std::size_t j = 0; j < 16; ++j) {
    for (std::size_t c = 0; c < 3; ++c) memory(j, c) = image[j][c];
  }
  return memory;
}

/// Sixteen squares in a grid, each with a number in it if there are numbers.
inline void draw_grid(Svg& picture, Point corner, const std::vector<Colour>& colours,
                      const std::vector<std::string>& numbers = {}) {
  constexpr double cell = 34;
  picture.rectangle({corner.x - 1, corner.y - 1}, 4 * cell + 1, 4 * cell + 1, {210, 214, 218});
  for (std::size_t j = 0; j < 16; ++j) {
    const double x = corner.x + cell * static_cast<double>(j % 4),
                 y = corner.y + cell * static_cast<double>(j / 4);
    picture.rectangle({x, y}, cell - 1, cell - 1, colours[j]);
    if (numbers.empty()) continue;
    const bool dark = colours[j].red < 130;
    picture.text(
        {x + cell / 2, y + cell / 2 + 4}, numbers[j],
        {.size = 11, .anchor = Anchor::middle, .colour = dark ? Colour{255, 255, 255} : Colour{31, 35, 40}});
  }
}

/// The image, and for each word the weights of the sixteen patches, laid out like the image.
inline std::string looking_picture(const Matrix& memory, const Matrix& weights,
                                   const std::vector<std::string>& words) {
  constexpr double step = 160;
  Svg picture(16 + step * 3, 48 + 2 * 190, "Five words look at an image of sixteen patches");
  picture.text({16, 26}, "Five words look at an image of sixteen patches", {.bold = true});
  const auto level = [](double share) { return static_cast<int>(std::lround(255 * share)); };
  std::vector<Colour> colours;
  for (std::size_t j = 0; j < 16; ++j) {
    colours.push_back({level(memory(j, 0)), level(memory(j, 1)), level(memory(j, 2))});
  }
  picture.text({16, 62}, "the image", {.size = 13});
  draw_grid(picture, {16, 72}, colours);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Point corner = {16 + step * static_cast<double>((i + 1) % 3), i < 2 ? 72.0 : 262.0};
    std::vector<Colour> blues;
    std::vector<std::string> numbers;
    for (std::size_t j = 0; j < 16; ++j) {
      numbers.push_back(fixed(weights(i, j), 2));
      const double share = std::round(100 * weights(i, j)) / 100;  // as printed
      blues.push_back({level(1 - 0.97 * share), level(1 - 0.81 * share), level(1 - 0.58 * share)});
    }
    picture.text({corner.x, corner.y - 10}, words[i], {.size = 13, .bold = true});
    draw_grid(picture, corner, blues, numbers);
  }
  return picture.str();
}

}  // namespace attn
