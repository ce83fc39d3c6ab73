// Exercise 2.2: the answer to one query.
// Below, one query q gets what a dictionary would give it: the value that belongs to the best key. Make it
// attention: the scores of q against every key (a row of K) become weights, and the weights mix the values (the
// rows of V). Nothing is scaled yet. Take the largest score off before the exponential, as in chapter 1.
#include "attn/core/random.hpp"
#include "attn/reference/projections.hpp"
#include "exercise.hpp"

using attn::Matrix;
using attn::Vector;

// [answer]
Vector answer(const Vector& q, const Matrix& K, const Matrix& V) {
  Vector scores = xt::zeros<double>({K.shape(0)});
  for (std::size_t j = 0; j < K.shape(0); ++j) scores(j) = attn::dot(q, xt::row(K, j));
  const Vector e = xt::exp(scores - xt::amax(scores)());
  const Vector weights = e / xt::sum(e)();
  Vector mixture = xt::zeros<double>({V.shape(1)});
  for (std::size_t j = 0; j < V.shape(0); ++j) mixture += weights(j) * xt::row(V, j);
  return mixture;
}
// [answer]

void expect_answer(const Vector& got, const Matrix& wanted, const std::string& what, double tolerance) {
  exercise::expect(got.size() == wanted.shape(1), what + " should have as many features as a value");
  for (std::size_t k = 0; k < got.size(); ++k) {
    exercise::expect_near(got(k), wanted(0, k), what + ", feature " + std::to_string(k), tolerance);
  }
}

void checks() {
  // by hand: weights 1, e, 1 over 2 + e
  const Matrix K = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  expect_answer(answer({0, 1, 0}, K, {{10}, {20}, {60}}), {{26.3583}}, "the answer from 10, 20 and 60", 1e-4);
  expect_answer(answer({2000, 0}, {{1, 0}, {0, 1}}, {{1, 2}, {3, 4}}), {{1, 2}}, "the answer to a long query",
                1e-6);
  attn::Random random(2);
  const Matrix q = random.normal_matrix(1, 3), keys = random.normal_matrix(5, 3),
               values = random.normal_matrix(5, 4);
  expect_answer(answer(xt::row(q, 0), keys, values), attn::dot_product_attention(q, keys, values),
                "the answer from five random values", 1e-6);
}

int main() { return exercise::run(checks); }
