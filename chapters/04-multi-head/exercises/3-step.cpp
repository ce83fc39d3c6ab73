// Exercise 4.3: two heads that find the step.
// A token has five features: four say which of the four places it stands at, 1 there and 0 elsewhere, and the last
// is its number. Choose the matrices of two heads, with d_k = 4 and d_v = 1, so that the first feature of every
// output is the token's number minus the number before it, and the other features are 0. For the first token the
// step is 0. Do not write the numbers in: they change.
#include "attn/core/matrix.hpp"
#include "attn/reference/multi_head.hpp"
#include "exercise.hpp"

using attn::Matrix;
using attn::MultiHead;

// [task]
MultiHead step() {
  MultiHead weights;
  weights.h = 2;
  weights.W_Q = xt::zeros<double>({5, 8});  // columns 0 to 3 are the first head's, 4 to 7 the second's
  weights.W_K = xt::zeros<double>({5, 8});
  weights.W_V = xt::zeros<double>({5, 2});
  weights.W_O = xt::zeros<double>({2, 5});
  return weights;  // your code here
}
// [task]

Matrix tokens(const Matrix& numbers) {
  Matrix X = xt::zeros<double>({4, 5});
  for (std::size_t i = 0; i < 4; ++i) {
    X(i, i) = 1.0;
    X(i, 4) = numbers(i, 0);
  }
  return X;
}

void checks() {
  const MultiHead weights = step();
  const auto output = [&](const Matrix& numbers) {
    return attn::multi_head_attention(tokens(numbers), tokens(numbers), weights);
  };
  // by hand
  const Matrix up_and_down = {{0, 0, 0, 0, 0}, {-3, 0, 0, 0, 0}, {5, 0, 0, 0, 0}, {-3, 0, 0, 0, 0}};
  exercise::expect_near(output({{5}, {2}, {7}, {4}}), up_and_down, "the steps of 5, 2, 7, 4", 1e-2);
  const Matrix doubling = {{0, 0, 0, 0, 0}, {1, 0, 0, 0, 0}, {2, 0, 0, 0, 0}, {4, 0, 0, 0, 0}};
  exercise::expect_near(output({{1}, {2}, {4}, {8}}), doubling, "the steps of 1, 2, 4, 8", 1e-2);
}

int main() { return exercise::run(checks); }
