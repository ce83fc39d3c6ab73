// Exercise 5.1: softmax of the keys that may be looked at.
// A hidden key gets the weight 0, whatever its score: it may be huge, or NaN. The others share 1 among them. If
// all are hidden, or all that is left scores -infinity, every weight is 0. But a NaN that may be looked at must
// show: the weights are NaN then. Which largest score do you take off?
#include <algorithm>
#include <limits>
#include <vector>

#include "exercise.hpp"

using attn::Vector;

// [task]
Vector masked_softmax(const Vector& scores, [[maybe_unused]] const std::vector<bool>& may_look) {
  const Vector e = xt::exp(scores - xt::amax(scores)());
  return e / xt::sum(e)();  // your code here
}
// [task]

void expect_weights(const Vector& scores, const std::vector<bool>& may_look, const Vector& wanted,
                    const std::string& what) {
  const Vector got = masked_softmax(scores, may_look);
  exercise::expect(got.size() == wanted.size(), what + ": there should be one weight for each score");
  for (std::size_t i = 0; i < got.size(); ++i) {
    exercise::expect_near(got(i), wanted(i), what + ": weight " + std::to_string(i));
  }
}

void checks() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  expect_weights({2, 1, 0}, {true, false, false}, {1, 0, 0}, "one key left");
  expect_weights({0, 0, 9, 0}, {true, true, false, false}, {0.5, 0.5, 0, 0}, "two equal keys left");
  // by NumPy 1.24
  expect_weights({2, 0.5, 0.8, 1, 0, 0}, {true, true, true, true, false, false},
                 {0.52848430, 0.11792079, 0.15917641, 0.19441851, 0, 0}, "two keys of padding");
  // by hand from here on
  expect_weights({1, 2, 3}, {false, false, false}, {0, 0, 0}, "nothing left");
  expect_weights({1, nan}, {true, false}, {1, 0}, "a hidden NaN");
  expect_weights({-60000, -60000, 10000}, {true, true, false}, {0.5, 0.5, 0},
                 "low scores before a high hidden one");
  expect_weights({-2e9, 0}, {true, false}, {1, 0}, "a score below -1e9");
  expect_weights({-infinity, 0}, {true, true}, {0, 1}, "a score of -infinity beside another");
  expect_weights({-infinity, 0}, {true, false}, {0, 0}, "a score of -infinity alone");
  for (const double other : {1.0, -infinity}) {
    const Vector weights = masked_softmax({other, nan}, {true, true});
    exercise::expect(std::isnan(weights(0)) && std::isnan(weights(1)),
                     "a NaN that may be seen makes all weights NaN");
  }
}

int main() { return exercise::run(checks); }
