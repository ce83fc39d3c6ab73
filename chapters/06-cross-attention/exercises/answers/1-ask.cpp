// Exercise 6.1: one sequence asks another.
// You have project(X, W) and attention(Q, K, V) of chapter 3. x asks; the memory answers. What comes out has a row
// for each row of x. As it stands, x asks itself.
#include "attn/reference/projections.hpp"
#include "attn/reference/scaling.hpp"
#include "exercise.hpp"

using attn::attention;
using attn::Matrix;
using attn::project;

// [answer]
Matrix ask(const Matrix& x, const Matrix& memory, const attn::Projections& weights) {
  const Matrix Q = project(x, weights.W_Q);  // what is asked comes from x
  const Matrix K = project(memory, weights.W_K), V = project(memory, weights.W_V);
  return attention(Q, K, V);
}
// [answer]

void checks() {
  // by NumPy 1.24
  const attn::Projections square = {{{1, 0}, {1, 1}}, {{1, 0}, {1, -1}}, {{1, 0}, {0, 1}}};
  exercise::expect_near(ask({{1, 0}, {0, 1}}, {{1, 0}, {0, 1}, {1, 1}}, square),
                        {{0.75174492, 0.75174492}, {0.80222419, 0.59888791}},
                        "the answers of three tokens to two");
  const attn::Projections weights = {{{1, 0}, {0, 1}, {1, 1}}, {{1, 0}, {1, -1}}, {{1, 0, 2}, {0, 1, 1}}};
  const Matrix answers = ask({{1, 0, 2}, {0, 1, -1}}, {{1, 0}, {0, 1}, {1, 1}, {-1, 2}}, weights);
  exercise::expect_near(answers, {{0.89150402, 0.71747780, 2.50048584}, {0.14115631, 1.00000000, 1.28231262}},
                        "two tokens of 3 features, asking four of 2");
}

int main() { return exercise::run(checks); }
