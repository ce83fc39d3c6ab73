#include "attn/core/errors.hpp"
#include "attn/drawing/chart.hpp"
#include "attn/drawing/diagram.hpp"
#include "attn/drawing/heat_map.hpp"
#include "matrices.hpp"

using namespace attn;

namespace {

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("a heat map has a cell and a number for each entry, and white ground first") {
  const std::string picture = heat_map({{0, 1}, {0.5, -1}}, {"A & B", {"x", "y"}, {"a", "b"}});
  CHECK(count(picture, "<rect") == 1 + 4);
  CHECK(picture.find("rgb(255,255,255)") < picture.find("<text"));
  CHECK(picture.find("fill=\"rgb(8,48,107)\"><title>x → b: 1.0000") != std::string::npos);
  CHECK(picture.find("fill=\"rgb(140,20,30)\"><title>y → b: -1.0000") != std::string::npos);
  CHECK(picture.find("<title>A &amp; B</title>") != std::string::npos);
}

TEST_CASE("words cannot break out of the picture") {
  const std::string picture = heat_map({{1}}, {"t", {"</svg><script>"}, {"\"'&"}});
  CHECK(picture.find("<script") == std::string::npos);
  CHECK(count(picture, "</svg>") == 1);
}

TEST_CASE("a heat map needs a name for each row and column") {
  CHECK(tests::complaint([] { heat_map({{1, 2}}, {"t", {"x"}, {"a"}}); }) == "column names: wanted 2, got 1");
}

TEST_CASE("a curve goes through its points: 0 at the bottom, the top at the top") {
  const std::string picture = chart("t", "x", {"1", "2", "4"}, {{"c", {0, 0.5, 1}}}, 1.0);
  CHECK(picture.find("points=\"80.0,304.0 300.0,174.0 520.0,44.0\"") != std::string::npos);
  CHECK(tests::complaint([] { chart("t", "x", {"1", "2"}, {{"c", {0}}}, 1.0); }) == "c: wanted 2 points, got 1");
}

TEST_CASE("a diagram draws each box and arrow, and refuses an arrow to nowhere") {
  const std::string picture = diagram("t", {{"X", "(n, d)", 0, 0}, {"Q", "", 1, 0}}, {{0, 1, "W_Q"}});
  CHECK(count(picture, "<polygon") == 1);
  CHECK(count(picture, "<rect") == 1 + 2);
  CHECK_THROWS_AS(diagram("t", {{"X", "", 0, 0}}, {{0, 1, ""}}), std::out_of_range);
}
