// Exercise 4.1: multi-head attention, as the paper writes it: a head is an attention with matrices of its own.
// self_attention(X, weights) is chapter 3's. Call it for every head, put the outputs side by side, the first head
// on the left, and multiply by W_O. The heads may differ in d_v.
#include "attn/core/matrix.hpp"
#include "attn/core/random.hpp"
#include "attn/reference/scaling.hpp"
#include "exercise.hpp"

using attn::Matrix;
using attn::Projections;

// [task]
Matrix multi_head(const Matrix& X, const std::vector<Projections>& heads, [[maybe_unused]] const Matrix& W_O) {
  return attn::self_attention(X, heads.at(0));  // your code here
}
// [task]

void checks() {
  // by NumPy 1.24
  const Matrix X = {{1, 0, 2}, {0, 1, 1}, {2, 1, 0}};
  const Projections a = {{{1, 0}, {0, 1}, {1, 1}}, {{0, 1}, {1, 0}, {1, 0}}, {{1}, {2}, {0}}};
  const Projections b = {{{0, 1}, {1, 1}, {1, 0}}, {{1, 0}, {0, 1}, {0, 1}}, {{0, 1}, {1, 0}, {1, 1}}};
  const Matrix W_O = {{1, 0, 1}, {2, 1, 0}, {0, -1, 1}};
  const Matrix wanted = {{4.75204524, -0.85136074, 4.22339109},
                         {5.69430475, -0.85136074, 5.16565060},
                         {5.71296182, -0.43200918, 4.28500025}};
  exercise::expect_near(multi_head(X, {a, b}, W_O), wanted, "the output of two heads");
  attn::Random random(5);
  const Matrix Y = random.normal_matrix(4, 3);
  const Matrix alone = attn::product(attn::self_attention(Y, b), attn::identity(2));
  exercise::expect_near(multi_head(Y, {b}, attn::identity(2)), alone, "one head with W_O = identity");
}

int main() { return exercise::run(checks); }
