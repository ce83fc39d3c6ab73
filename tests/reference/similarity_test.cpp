// The numbers were computed by NumPy in double, to the digits shown.
#include "attn/reference/similarity.hpp"

#include <cmath>
#include <limits>

#include "attn/core/random.hpp"
#include "attn/core/trace.hpp"
#include "matrices.hpp"

using namespace attn;
using namespace attn::tests;

TEST_CASE("three tokens, by hand", "[chapter-01]") {
  Trace trace;
  similarity_attention({{1, 0}, {0, 1}, {1, 1}});
  check_same(trace["scores"], {{1, 0, 1}, {0, 1, 1}, {1, 1, 2}});
  check_near(trace["weights"], {{.4223, .1554, .4223}, {.1554, .4223, .4223}, {.2119, .2119, .5761}}, 5e-5);
  check_near(trace["output"], {{.8446, .5777}, {.5777, .8446}, {.7881, .7881}}, 5e-5);
}

TEST_CASE("whole numbers: scores equal their inner products exactly", "[chapter-01]") {
  check_same(similarity_scores({{1, 3, 2}, {1, 1, 3}, {1, 2, 1}}), {{14, 10, 9}, {10, 11, 6}, {9, 6, 6}});
}

TEST_CASE("softmax of a row", "[chapter-01]") {
  check_near(softmax({{2, -1, 0}}), {{.843795, .042010, .114195}}, 5e-7);
  check_near(softmax({{1, 0}}), {{.731059, .268941}}, 5e-7);
}

TEST_CASE("softmax of large scores is finite: troubles with exp overflow", "[chapter-01]") {
  check_near(softmax({{1000, 1001}}), {{.268941, .731059}}, 5e-7);
  check_same(softmax({{1e4, 1e4}}), {{.5, .5}});
  check_same(softmax({{-6e4, -6e4}}), {{.5, .5}});
  check_same(softmax({{1e308, -1e308}}), {{1, 0}});
}

TEST_CASE("softmax runs over the keys, also where a square hides it", "[chapter-01]") {
  check_near(softmax({{1, 0}, {1, 0}}), {{.7311, .2689}, {.7311, .2689}}, 5e-5);
  // triton issue 11406: a dropped axis gives (.2689, .1289), (5.4018, .0474).
  check_near(softmax({{0, 2}, {3, 1}}), {{.1192, .8808}, {.8808, .1192}}, 5e-5);
}

TEST_CASE("a constant added to a row changes nothing", "[chapter-01]") {
  Random random(5);
  const Matrix S = random.normal_matrix(4, 7);
  check_near(softmax(Matrix(S + 100.0)), softmax(S), 1e-14);
}

TEST_CASE("every row of weights is positive and sums to 1", "[chapter-01]") {
  Random random(6);
  for (const double size : {0.1, 1.0, 10.0}) {
    const Matrix A = softmax(random.normal_matrix(20, 9, size));
    for (std::size_t i = 0; i < 20; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < 9; ++j) {
        CHECK(A(i, j) > 0.0);
        CHECK(A(i, j) <= 1.0);
        sum += A(i, j);
      }
      CHECK(std::abs(sum - 1) < 1e-14);
    }
  }
}

TEST_CASE("minus infinity gets weight 0, NaN spoils its own row alone", "[chapter-01]") {
  const double inf = std::numeric_limits<double>::infinity();
  check_near(softmax({{0, -inf, 0}}), {{.5, 0, .5}}, 0);
  const Matrix A = softmax({{1, NAN}, {0, 0}});
  CHECK((std::isnan(A(0, 0)) && std::isnan(A(0, 1))));
  CHECK((A(1, 0) == 0.5 && A(1, 1) == 0.5));
  CHECK(std::isnan(softmax({{inf, 0}})(0, 0)));
}

TEST_CASE("no keys at all: nothing to mix, zeros", "[chapter-01]") {
  CHECK(shape_text(softmax(Matrix({2, 0}))) == "(2, 0)");
  check_same(weighted_sum(Matrix({2, 0}), Matrix({0, 3})), {{0, 0, 0}, {0, 0, 0}});
  CHECK(shape_text(similarity_attention(Matrix({0, 3}))) == "(0, 3)");
}

TEST_CASE("the output is the weighted sum of the rows, written out", "[chapter-01]") {
  Random random(7);
  const Matrix A = softmax(random.normal_matrix(3, 5)), V = random.normal_matrix(5, 4);
  Matrix loops = xt::zeros<double>({3, 4});
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      for (std::size_t k = 0; k < 4; ++k) loops(i, k) += A(i, j) * V(j, k);
    }
  }
  check_near(weighted_sum(A, V), loops, 1e-14);
}

TEST_CASE("values that do not fit are refused", "[chapter-01]") {
  CHECK(complaint([] { weighted_sum(Matrix({2, 3}), Matrix({4, 5})); }) == "V: wanted shape (3, 5), got (4, 5)");
}

TEST_CASE("inner product, cosine and length", "[chapter-01]") {
  CHECK(dot({10, 0}, {1, 1}) > dot({1, 1}, {1, 1}));
  CHECK(std::abs(cosine({10, 0}, {1, 1}) - .707107) < 5e-7);
  CHECK(std::abs(cosine({1, 1}, {1, 1}) - 1) < 1e-15);
  CHECK(complaint([] {
          cosine({0, 0}, {1, 1});
        }) == "cosine: wanted two vectors that are not zero, got a zero vector");
}

TEST_CASE("a cosine that cannot be computed is refused", "[chapter-01]") {
  CHECK(complaint([] {
          cosine({1e200, 1e200}, {1, 1});
        }).find("lengths that a double can hold") != std::string::npos);
}

TEST_CASE("a long row wins all that lean its way, and no others", "[chapter-01]") {
  const Matrix A = softmax(similarity_scores({{1, 0}, {0, 1}, {10, 10}}));
  check_near(A, {{.0001, 0, .9998}, {0, .0001, .9998}, {0, 0, 1}}, 1e-4);
  const Matrix B = softmax(similarity_scores({{10, 0}, {0, 1}, {1, 1}}));
  CHECK(std::abs(B(1, 0) - .1554) < 5e-5);
}

TEST_CASE("permuting the tokens permutes the output", "[chapter-01]") {
  Random random(8);
  const Matrix X = random.normal_matrix(4, 3);
  const std::size_t order[] = {2, 0, 3, 1};
  Matrix P({4, 3});
  for (std::size_t i = 0; i < 4; ++i) xt::row(P, static_cast<int>(i)) = xt::row(X, static_cast<int>(order[i]));
  const Matrix of_X = similarity_attention(X), of_P = similarity_attention(P);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t k = 0; k < 3; ++k) CHECK(std::abs(of_P(i, k) - of_X(order[i], k)) < 1e-13);
  }
}
