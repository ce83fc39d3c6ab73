#include "attn/drawing/chart.hpp"

#include <array>

#include "attn/core/errors.hpp"
#include "attn/core/table.hpp"

namespace attn {
namespace {

// Three colours that colour-blind readers can tell apart (Okabe and Ito's).
constexpr std::array<Colour, 3> colours = {{{0, 90, 160}, {200, 80, 0}, {0, 120, 90}}};
constexpr Colour grey = {210, 214, 218};
constexpr double left = 60, upper = 44, width = 480, height = 260;

}  // namespace

std::string chart(const std::string& title, const std::string& x_name, const std::vector<std::string>& x,
                  const std::vector<Curve>& curves, double top) {
  if (x.size() < 2) refuse("x", "at least two points", std::to_string(x.size()));
  Svg picture(left + width + 24, upper + height + 62 + 22 * static_cast<double>(curves.size()), title);
  picture.text({16, 26}, title, {.bold = true});

  for (int k = 0; k <= 4; ++k) {
    const double y = upper + height - height * k / 4;
    picture.line({left, y}, {left + width, y}, grey);
    picture.text({left - 8, y + 4}, fixed(top * k / 4, 2), {.size = 12, .anchor = Anchor::end});
  }
  const auto place = [&](std::size_t i, double value) {
    return Point{left + 20 + (width - 40) * static_cast<double>(i) / static_cast<double>(x.size() - 1),
                 upper + height - height * value / top};
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    picture.text({place(i, 0).x, upper + height + 18}, x[i], {.size = 12, .anchor = Anchor::middle});
  }
  picture.text({left + width / 2, upper + height + 40}, x_name, {.size = 13, .anchor = Anchor::middle});

  for (std::size_t c = 0; c < curves.size(); ++c) {
    const Curve& curve = curves[c];
    if (curve.y.size() != x.size()) {
      refuse(curve.name, std::to_string(x.size()) + " points", std::to_string(curve.y.size()));
    }
    std::vector<Point> points;
    for (std::size_t i = 0; i < x.size(); ++i) points.push_back(place(i, curve.y[i]));
    picture.polyline(points, colours.at(c % colours.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      picture.disc(points[i], 4, colours.at(c % colours.size()),
                   curve.name + ", " + x[i] + ": " + fixed(curve.y[i]));
    }
    const double y = upper + height + 62 + 22 * static_cast<double>(c);
    picture.line({left, y - 4}, {left + 26, y - 4}, colours.at(c % colours.size()), 3);
    picture.text({left + 34, y}, curve.name, {.size = 13});
  }
  return picture.str();
}

}  // namespace attn
