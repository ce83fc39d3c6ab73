/// @file
/// @brief A sheet of SVG: rectangles, lines, arrows and words on a white ground.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// A place on the sheet, in pixels from the upper left corner.
struct Point {
  double x = 0.0;  ///< to the right
  double y = 0.0;  ///< downwards
};

/// A colour of the screen, 0 to 255 each.
struct Colour {
  int red = 0;    ///< red
  int green = 0;  ///< green
  int blue = 0;   ///< blue
};

/// Where a text stands relative to its point.
enum class Anchor {
  start,   ///< the point is the beginning of the text
  middle,  ///< its middle
  end      ///< its end
};

/// How a text looks.
struct TextStyle {
  double size = 14.0;             ///< in pixels
  Anchor anchor = Anchor::start;  ///< which end of the text the point is
  Colour colour = {31, 35, 40};   ///< near black
  bool bold = false;              ///< heavier letters
};

/// A picture that grows as it is drawn. It brings its own white ground, so that it reads the same on a light and
/// on a dark page, and its title for readers who cannot see it.
class Svg {
 public:
  /// @param width   in pixels
  /// @param height  in pixels
  /// @param title   what the picture shows, in a sentence
  Svg(double width, double height, std::string_view title);

  /// A filled rectangle.
  /// @param corner   its upper left corner
  /// @param width    in pixels
  /// @param height   in pixels
  /// @param fill     its colour
  /// @param tooltip  what it says when pointed at; may be empty
  /// @param radius   how round its corners are
  void rectangle(Point corner, double width, double height, Colour fill, std::string_view tooltip = "",
                 double radius = 0.0);

  /// A straight line.
  /// @param from    one end
  /// @param to      the other
  /// @param colour  its colour
  /// @param width   its thickness in pixels
  /// @param dashed  broken, for helping lines
  void line(Point from, Point to, Colour colour, double width = 1.0, bool dashed = false);

  /// A line with a head.
  /// @param from    its foot
  /// @param to      its point
  /// @param colour  its colour
  /// @param width   its thickness in pixels
  void arrow(Point from, Point to, Colour colour, double width = 1.5);

  /// A line through many points.
  /// @param points  in order
  /// @param colour  its colour
  /// @param width   its thickness in pixels
  void polyline(const std::vector<Point>& points, Colour colour, double width = 2.0);

  /// A disc.
  /// @param centre   its middle
  /// @param radius   in pixels
  /// @param fill     its colour
  /// @param tooltip  what it says when pointed at; may be empty
  void disc(Point centre, double radius, Colour fill, std::string_view tooltip = "");

  /// Words.
  /// @param at     where
  /// @param words  what; plain text, not mark-up
  /// @param style  how
  void text(Point at, std::string_view words, TextStyle style = {});

  /// @return the finished picture
  std::string str() const;

 private:
  std::string body_;
};

}  // namespace attn
