#include "attn/drawing/diagram.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/table.hpp"
#include "attn/drawing/svg.hpp"

namespace attn {
namespace {

constexpr double box_width = 104, box_height = 48, column_step = 160, row_step = 78, left = 16, top = 44;
constexpr Colour box_fill = {219, 233, 249}, ink = {60, 72, 84};

Point centre(const Box& box) {
  return {left + column_step * box.column + box_width / 2, top + row_step * box.row + box_height / 2};
}

/// Where the line from a box's centre towards a point leaves the box.
Point edge(const Box& box, Point towards) {
  const Point c = centre(box);
  const double dx = towards.x - c.x, dy = towards.y - c.y;
  const double share = std::min(dx == 0 ? INFINITY : box_width / 2 / std::abs(dx),
                                dy == 0 ? INFINITY : box_height / 2 / std::abs(dy));
  return {c.x + share * dx, c.y + share * dy};
}

}  // namespace

std::string diagram(const std::string& title, const std::vector<Box>& boxes, const std::vector<Link>& links) {
  double columns = 0, rows = 0;
  for (const Box& box : boxes) {
    columns = std::max(columns, box.column);
    rows = std::max(rows, box.row);
  }
  const double title_width = 8.8 * static_cast<double>(display_width(title)) + 32;
  Svg picture(std::max(title_width, 2 * left + column_step * columns + box_width),
              top + row_step * rows + box_height + 16, title);
  picture.text({16, 26}, title, {.bold = true});
  for (const Link& link : links) {
    const Box& from = boxes.at(link.from);
    const Box& to = boxes.at(link.to);
    const Point start = edge(from, centre(to)), end = edge(to, centre(from));
    picture.arrow(start, end, ink);
    // Beside a slanting arrow, above a level one.
    const double aside = end.y == start.y ? 0 : end.y < start.y ? -16 : 16;
    picture.text({(start.x + end.x) / 2 + aside, (start.y + end.y) / 2 - 6}, link.label,
                 {.size = 12, .anchor = Anchor::middle});
  }
  for (const Box& box : boxes) {
    const Point c = centre(box);
    picture.rectangle({c.x - box_width / 2, c.y - box_height / 2}, box_width, box_height, box_fill, "", 6);
    picture.text({c.x, c.y + (box.note.empty() ? 5 : -3)}, box.name, {.anchor = Anchor::middle, .bold = true});
    picture.text({c.x, c.y + 15}, box.note, {.size = 12, .anchor = Anchor::middle});
  }
  return picture.str();
}

}  // namespace attn
