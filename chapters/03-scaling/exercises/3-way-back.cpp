// Exercise 3.3: the way back through softmax.
// Training asks how the loss L changes with each score. It already knows how L changes with each weight: the
// gradient g, g_j = ∂L/∂p_j. By the chain rule, ∂L/∂s_i is the sum over j of g_j ∂p_j/∂s_i. Write that sum out
// with the Jacobian p_j (δ_ij - p_i), and simplify until no matrix is left: for n weights it takes about 2 n
// multiplications, not n².
#include "attn/core/random.hpp"
#include "attn/reference/scaling.hpp"
#include "attn/reference/similarity.hpp"
#include "exercise.hpp"

using attn::Matrix;
using attn::Vector;

// [task]
Vector scores_gradient(const Vector& p, const Vector& g) {
  return p * g;  // your code here
}
// [task]

void expect_gradient(const Vector& got, const Vector& wanted, const std::string& what) {
  exercise::expect(got.size() == wanted.size(), what + " should have one entry for each score");
  for (std::size_t i = 0; i < got.size(); ++i) {
    exercise::expect_near(got(i), wanted(i), what + ", entry " + std::to_string(i));
  }
}

/// How L = g·softmax(s) changes with each score, measured.
Vector central_differences(const Matrix& s, const Vector& g) {
  const double step = 1e-5;
  Vector slope = xt::zeros<double>({s.shape(1)});
  for (std::size_t i = 0; i < s.shape(1); ++i) {
    Matrix above = s, below = s;
    above(0, i) += step;
    below(0, i) -= step;
    const Matrix rise = (attn::softmax(above) - attn::softmax(below)) / (2 * step);
    slope(i) = attn::dot(g, xt::row(rise, 0));
  }
  return slope;
}

void checks() {
  // by hand: 1/2 (1 - 1/2) and 1/2 (0 - 1/2)
  expect_gradient(scores_gradient({0.5, 0.5}, {1, 0}), {0.25, -0.25}, "the gradient for two equal weights");
  expect_gradient(scores_gradient({0.2, 0.3, 0.5}, {7, 7, 7}), {0, 0, 0},
                  "the gradient when all weights count the same (they always sum to 1)");
  attn::Random random(4);
  const Matrix s = random.normal_matrix(1, 6);
  const Matrix weights = attn::softmax(s), G = random.normal_matrix(1, 6);
  const Vector p = xt::row(weights, 0), g = xt::row(G, 0);
  const Matrix by_jacobian = attn::product(G, attn::softmax_jacobian(p));
  expect_gradient(scores_gradient(p, g), xt::row(by_jacobian, 0),
                  "the gradient of six scores, held against the Jacobian");
  expect_gradient(scores_gradient(p, g), central_differences(s, g),
                  "the gradient of six scores, held against central differences");
}

int main() { return exercise::run(checks); }
