// The numbers were computed by NumPy in double, to the digits shown.
#include "attn/reference/scaling.hpp"

#include <cmath>

#include "attn/core/random.hpp"
#include "attn/core/trace.hpp"
#include "attn/reference/similarity.hpp"
#include "matrices.hpp"

using namespace attn;
using namespace attn::tests;

TEST_CASE("equation (1) on small matrices", "[chapter-03]") {
  Trace trace;
  attention({{1, 0}, {0, 1}}, {{1, 0}, {0, 1}, {1, 1}}, {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 1}});
  check_near(trace["weights"], {{.4011, .1978, .4011}, {.1978, .4011, .4011}}, 5e-5);
  check_near(trace["output"], {{.4011, .1978, .4011, .4011}, {.1978, .4011, .4011, .4011}}, 5e-5);
}

TEST_CASE("from Q to the output: exactly seven tensors, in order", "[chapter-03]") {
  Trace trace;
  attention(Matrix(xt::ones<double>({2, 3})), Matrix(xt::ones<double>({4, 3})), Matrix(xt::ones<double>({4, 5})));
  std::string names;
  for (const NamedMatrix& tensor : trace.tensors()) names += tensor.name + shape_text(tensor.value) + " ";
  CHECK(names == "Q(2, 3) K(4, 3) V(4, 5) scores(2, 4) scaled_scores(2, 4) weights(2, 4) output(2, 5) ");
}

TEST_CASE("the scale is that of one head, not of the model", "[chapter-03]") {
  // A score difference of 8 at d_k = 64: softmax(1, 0). With d_model = 512 it would be (.5875, .4125).
  Matrix q = xt::zeros<double>({1, 64}), K = xt::zeros<double>({2, 64});
  q(0, 0) = 8;
  K(0, 0) = 1;
  Trace trace;
  attention(q, K, Matrix(xt::zeros<double>({2, 1})));
  check_near(trace["weights"], {{.7311, .2689}}, 5e-5);
}

TEST_CASE("the Jacobian of softmax equals central differences", "[chapter-03]") {
  const Matrix s = {{0.3, -1.2, 2.0, 0.1}};
  const Matrix J = softmax_jacobian(xt::row(softmax(s), 0));
  const double h = 1e-6;
  for (std::size_t j = 0; j < 4; ++j) {
    Matrix up = s, down = s;
    up(0, j) += h;
    down(0, j) -= h;
    const Matrix slope = (softmax(up) - softmax(down)) / (2 * h);
    for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(slope(0, i) - J(i, j)) < 1e-9);
  }
}

TEST_CASE("two scores z and 0: the slope is p (1 - p)", "[chapter-03]") {
  const std::pair<double, double> wanted[] = {{0, .25},     {1, .196612},    {2, .104994},
                                              {4, .017663}, {8, 3.35238e-4}, {16, 1.12535e-7}};
  for (const auto& [z, slope] : wanted) {
    const Matrix J = softmax_jacobian(xt::row(softmax(Matrix{{z, 0}}), 0));
    CHECK(std::abs(J(0, 0) - slope) < 0.005 * slope);
    CHECK(std::abs(J(0, 0) + J(0, 1)) < 1e-15);  // the weights keep their sum
  }
}

// Means over many draws; a NumPy script found .32 .53 .74 .87 .93 .97 and .348 .342 .259 .159 .088 .046.
TEST_CASE("how sharp softmax is on ten random scores of a given size", "[chapter-03]") {
  const double size[] = {1, 2, 4, 8, 16, 32}, largest[] = {.32, .53, .74, .87, .93, .97},
               jacobian[] = {.348, .342, .259, .159, .088, .046};
  Random random(11);
  for (int c = 0; c < 6; ++c) {
    const int draws = 4000;
    double p_max = 0, J_norm = 0;
    for (int n = 0; n < draws; ++n) {
      const Vector p = xt::row(softmax(random.normal_matrix(1, 10, size[c])), 0);
      const Matrix J = softmax_jacobian(p);
      p_max += xt::amax(p)() / draws;
      J_norm += std::sqrt(xt::sum(J * J)()) / draws;
    }
    INFO("size " << size[c]);
    CHECK(std::abs(p_max - largest[c]) < .015);
    CHECK(std::abs(J_norm - jacobian[c]) < .01);
  }
}

TEST_CASE("an inner product of d independent terms has variance d", "[chapter-03]") {
  Random random(12);
  for (const std::size_t d : {4, 16, 64, 256}) {
    const int pairs = 4000;
    double sum = 0, squares = 0, same = 0;
    for (int n = 0; n < pairs; ++n) {
      const Vector q = xt::row(random.normal_matrix(1, d), 0), k = xt::row(random.normal_matrix(1, d), 0);
      sum += dot(q, k) / pairs;
      squares += dot(q, k) * dot(q, k) / pairs;
      same += dot(q, q) / pairs;
    }
    const double width = static_cast<double>(d);
    CHECK(std::abs(squares - sum * sum - width) < 5 * width * std::sqrt(2.0 / pairs));  // five standard errors
    CHECK(std::abs(same - width) < .08 * width);
  }
}

TEST_CASE("scaled: shapes that do not fit are refused by name", "[chapter-03]") {
  CHECK(complaint([] {
          attention(Matrix({2, 3}), Matrix({4, 2}), Matrix({4, 5}));
        }) == "K: wanted shape (4, 3), got (4, 2)");
  CHECK(complaint([] {
          attention(Matrix({2, 3}), Matrix({4, 3}), Matrix({3, 5}));
        }) == "V: wanted shape (4, 5), got (3, 5)");
  CHECK(complaint([] {
          attention(Matrix({2, 0}), Matrix({4, 0}), Matrix({4, 5}));
        }) == "Q: wanted at least one column, since the scale is 1/sqrt(d_k), got (2, 0)");
}
