// The numbers were computed by NumPy in double, to the digits shown.
#include "attn/reference/projections.hpp"

#include "attn/core/random.hpp"
#include "attn/core/trace.hpp"
#include "matrices.hpp"

using namespace attn;
using namespace attn::tests;

TEST_CASE("a projection of a non-square matrix: a transposed W cannot pass", "[chapter-02]") {
  check_same(project({{1, 0}, {0, 1}, {1, 1}}, {{2, -1, 0}, {1, 3, 1}}), {{2, -1, 0}, {1, 3, 1}, {3, 2, 1}});
  CHECK(complaint([] { project(Matrix({3, 2}), Matrix({3, 2})); }) == "W: wanted shape (2, 2), got (3, 2)");
}

TEST_CASE("a projection is linear", "[chapter-02]") {
  Random random(1);
  const Matrix A = random.normal_matrix(3, 4), B = random.normal_matrix(3, 4), W = random.normal_matrix(4, 5);
  check_near(project(Matrix(2.0 * A + 3.0 * B), W), Matrix(2.0 * project(A, W) + 3.0 * project(B, W)), 1e-13);
}

TEST_CASE("with projections, the scores need not be symmetric", "[chapter-02]") {
  const Matrix X = {{1, 0}, {0, 1}, {1, 1}};
  Trace trace;
  projected_attention(X, {{{1, 0}, {0, 0}}, {{0, 0}, {1, 0}}, identity(2)});
  check_same(trace["scores"], {{0, 1, 1}, {0, 0, 0}, {0, 1, 1}});
}

TEST_CASE("exactly seven tensors, in order, with their shapes", "[chapter-02]") {
  Trace trace;
  projected_attention(
      Matrix(xt::ones<double>({5, 3})),
      {Matrix(xt::ones<double>({3, 4})), Matrix(xt::ones<double>({3, 4})), Matrix(xt::ones<double>({3, 6}))});
  const std::pair<std::string, std::string> wanted[] = {
      {"X", "(5, 3)"},      {"Q", "(5, 4)"},       {"K", "(5, 4)"},     {"V", "(5, 6)"},
      {"scores", "(5, 5)"}, {"weights", "(5, 5)"}, {"output", "(5, 6)"}};
  REQUIRE(trace.tensors().size() == 7);
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(trace.tensors()[i].name == wanted[i].first);
    CHECK(shape_text(trace.tensors()[i].value) == wanted[i].second);
  }
}

TEST_CASE("M queries and N keys give M rows; D and F may differ", "[chapter-02]") {
  const Matrix output = dot_product_attention({{1, 0}, {0, 1}}, {{1, 0}, {0, 1}, {1, 1}},
                                              {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 1}});
  check_near(output, {{.4223, .1554, .4223, .4223}, {.1554, .4223, .4223, .4223}}, 5e-5);
}

TEST_CASE("keys and values in another order: the same output", "[chapter-02]") {
  Random random(2);
  const Matrix Q = random.normal_matrix(2, 3), K = random.normal_matrix(4, 3), V = random.normal_matrix(4, 5);
  Matrix K2 = K, V2 = V;
  for (int i = 0; i < 4; ++i) {
    xt::row(K2, i) = xt::row(K, 3 - i);
    xt::row(V2, i) = xt::row(V, 3 - i);
  }
  check_near(dot_product_attention(Q, K2, V2), dot_product_attention(Q, K, V), 1e-14);
}

TEST_CASE("every output depends on every input", "[chapter-02]") {
  Random random(3);
  const Matrix X = random.normal_matrix(4, 3);
  const Projections weights = {random.normal_matrix(3, 2, 0.5), random.normal_matrix(3, 2, 0.5),
                               random.normal_matrix(3, 3, 0.5)};
  const Matrix before = projected_attention(X, weights);
  for (int j = 0; j < 4; ++j) {
    Matrix moved = X;
    xt::row(moved, j) += 1e-4;
    const Matrix after = projected_attention(moved, weights);
    for (int i = 0; i < 4; ++i) CHECK(norm(xt::row(after, i) - xt::row(before, i)) > 1e-7);
  }
}

TEST_CASE("shapes that do not fit are refused by name", "[chapter-02]") {
  const Matrix Q({2, 3}), K({4, 3}), V({4, 5});
  CHECK(complaint([&] { dot_product_attention(Q, Matrix({4, 2}), V); }) == "K: wanted shape (4, 3), got (4, 2)");
  CHECK(complaint([&] { dot_product_attention(Q, K, Matrix({3, 5})); }) == "V: wanted shape (4, 5), got (3, 5)");
  CHECK(complaint([&] {
          projected_attention(Matrix({2, 3}), {Matrix({3, 4}), Matrix({3, 5}), Matrix({3, 1})});
        }) == "K: wanted shape (2, 4), got (2, 5)");
}

// PyTorch issue 64888: queries and keys of different batch sizes went through.
TEST_CASE("a broadcast is never made of a mistake", "[chapter-02]") {
  CHECK_THROWS_AS(dot_product_attention(Matrix({1, 3}), Matrix({1, 1}), Matrix({1, 3})), std::invalid_argument);
  CHECK_THROWS_AS(dot_product_attention(Matrix({1, 3}), Matrix({4, 3}), Matrix({1, 3})), std::invalid_argument);
}
