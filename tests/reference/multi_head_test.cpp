// Small cases by hand; properties of several heads.
#include "attn/reference/multi_head.hpp"

#include <cmath>

#include "attn/core/cost.hpp"
#include "attn/core/random.hpp"
#include "attn/core/trace.hpp"
#include "matrices.hpp"

using namespace attn;
using namespace attn::tests;

namespace {

MultiHead random_heads(Random& random, std::size_t d_model, std::size_t h, std::size_t d_k, std::size_t d_v) {
  return {h, random.normal_matrix(d_model, h * d_k), random.normal_matrix(d_model, h * d_k),
          random.normal_matrix(d_model, h * d_v), random.normal_matrix(h * d_v, d_model)};
}

}  // namespace

// annotated-transformer issues 17 and 118: a view without a transpose gives [[0,1],[2,3]] and [[4,5],[6,7]].
TEST_CASE("splitting takes columns, not the numbers in their order", "[chapter-04]") {
  const std::vector<Matrix> heads = split_heads({{0, 1, 2, 3}, {4, 5, 6, 7}}, 2);
  check_same(heads.at(0), {{0, 1}, {4, 5}});
  check_same(heads.at(1), {{2, 3}, {6, 7}});
  check_same(concat(heads), {{0, 1, 2, 3}, {4, 5, 6, 7}});
}

// transformer-from-scratch PR 6: token 0 of the heads [[a,b],[c,d]], [[e,f],[g,h]] is [a,b,e,f].
TEST_CASE("merging sets a token's heads side by side", "[chapter-04]") {
  check_same(concat({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}), {{1, 2, 5, 6}, {3, 4, 7, 8}});
}

TEST_CASE("h heads are h separate calls, d_k and d_v of their own", "[chapter-04]") {
  Random random(1);
  const Matrix X = random.normal_matrix(5, 7);
  const MultiHead w = random_heads(random, 7, 3, 2, 4);
  Trace trace;
  const Matrix output = multi_head_attention(X, X, w);
  std::vector<Matrix> heads;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto part = [&](const Matrix& W, std::size_t d) {
      return Matrix(xt::view(W, xt::all(), xt::range(i * d, (i + 1) * d)));
    };
    heads.push_back(self_attention(X, {part(w.W_Q, 2), part(w.W_K, 2), part(w.W_V, 4)}));
    check_near(trace["head." + std::to_string(i) + ".output"], heads.back(), 1e-14);
  }
  check_near(output, product(concat(heads), w.W_O), 1e-13);
}

TEST_CASE("one head costs as much as eight: 71,303,168 multiply-adds at n = 64, d_model = 512", "[chapter-04]") {
  Random random(2);
  const Matrix X = random.normal_matrix(64, 512);
  for (const std::size_t h : {1, 8}) {
    const MultiHead w = random_heads(random, 512, h, 512 / h, 512 / h);
    const MultiplyAdds cost;
    multi_head_attention(X, X, w);
    CHECK(cost.count() == 71303168);
  }
}

TEST_CASE("the order of the input's channels does not matter, if the rows of the matrices follow",
          "[chapter-04]") {
  Random random(3);
  const Matrix X = random.normal_matrix(4, 6);
  const MultiHead w = random_heads(random, 6, 2, 3, 3);
  const std::size_t order[] = {4, 0, 5, 2, 1, 3};
  Matrix X_moved = X;
  MultiHead moved = w;
  for (std::size_t c = 0; c < 6; ++c) {
    xt::col(X_moved, c) = xt::col(X, order[c]);
    xt::row(moved.W_Q, c) = xt::row(w.W_Q, order[c]);
    xt::row(moved.W_K, c) = xt::row(w.W_K, order[c]);
    xt::row(moved.W_V, c) = xt::row(w.W_V, order[c]);
  }
  check_near(multi_head_attention(X_moved, X_moved, moved), multi_head_attention(X, X, w), 1e-12);
}

// One head looks at the token before, the other at the token itself; their outputs side by side are two different
// rows of V, which no single row of weights can give.
TEST_CASE("two heads can look at two places at once", "[chapter-04]") {
  const std::size_t n = 4;
  MultiHead w{2, Matrix(xt::zeros<double>({n, 2 * n})), Matrix(xt::zeros<double>({n, 2 * n})),
              Matrix(xt::zeros<double>({n, 2 * n})), identity(2 * n)};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t head = 0; head < 2; ++head) w.W_K(i, head * n + i) = w.W_V(i, head * n + i) = 1;
    w.W_Q(i, i > 0 ? i - 1 : 0) = 200;
    w.W_Q(i, n + i) = 200;
  }
  const Matrix output = multi_head_attention(identity(n), identity(n), w);
  for (std::size_t i = 1; i < n; ++i) {
    CHECK(output(i, i - 1) == 1.0);
    CHECK(output(i, n + i) == 1.0);
  }
}

TEST_CASE("a bias on the keys changes nothing: softmax takes off what a whole row has in common", "[chapter-04]") {
  Random random(4);
  const Matrix X = random.normal_matrix(4, 6);
  MultiHead w = random_heads(random, 6, 2, 3, 3);
  const Matrix plain = multi_head_attention(X, X, w);
  w.b_K = random.normal_matrix(1, 6);
  check_near(multi_head_attention(X, X, w), plain, 1e-12);
  w.b_V = random.normal_matrix(1, 6);
  CHECK(xt::amax(xt::abs(multi_head_attention(X, X, w) - plain))() > 0.1);
}

TEST_CASE("heads that do not fit are refused by both numbers", "[chapter-04]") {
  CHECK(complaint([] {
          split_heads(Matrix({4, 510}), 8);
        }) == "split_heads: wanted columns that h = 8 divides, got (4, 510)");
  CHECK(complaint([] {
          split_heads(Matrix({4, 8}), 0);
        }) == "split_heads: wanted columns that h = 0 divides, got (4, 8)");
  CHECK(complaint([] { concat({}); }) == "concat: wanted at least one head, got none");
  CHECK(complaint([] { concat({Matrix({2, 3}), Matrix({2, 4})}); }) == "head 1: wanted shape (2, 3), got (2, 4)");
  CHECK(complaint([] {
          linear(Matrix({2, 3}), Matrix({3, 4}), Matrix({1, 3}));
        }) == "b: wanted shape (1, 4), got (1, 3)");
  Random random(5);
  const MultiHead w = random_heads(random, 6, 2, 3, 3);
  CHECK(complaint([&] {
          multi_head_attention(Matrix({4, 5}), Matrix({4, 6}), w);
        }) == "W: wanted shape (5, 6), got (6, 6)");
}
