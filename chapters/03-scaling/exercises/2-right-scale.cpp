// Exercise 3.2: the right scale, when the entries do not have variance 1.
// q and k have d_k independent entries each, of mean 0 and the given variance. By what must q·k be multiplied so
// that the score has variance 1? For variance 1 the answer is the paper's. Start from the variance of one term,
// q_i k_i.
#include "attn/core/random.hpp"
#include "exercise.hpp"

// [task]
double right_scale(double d_k, [[maybe_unused]] double variance) {
  return 1.0 / std::sqrt(d_k);  // your code here
}
// [task]

/// The variance of the scaled scores of many random pairs.
double measured(std::size_t d_k, double variance) {
  attn::Random random(3);
  const int pairs = 5000;
  const double scale = right_scale(static_cast<double>(d_k), variance);
  double squares = 0.0;
  for (int n = 0; n < pairs; ++n) {
    double score = 0.0;
    for (std::size_t i = 0; i < d_k; ++i) score += variance * random.normal() * random.normal();
    squares += scale * score * scale * score / pairs;
  }
  return squares;
}

void checks() {
  exercise::expect_near(right_scale(64, 1), 0.125, "the scale for d_k = 64 and variance 1");
  exercise::expect_near(measured(64, 4), 1.0,
                        "measured, the variance of the scaled scores for d_k = 64 and variance 4", 0.1);
  // by hand: a term has variance 3 × 3, a sum of 16 of them 144, and its root is 12
  exercise::expect_near(right_scale(16, 3), 1.0 / 12.0, "the scale for d_k = 16 and variance 3");
}

int main() { return exercise::run(checks); }
