// Exercise 10.1: the way back through attention.
// O = A V with A = softmax(S) and S = Q Kᵀ/√d_k. Somebody hands you dO, the gradient of a loss by O: its entry (i,
// c) says how the loss answers to O_ic. Hand back how it answers to Q, K and V. You have product(A, B),
// transpose(A), softmax(S) and softmax_backward(A, dA), which goes from the gradient by A to the gradient by S. A
// product C = A B has dA = dC Bᵀ and dB = Aᵀ dC; use that for all four products, and mind the scale.
#include <functional>

#include "attn/core/random.hpp"
#include "attn/reference/backward.hpp"
#include "attn/reference/scaling.hpp"
#include "attn/reference/similarity.hpp"
#include "exercise.hpp"

using attn::Matrix;
using attn::product;
using attn::softmax;
using attn::softmax_backward;
using attn::transpose;

struct Gradients {
  Matrix dQ, dK, dV;
};

// [answer]
Gradients way_back(const Matrix& Q, const Matrix& K, const Matrix& V, const Matrix& dO) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(Q.shape(1)));
  const Matrix A = softmax(scale * product(Q, transpose(K)));
  const Matrix dS = softmax_backward(A, product(dO, transpose(V)));
  return {scale * product(dS, K), scale * product(transpose(dS), Q), product(transpose(A), dO)};
}
// [answer]

/// How the loss, the sum of O ∘ dO, answers to each number of x.
Matrix measured(Matrix& x, const Matrix& dO, const std::function<Matrix()>& output) {
  Matrix slope(x.shape());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double step = 1e-5, value = x.flat(i);
    x.flat(i) = value + step;
    const double above = xt::sum(output() * dO)();
    x.flat(i) = value - step;
    slope.flat(i) = (above - xt::sum(output() * dO)()) / (2 * step);
    x.flat(i) = value;
  }
  return slope;
}

void checks() {
  // by PyTorch 1.13
  const Gradients d =
      way_back({{1, 0}, {0, 2}}, {{1, 1}, {0, 1}, {2, 0}}, {{1, 2}, {0, -1}, {3, 1}}, {{1, 0}, {-1, 2}});
  exercise::expect_near(d.dV, {{-.161813, .891617}, {-.305779, .891617}, {.467592, .216767}}, "dV");
  exercise::expect_near(d.dQ, {{.601632, -.402421}, {.634337, .102498}}, "dQ");
  exercise::expect_near(d.dK, {{-.203209, 1.678669}, {-.199212, -1.473672}, {.402421, -.204997}}, "dK");
  attn::Random random(1);
  Matrix Q = random.normal_matrix(3, 4), K = random.normal_matrix(5, 4), V = random.normal_matrix(5, 2);
  const Matrix dO = random.normal_matrix(3, 2);
  const auto output = [&] { return attn::attention(Q, K, V); };
  const Gradients g = way_back(Q, K, V, dO);
  exercise::expect_near(g.dV, measured(V, dO, output), "for random numbers, held against central differences, dV");
  exercise::expect_near(g.dQ, measured(Q, dO, output), "for random numbers, held against central differences, dQ");
  exercise::expect_near(g.dK, measured(K, dO, output), "for random numbers, held against central differences, dK");
}

int main() { return exercise::run(checks); }
