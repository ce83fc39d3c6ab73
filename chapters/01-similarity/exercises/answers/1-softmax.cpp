// Exercise 1.1: softmax of one row, for scores of any size.
// Turn the scores into positive weights that sum to 1. e^1000 is infinity in a double: find out why taking the
// largest score off first changes nothing on paper and everything here.
#include "exercise.hpp"

using attn::Vector;

// [answer]
Vector softmax(const Vector& scores) {
  // e^(s - c) / sum e^(s - c) is the same for every c; with the largest score as c, no exponent is above 0.
  const Vector e = xt::exp(scores - xt::amax(scores)());
  return e / xt::sum(e)();
}
// [answer]

void checks() {
  const Vector ordinary = softmax({2, -1, 0});
  exercise::expect(ordinary.size() == 3, "softmax should give one weight for each score");
  exercise::expect_near(xt::sum(ordinary)(), 1.0, "the sum of softmax(2, -1, 0)");
  exercise::expect_near(ordinary(0), 0.843795, "the first weight of softmax(2, -1, 0)");
  const Vector large = softmax({1000, 1001});
  exercise::expect(large.size() == 2, "softmax should give one weight for each score");
  exercise::expect(!std::isnan(large(0)), "softmax(1000, 1001) is NaN: infinity divided by infinity");
  exercise::expect_near(large(1), 0.731059, "the second weight of softmax(1000, 1001)");
}

int main() { return exercise::run(checks); }
