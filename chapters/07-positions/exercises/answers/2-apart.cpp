// Exercise 7.2: how far apart?
// Somebody gives you two rows of the paper's table, and says nothing of their positions. How many places is the
// second behind the first? A negative number if it stands before it. A pair of channels is the hand of a clock:
// the angle between two hands is what sin(b - a) and cos(b - a) say, and std::atan2 gives it. Which of the hands
// is the one to read, if two positions may be thousands of places apart?
#include "attn/reference/positions.hpp"
#include "exercise.hpp"

using attn::Matrix;
using attn::Vector;

// [answer]
double apart(const Vector& here, const Vector& there) {
  // The slowest hand: on a faster one, distances that differ by a whole turn look alike.
  const std::size_t d = here.size(), c = d - 2;
  const double sine = there(c) * here(c + 1) - there(c + 1) * here(c);    // sin(b - a)
  const double cosine = there(c + 1) * here(c + 1) + there(c) * here(c);  // cos(b - a)
  const double step = std::pow(10000.0, -static_cast<double>(c) / static_cast<double>(d));
  return std::atan2(sine, cosine) / step;
}
// [answer]

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
