#include "attn/drawing/svg.hpp"

#include <cmath>

#include "attn/core/table.hpp"

namespace attn {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string attribute(std::string_view name, double value) {
  return " " + std::string(name) + "=\"" + fixed(value, 1) + "\"";
}

std::string attribute(std::string_view name, Colour c) {
  return " " + std::string(name) + "=\"rgb(" + std::to_string(c.red) + "," + std::to_string(c.green) + "," +
         std::to_string(c.blue) + ")\"";
}

std::string closed(std::string_view element, std::string_view tooltip) {
  if (tooltip.empty()) return "/>\n";
  return "><title>" + escaped(tooltip) + "</title></" + std::string(element) + ">\n";
}

std::string coordinates(Point p) { return fixed(p.x, 1) + "," + fixed(p.y, 1); }

}  // namespace

Svg::Svg(double width, double height, std::string_view title) {
  const std::string w = fixed(width, 0), h = fixed(height, 0);
  body_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w + "\" height=\"" + h + "\" viewBox=\"0 0 " + w +
          " " + h +
          "\" role=\"img\" font-family=\"system-ui,'Segoe UI','DejaVu Sans','Noto Sans CJK SC',sans-serif\"" +
          ">\n<title>" + escaped(title) + "</title>\n";
  rectangle({0, 0}, width, height, {255, 255, 255}, "", 8);
}

void Svg::rectangle(Point corner, double width, double height, Colour fill, std::string_view tooltip,
                    double radius) {
  body_ += "<rect" + attribute("x", corner.x) + attribute("y", corner.y) + attribute("width", width) +
           attribute("height", height) + (radius > 0 ? attribute("rx", radius) : "") + attribute("fill", fill) +
           closed("rect", tooltip);
}

void Svg::line(Point from, Point to, Colour colour, double width, bool dashed) {
  body_ += "<line" + attribute("x1", from.x) + attribute("y1", from.y) + attribute("x2", to.x) +
           attribute("y2", to.y) + attribute("stroke", colour) + attribute("stroke-width", width) +
           (dashed ? " stroke-dasharray=\"4 4\"" : "") + "/>\n";
}

void Svg::arrow(Point from, Point to, Colour colour, double width) {
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  const Point along = {(to.x - from.x) / length, (to.y - from.y) / length};
  const double head = 5.0 + 2.0 * width;
  const Point neck = {to.x - head * along.x, to.y - head * along.y};
  const Point side = {-0.4 * head * along.y, 0.4 * head * along.x};
  line(from, neck, colour, width);
  body_ += "<polygon points=\"" + coordinates(to) + " " + coordinates({neck.x + side.x, neck.y + side.y}) + " " +
           coordinates({neck.x - side.x, neck.y - side.y}) + "\"" + attribute("fill", colour) + "/>\n";
}

void Svg::polyline(const std::vector<Point>& points, Colour colour, double width) {
  body_ += "<polyline points=\"";
  for (std::size_t i = 0; i < points.size(); ++i) body_ += (i == 0 ? "" : " ") + coordinates(points[i]);
  body_ += "\" fill=\"none\"" + attribute("stroke", colour) + attribute("stroke-width", width) +
           " stroke-linejoin=\"round\"/>\n";
}

void Svg::disc(Point centre, double radius, Colour fill, std::string_view tooltip) {
  body_ += "<circle" + attribute("cx", centre.x) + attribute("cy", centre.y) + attribute("r", radius) +
           attribute("fill", fill) + closed("circle", tooltip);
}

void Svg::text(Point at, std::string_view words, TextStyle style) {
  const char* anchors[] = {"start", "middle", "end"};
  body_ += "<text" + attribute("x", at.x) + attribute("y", at.y) + attribute("font-size", style.size) +
           " text-anchor=\"" + anchors[static_cast<int>(style.anchor)] + "\"" + attribute("fill", style.colour) +
           (style.bold ? " font-weight=\"600\"" : "") + " pointer-events=\"none\">" + escaped(words) + "</text>\n";
}

std::string Svg::str() const { return body_ + "</svg>\n"; }

}  // namespace attn
