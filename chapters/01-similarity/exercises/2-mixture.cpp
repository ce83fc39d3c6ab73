// Exercise 1.2: a weighted sum, written out.
// Row i of the output mixes all rows of V: weights(i, 0) times row 0, plus weights(i, 1) times row 1, and so on.
// Write it with loops; the checks hold it against the matrix product.
#include "attn/core/random.hpp"
#include "attn/reference/similarity.hpp"
#include "exercise.hpp"

using attn::Matrix;

// [task]
Matrix mixtures(const Matrix& weights, const Matrix& V) {
  Matrix output = xt::zeros<double>({weights.shape(0), V.shape(1)});
  // your code here
  return output;
}
// [task]

void checks() {
  const Matrix halves = mixtures({{0.5, 0.5}, {0.0, 1.0}}, {{2, 4, 6}, {0, 0, 2}});
  exercise::expect_near(halves, {{1, 2, 4}, {0, 0, 2}}, "the mixtures of two rows");
  attn::Random random(1);
  const Matrix weights = attn::softmax(random.normal_matrix(3, 5)), V = random.normal_matrix(5, 4);
  exercise::expect_near(mixtures(weights, V), attn::product(weights, V), "the mixtures of five rows");
}

int main() { return exercise::run(checks); }
