#include "attn/core/matrix.hpp"

#include "attn/core/random.hpp"
#include "matrices.hpp"

using namespace attn;
using namespace attn::tests;

TEST_CASE("the product of matrices, by hand") {
  check_same(product({{1, 2, 3}, {4, 5, 6}}, {{1, 0}, {0, 1}, {1, 1}}), {{4, 5}, {10, 11}});
}

TEST_CASE("square factors do not change places") {
  check_same(product({{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}), {{19, 22}, {43, 50}});
}

TEST_CASE("a product equals its three loops, for every small shape") {
  Random random(1);
  for (std::size_t n = 1; n <= 5; ++n) {
    for (std::size_t k = 1; k <= 5; ++k) {
      for (std::size_t m = 1; m <= 5; ++m) {
        const Matrix A = random.normal_matrix(n, k), B = random.normal_matrix(k, m);
        Matrix C = xt::zeros<double>({n, m});
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t j = 0; j < m; ++j) {
            for (std::size_t p = 0; p < k; ++p) C(i, j) += A(i, p) * B(p, j);
          }
        }
        check_near(product(A, B), C, 1e-14);
      }
    }
  }
}

TEST_CASE("products with nothing in them") {
  const Matrix none_wide({2, 0}), none_high({0, 3});
  check_same(product(none_wide, none_high), {{0, 0, 0}, {0, 0, 0}});
  CHECK(shape_text(product(Matrix({0, 2}), Matrix({2, 3}))) == "(0, 3)");
}

TEST_CASE("factors that do not fit are refused with both shapes") {
  CHECK_THROWS_AS(product(Matrix({2, 3}), Matrix({2, 3})), std::invalid_argument);
  CHECK(complaint([] {
          product(Matrix({2, 3}), Matrix({2, 3}));
        }) == "product: wanted A's columns to match B's rows, got (2, 3) times (2, 3)");
}

TEST_CASE("the transpose is a matrix of its own") {
  Matrix A = {{1, 2, 3}, {4, 5, 6}};
  const Matrix B = transpose(A);
  A(0, 1) = 100;
  check_same(B, {{1, 4}, {2, 5}, {3, 6}});
  A = transpose(A);
  check_same(A, {{1, 4}, {100, 5}, {3, 6}});
}

TEST_CASE("columns of a matrix as vectors: xtensor-blas issue 100") {
  const Matrix A = {{2, 3}, {5, 7}, {11, 13}};
  const Vector reversed = xt::view(A, xt::range(2, xt::placeholders::_, -1), 1);
  CHECK(dot(xt::col(A, 0), reversed) == 94);
}

TEST_CASE("inner product and length") {
  CHECK(dot({1, 2, 3}, {4, 5, 6}) == 32);
  CHECK(norm({3, 4}) == 5);
  CHECK(complaint([] { dot({1, 2}, {1, 2, 3}); }) == "dot: wanted 2 numbers in b, as in a, got 3");
}

TEST_CASE("the identity changes nothing") {
  check_same(identity(2), {{1, 0}, {0, 1}});
  const Matrix A = {{1, 2}, {3, 4}};
  check_same(product(A, identity(2)), A);
}

TEST_CASE("shapes are demanded by name") {
  CHECK(complaint([] { expect_shape(Matrix({2, 3}), {2, 4}, "K"); }) == "K: wanted shape (2, 4), got (2, 3)");
  CHECK(complaint([] { expect_shape(Matrix({2, 3}), {2, 3}, "K"); }).empty());
}
