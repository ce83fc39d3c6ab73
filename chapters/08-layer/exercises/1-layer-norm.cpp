// Exercise 8.1: layer norm of one token.
// Take the mean off, and divide by the root of (variance + epsilon). The variance is the mean of the squares of
// what is left: divide by the number of features, not by one less. Epsilon stands inside the root.
#include "exercise.hpp"

using attn::Vector;

// [task]
Vector normed(const Vector& x, [[maybe_unused]] double epsilon) {
  return x;  // your code here
}
// [task]

void expect_token(const Vector& got, const Vector& wanted, const std::string& what) {
  exercise::expect(got.size() == wanted.size(), what + " should have as many features as before");
  for (std::size_t c = 0; c < got.size(); ++c) {
    exercise::expect_near(got(c), wanted(c), what + ", feature " + std::to_string(c));
  }
}

void checks() {
  // by hand: 1.5 and 0.5, divided by the root of 1.25 + 1e-6
  expect_token(normed({1, 2, 3, 4}, 1e-6), {-1.341640, -0.447213, 0.447213, 1.341640}, "the norm of (1, 2, 3, 4)");
  expect_token(normed({11, 12, 13, 14}, 1e-6), {-1.341640, -0.447213, 0.447213, 1.341640},
               "the norm of (11, 12, 13, 14), which is as far apart");
  // by hand: the variance is 1e-6, so the root is that of 2e-6; outside the root, epsilon would hardly show
  expect_token(normed({1e-3, -1e-3}, 1e-6), {0.707107, -0.707107}, "the norm of (0.001, -0.001)");
  // and with another epsilon, the root of 1.1e-5
  expect_token(normed({1e-3, -1e-3}, 1e-5), {0.301511, -0.301511}, "the norm of (0.001, -0.001), epsilon 1e-5");
  expect_token(normed({7, 7, 7}, 1e-6), {0, 0, 0}, "the norm of a token that is constant");
}

int main() { return exercise::run(checks); }
