// Exercise 2.3: W_Q and W_K by hand, so that each token looks at the one before it.
// There are five tokens; token i is all zeros but for a 1 at feature i, so X is the identity matrix. Choose W_Q
// and W_K so that each token gives the one before it more than 0.99 of its weight. The first has none before it
// and may look where it likes. Nothing is scaled yet: how large must a score be to win against four zeros?
#include "attn/core/trace.hpp"
#include "attn/reference/projections.hpp"
#include "exercise.hpp"

using attn::Matrix;

// [task]
attn::Projections look_back() {
  Matrix W_Q = attn::identity(5);
  Matrix W_K = attn::identity(5);  // your code here
  return {W_Q, W_K, attn::identity(5)};
}
// [task]

void checks() {
  attn::Trace trace;
  attn::projected_attention(attn::identity(5), look_back());
  const Matrix& A = trace["weights"];
  for (std::size_t i = 1; i < 5; ++i) {
    exercise::expect(A(i, i - 1) > 0.99, "token " + std::to_string(i) + " should give token " +
                                             std::to_string(i - 1) + " more than 0.99 of its weight, and gives " +
                                             attn::fixed(A(i, i - 1)) + "; its score is row " + std::to_string(i) +
                                             " of W_Q times row " + std::to_string(i - 1) + " of W_K");
  }
}

int main() { return exercise::run(checks); }
