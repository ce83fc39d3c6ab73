// Exercise 2.1: a projection, written out.
// Row i of X W is token i, seen through W: feature k of it is X(i, 0) W(0, k) + X(i, 1) W(1, k) + ...
// Write it with loops, and watch which two numbers must agree.
#include "attn/core/random.hpp"
#include "attn/reference/projections.hpp"
#include "exercise.hpp"

using attn::Matrix;

// [answer]
Matrix projected(const Matrix& X, const Matrix& W) {
  Matrix Q = xt::zeros<double>({X.shape(0), W.shape(1)});
  for (std::size_t i = 0; i < X.shape(0); ++i) {
    for (std::size_t j = 0; j < X.shape(1); ++j) {  // as many features of a token as rows of W
      for (std::size_t k = 0; k < W.shape(1); ++k) Q(i, k) += X(i, j) * W(j, k);
    }
  }
  return Q;
}
// [answer]

void checks() {
  // by hand: the third row is the sum of the first two
  const Matrix Q = projected({{1, 0}, {0, 1}, {1, 1}}, {{2, -1, 0}, {1, 3, 1}});
  exercise::expect_near(Q, {{2, -1, 0}, {1, 3, 1}, {3, 2, 1}}, "X W for three tokens of two features");
  attn::Random random(1);
  const Matrix X = random.normal_matrix(4, 5), W = random.normal_matrix(5, 3);
  exercise::expect_near(projected(X, W), attn::project(X, W), "X W for four tokens of five features");
}

int main() { return exercise::run(checks); }
