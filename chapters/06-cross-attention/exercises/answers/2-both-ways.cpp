// Exercise 6.2: two sequences that ask each other.
// Both lines that make an output are wrong, in the way of a widely copied example. Mend them. Two questions help:
// has each row of the weights the sum 1? Has the output a row for each token that asks?
#include "attn/reference/similarity.hpp"
#include "exercise.hpp"

using attn::Matrix;
using attn::product;
using attn::softmax;
using attn::transpose;
using attn::weighted_sum;

struct Answers {
  Matrix to_a;  // for each row of a, a mixture of b
  Matrix to_b;  // for each row of b, a mixture of a
};

// [answer]
Answers both_ways(const Matrix& a, const Matrix& b) {
  const Matrix scores = product(a, transpose(b));
  const Matrix A_a = softmax(scores);             // (rows of a, rows of b): it mixes b
  const Matrix A_b = softmax(transpose(scores));  // (rows of b, rows of a): it mixes a
  return {weighted_sum(A_a, b), weighted_sum(A_b, a)};
}
// [answer]

void checks() {
  // by hand: the scores are ((2, 2), (0, 1)); e/(1 + e) = 0.731059, e²/(1 + e²) = 0.880797
  const Answers square = both_ways({{2, 0}, {0, 1}}, {{1, 0}, {1, 1}});
  exercise::expect_near(square.to_a, {{1, 0.5}, {1, 0.731059}}, "what a hears from b");
  exercise::expect_near(square.to_b, {{1.761594, 0.119203}, {1.462117, 0.268941}}, "what b hears from a");
  // by hand: all scores are 0, so everybody hears the mean of the others
  const Answers longer = both_ways({{1, 0}, {3, 0}}, {{0, 1}, {0, 2}, {0, 6}});
  exercise::expect_near(longer.to_a, {{0, 3}, {0, 3}}, "what two rows hear from three");
  exercise::expect_near(longer.to_b, {{2, 0}, {2, 0}, {2, 0}}, "what three rows hear from two");
}

int main() { return exercise::run(checks); }
