// Numbers from the formulas in NumPy, to the digits shown.
#include "attn/reference/positions.hpp"

#include <cmath>
#include <numbers>

#include "attn/core/random.hpp"
#include "attn/reference/scaling.hpp"
#include "matrices.hpp"

using namespace attn;
using namespace attn::tests;
using Layout = PositionLayout;

TEST_CASE("the paper's positions at d_model = 4", "[chapter-07]") {
  check_near(positional_encoding(4, 4),
             {{0, 1, 0, 1},
              {.841471, .540302, .010000, .999950},
              {.909297, -.416147, .019999, .999800},
              {.141120, -.989992, .029996, .999550}},
             5e-7);
}

// tensor2tensor PR 177, gluon-nlp 178: three layouts are in use, and weights know only their own.
TEST_CASE("position 1 in three layouts, even and odd widths", "[chapter-07]") {
  const auto at_1 = [](std::size_t d, Layout layout) { return positional_encoding(1, d, layout, 1); };
  check_near(at_1(4, Layout::halves), {{.841471, .01, .540302, .99995}}, 5e-7);
  check_near(at_1(4, Layout::halves_t2t), {{.841471, .0001, .540302, 1}}, 5e-7);
  check_near(at_1(6, Layout::interleaved), {{.841471, .540302, .046399, .998923, .002154, .999998}}, 5e-7);
  check_near(at_1(6, Layout::halves), {{.841471, .046399, .002154, .540302, .998923, .999998}}, 5e-7);
  check_near(at_1(6, Layout::halves_t2t), {{.841471, .01, .0001, .540302, .99995, 1}}, 5e-7);
  check_near(at_1(5, Layout::interleaved), {{.841471, .540302, .025116, .999685, .000631}}, 5e-7);
  check_near(at_1(5, Layout::halves), {{.841471, .025116, .000631, .540302, .999685}}, 5e-7);
  check_near(at_1(5, Layout::halves_t2t), {{.841471, .0001, .540302, 1, 0}}, 5e-7);
  check_near(at_1(1, Layout::interleaved), {{.841471}}, 5e-7);
  check_near(at_1(2, Layout::halves_t2t), {{.841471, .540302}}, 5e-7);
  check_near(at_1(1, Layout::halves_t2t), {{0}}, 0.0);
}

TEST_CASE("how far the two kinds of halves are apart at d_model = 512", "[chapter-07]") {
  const Matrix apart =
      xt::abs(positional_encoding(512, 512, Layout::halves) - positional_encoding(512, 512, Layout::halves_t2t));
  CHECK(std::abs(xt::amax(xt::row(apart, 1))() - .00135) < 5e-6);
  CHECK(std::abs(xt::amax(xt::row(apart, 50))() - .0719) < 5e-5);
  CHECK(std::abs(xt::amax(xt::row(apart, 511))() - .712) < 5e-4);
}

TEST_CASE("a shift by k is one matrix for all positions", "[chapter-07]") {
  // As columns, M_1 at d = 4 is [[.5403,.8415,0,0],[-.8415,.5403,0,0],...]; here tokens are rows, so it is turned.
  check_near(transpose(shift_matrix(1, 4)),
             {{.540302, .841471, 0, 0}, {-.841471, .540302, 0, 0}, {0, 0, .99995, .01}, {0, 0, -.01, .99995}},
             5e-7);
  for (const std::size_t d : {4, 64, 512}) {
    for (const std::size_t k : {1, 7, 50}) {
      for (const std::size_t p : {0, 1, 100, 4950}) {
        const Matrix here = positional_encoding(1, d, Layout::interleaved, p);
        const Matrix there = positional_encoding(1, d, Layout::interleaved, p + k);
        check_near(product(here, shift_matrix(k, d)), there, 2e-12);
      }
    }
  }
  CHECK(complaint([] { shift_matrix(1, 5); }) == "d_model: wanted an even number, a cosine for every sine, got 5");
}

TEST_CASE("every position is as long, and inner products know only the distance", "[chapter-07]") {
  const auto at = [](std::size_t p) {
    return Vector(xt::row(positional_encoding(1, 512, Layout::interleaved, p), 0));
  };
  for (const std::size_t p : {0, 10, 1000}) {
    CHECK(std::abs(norm(at(p)) - 16) < 1e-12);
    CHECK(std::abs(dot(at(p), at(p + 5)) - 189.5967) < 5e-5);
  }
}

TEST_CASE("the slowest channel of the paper turns once in 60611 positions", "[chapter-07]") {
  // sin(p f) with f from position 1.
  const double f = std::asin(positional_encoding(1, 512, Layout::interleaved, 1)(0, 510));
  CHECK(std::abs(2 * std::numbers::pi / f - 60611.48) < 0.01);
  const double g = std::asin(positional_encoding(1, 512, Layout::halves_t2t, 1)(0, 255));
  CHECK(std::abs(2 * std::numbers::pi / g - 62831.85) < 0.01);
}

// yoyodyne 40, OpenNMT-py 2522: many programs have a last position. Here only a learned table has.
TEST_CASE("any position can be had; a learned table ends", "[chapter-07]") {
  const Matrix far = positional_encoding(2, 8, Layout::interleaved, 1000000);
  for (const double x : far) CHECK(std::abs(x) <= 1.0);
  CHECK(std::abs(far(0, 0) - std::sin(1e6)) < 1e-9);
  Random random(1);
  const Matrix table = random.normal_matrix(10, 4);
  check_same(learned_positions(table, 10), table);
  CHECK(learned_positions(table, 3).shape(0) == 3);
  CHECK(complaint([&] { learned_positions(table, 11); }) ==
        "learned_positions: wanted at most 10 tokens, the rows of the table, got 11");
}

TEST_CASE("without positions the order of the tokens does not matter, with them it does", "[chapter-07]") {
  Random random(2);
  const std::size_t n = 6, order[] = {3, 0, 5, 1, 4, 2};
  const Matrix X = random.normal_matrix(n, 8);
  const Projections w = {random.normal_matrix(8, 4), random.normal_matrix(8, 4), random.normal_matrix(8, 8)};
  const auto moved = [&](const Matrix& A) {
    Matrix B = A;
    for (std::size_t i = 0; i < n; ++i) xt::row(B, i) = xt::row(A, order[i]);
    return B;
  };
  check_near(self_attention(moved(X), w), moved(self_attention(X, w)), 1e-13);
  const Matrix apart =
      xt::abs(self_attention(add_positions(moved(X)), w) - moved(self_attention(add_positions(X), w)));
  CHECK(xt::amax(apart)() > 0.1);
}

TEST_CASE("positions are added, and no tokens are no positions", "[chapter-07]") {
  check_near(add_positions(Matrix(xt::ones<double>({2, 4}))), Matrix(1.0 + positional_encoding(2, 4)), 0.0);
  CHECK(shape_text(positional_encoding(0, 4)) == "(0, 4)");
  CHECK(shape_text(positional_encoding(2, 0)) == "(2, 0)");
}
