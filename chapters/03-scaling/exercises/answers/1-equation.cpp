// Exercise 3.1: equation (1) of the paper.
// You have product(A, B), transpose(A) and softmax(scores) of each row. Put them together to softmax(Q Kᵀ / √d_k)
// V. d_k is the length of a query; mind that it is not the number of keys, and not the length of a value.
#include "attn/core/matrix.hpp"
#include "attn/reference/similarity.hpp"
#include "exercise.hpp"

using attn::Matrix;
using attn::product;
using attn::softmax;
using attn::transpose;

// [answer]
Matrix scaled_dot_product(const Matrix& Q, const Matrix& K, const Matrix& V) {
  const double d_k = static_cast<double>(Q.shape(1));
  const Matrix scaled_scores = product(Q, transpose(K)) / std::sqrt(d_k);
  return product(softmax(scaled_scores), V);
}
// [answer]

void checks() {
  // by hand: d_k = 4, scores (4, 0), scaled (2, 0), weights e² and 1 over e² + 1
  const Matrix one = scaled_dot_product({{2, 0, 0, 0}}, {{2, 0, 0, 0}, {0, 0, 0, 0}}, {{1, 0, 10}, {0, 1, 20}});
  exercise::expect_near(one, {{0.880797, 0.119203, 11.192029}}, "the output for scores 4 and 0 at d_k = 4");
  // by NumPy 1.24
  const Matrix Q = {{1, 2, 0}, {0, 1, -1}}, K = {{1, 0, 1}, {0, 1, 0}, {1, 1, 2}, {-1, 0, 1}},
               V = {{1}, {2}, {3}, {4}};
  exercise::expect_near(scaled_dot_product(Q, K, V), {{2.44714256}, {2.32398774}}, "the output of two queries");
}

int main() { return exercise::run(checks); }
