// Exercise 1.3: attention that does not care how long a vector is.
// In the chapter, a row that is ten times as long wins everybody's attention. Use the cosine of the angle in place
// of the inner product; then the length of a row no longer counts.
#include "attn/reference/similarity.hpp"
#include "exercise.hpp"

using attn::Matrix;

// [answer]
Matrix cosine_weights(const Matrix& X) {
  Matrix unit = X;
  for (std::size_t i = 0; i < X.shape(0); ++i) xt::row(unit, i) /= attn::norm(xt::row(X, i));
  return attn::softmax(attn::similarity_scores(unit));  // the inner product of unit vectors is the cosine
}
// [answer]

void checks() {
  const Matrix weights = cosine_weights({{1, 0}, {0, 1}, {1, 1}});
  const Matrix longer = cosine_weights({{1, 0}, {0, 1}, {10, 10}});
  exercise::expect_near(longer, weights, "the weights after making the third row ten times as long");
  // softmax(1, 0, cos 45 degrees), by hand
  exercise::expect_near(weights(0, 0), 0.4730, "the weight of the first row on itself", 1e-4);
}

int main() { return exercise::run(checks); }
