// Exercise 7.1: the table of positions.
// Channel 2i of position p is sin(p / 10000^(2i/d)), channel 2i + 1 is the cosine of the same angle. Positions and
// channels count from 0. An odd d ends with a sine. Mind that 1/2 of two whole numbers is 0 in C++.
#include "exercise.hpp"

using attn::Matrix;

// [task]
Matrix positions(std::size_t n, std::size_t d) {
  Matrix table = xt::zeros<double>({n, d});
  // your code here
  return table;
}
// [task]

void checks() {
  // by hand: the angles are p and p/100
  exercise::expect_near(positions(4, 4),
                        {{0, 1, 0, 1},
                         {0.84147098, 0.54030231, 0.00999983, 0.99995000},
                         {0.90929743, -0.41614684, 0.01999867, 0.99980001},
                         {0.14112001, -0.98999250, 0.02999550, 0.99955003}},
                        "four positions of 4 channels");
  // by NumPy 1.24
  exercise::expect_near(
      positions(2, 6),
      {{0, 1, 0, 1, 0, 1}, {0.84147098, 0.54030231, 0.04639922, 0.99892298, 0.00215443, 0.99999768}},
      "two positions of 6 channels");
  exercise::expect_near(positions(2, 5),
                        {{0, 1, 0, 1, 0}, {0.84147098, 0.54030231, 0.02511622, 0.99968454, 0.00063096}},
                        "two positions of 5 channels");
  const Matrix far = positions(5001, 2);
  exercise::expect(far.shape(0) == 5001, "a table of 5001 positions should have 5001 rows");
  exercise::expect_near(far(5000, 0), -0.98796644, "the sine of position 5000");
}

int main() { return exercise::run(checks); }
