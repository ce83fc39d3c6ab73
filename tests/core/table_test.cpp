#include "attn/core/table.hpp"

#include <cmath>
#include <sstream>

#include "matrices.hpp"

using namespace attn;

TEST_CASE("numbers with a fixed count of decimals") {
  CHECK(fixed(0.73105857) == "0.7311");
  CHECK(fixed(-0.00001) == "0.0000");
  CHECK(fixed(-0.00005001) == "-0.0001");
  CHECK(fixed(2.5, 0) == "2");
  CHECK(fixed(NAN) == "nan");
  CHECK(fixed(-NAN) == "nan");
}

TEST_CASE("Chinese takes two columns a letter") {
  CHECK(display_width("early") == 5);
  CHECK(display_width("早上好") == 6);
  CHECK(display_width("√d_k") == 4);
  CHECK(display_width("") == 0);
  CHECK(display_width("e\u0301") == 1);
  CHECK(display_width("a\xff z") == 4);
}

TEST_CASE("a matrix is printed under its name and shape") {
  std::ostringstream out;
  print(out, "weights", {{0.25, 0.75}, {1, 0}}, {"早", "up"}, {"early", "up"});
  CHECK(out.str() ==
        "weights  (2, 2)\n"
        "        early       up\n"
        "  早   0.2500   0.7500\n"
        "  up   1.0000   0.0000\n");
}

TEST_CASE("a mask is printed as a picture") {
  std::ostringstream out;
  print_mask(out, "causal", Mask{{true, false}, {true, true}}, {"a", "b"}, {"a", "b"});
  CHECK(out.str() ==
        "causal  (2, 2)\n"
        "     a  b\n"
        "  a  ■  ·\n"
        "  b  ■  ■\n");
}

TEST_CASE("a table lines up: numbers to the right, words to the left") {
  Table table({"step", "n", "shape"});
  table.add({"scores", "4", "(4, 4)"});
  table.add({"X", "16", "(4, 3)"});
  std::ostringstream out;
  table.print(out);
  CHECK(out.str() ==
        "  step     n  shape\n"
        "  scores   4  (4, 4)\n"
        "  X       16  (4, 3)\n");
  CHECK(tests::complaint([&] { table.add({"one"}); }) == "table row: wanted 3 cells, got 1");
}
