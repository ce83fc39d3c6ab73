// Exercise 7.2: how far apart?
// Somebody gives you two rows of the paper's table, and says nothing of their positions. How many places is the
// second behind the first? A negative number if it stands before it. A pair of channels is the hand of a clock:
// the angle between two hands is what sin(b - a) and cos(b - a) say, and std::atan2 gives it. Which of the hands
// is the one to read, if two positions may be thousands of places apart?
#include "attn/reference/positions.hpp"
#include "exercise.hpp"

using attn::Matrix;
using attn::Vector;

// [task]
double apart([[maybe_unused]] const Vector& here, [[maybe_unused]] const Vector& there) {
  return 0.0;  // your code here
}
// [task]

void expect_apart(std::size_t here, std::size_t there, double wanted) {
  const auto encoding = [](std::size_t p) {
    const Matrix one = attn::positional_encoding(1, 64, attn::PositionLayout::interleaved, p);
    return Vector(xt::row(one, 0));
  };
  exercise::expect_near(apart(encoding(here), encoding(there)), wanted,
                        "from position " + std::to_string(here) + " to " + std::to_string(there));
}

void checks() {
  expect_apart(0, 1, 1);
  expect_apart(1000, 995, -5);
  expect_apart(3, 3000, 2997);
  expect_apart(100000, 100003, 3);
  // Between these two the slowest hand passes its half turn, near 23559, and its angle jumps from pi to -pi.
  expect_apart(23000, 24000, 1000);
}

int main() { return exercise::run(checks); }
