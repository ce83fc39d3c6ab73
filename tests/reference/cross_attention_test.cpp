// Numbers by hand or from NumPy, to the digits shown.
#include "attn/reference/cross_attention.hpp"

#include <cmath>

#include "attn/core/random.hpp"
#include "attn/core/trace.hpp"
#include "attn/reference/masking.hpp"
#include "attn/reference/similarity.hpp"
#include "matrices.hpp"

using namespace attn;
using namespace attn::tests;

TEST_CASE("two rows look at three, without projections or scale", "[chapter-06]") {
  const Matrix a = identity(2), b = {{1, 0}, {0, 1}, {1, 1}};
  const Matrix A = softmax(product(a, transpose(b)));
  check_near(A, {{.4223, .1554, .4223}, {.1554, .4223, .4223}}, 5e-5);
  check_near(dot_product_attention(a, b, b), {{.8446, .5777}, {.5777, .8446}}, 5e-5);
}

// pytorch issues 27623, 41070, 95712: two widths are allowed; only queries and keys must agree.
TEST_CASE("both lengths and both widths may differ", "[chapter-06]") {
  Random random(1);
  const Projections w = {random.normal_matrix(3, 4), random.normal_matrix(5, 4), random.normal_matrix(5, 6)};
  for (const std::size_t m : {1, 2, 7}) {
    const Matrix output = cross_attention(random.normal_matrix(m, 3), random.normal_matrix(4, 5), w);
    CHECK(shape_text(output) == shape_text(Shape{m, 6}));
  }
  const Projections bad = {random.normal_matrix(3, 4), random.normal_matrix(5, 2), random.normal_matrix(5, 6)};
  CHECK(complaint([&] {
          cross_attention(Matrix({2, 3}), Matrix({4, 5}), bad);
        }) == "cross_attention: wanted as many columns (d_k) in W_Q as in W_K, got (3, 4) and (5, 2)");
  CHECK(complaint([&] {
          cross_attention(Matrix({2, 3}), Matrix({4, 3}), w);
        }) == "W: wanted shape (3, 4), got (5, 4)");
}

TEST_CASE("every output depends on every row of the memory", "[chapter-06]") {
  Random random(2);
  const Matrix x = random.normal_matrix(3, 4), memory = random.normal_matrix(5, 4);
  const Projections w = {random.normal_matrix(4, 4), random.normal_matrix(4, 4), random.normal_matrix(4, 4)};
  const Matrix before = cross_attention(x, memory, w);
  for (std::size_t j = 0; j < 5; ++j) {
    Matrix changed = memory;
    changed(j, 0) += 1e-3;
    const Matrix apart = xt::abs(cross_attention(x, changed, w) - before);
    for (std::size_t i = 0; i < 3; ++i) CHECK(xt::amax(xt::row(apart, i))() > 1e-9);
  }
}

// The two lines of a widely copied example, both wrong.
TEST_CASE("the weights of one direction do not serve the other", "[chapter-06]") {
  const Matrix a = {{2, 0}, {0, 1}}, b = {{1, 0}, {1, 1}};
  const Matrix A_a = softmax(product(a, transpose(b))), A_b = softmax(product(b, transpose(a)));
  check_near(product(A_a, b), {{1, .5}, {1, .7311}}, 5e-5);
  check_near(product(A_b, b), {{1, .1192}, {1, .2689}}, 5e-5);  // the first wrong line: silent, since M = N
  check_near(product(A_b, a), {{1.7616, .1192}, {1.4621, .2689}}, 5e-5);
  check_near(product(transpose(A_a), a), {{1, .2689}, {1, .7311}}, 5e-5);  // the second wrong line
  const Vector sums = xt::sum(transpose(A_a), {1});
  CHECK(std::abs(sums(0) - .7689) < 5e-5);
  CHECK(std::abs(sums(1) - 1.2311) < 5e-5);
  CHECK_THROWS(product(softmax(product(identity(2), transpose(Matrix(xt::ones<double>({3, 2}))))), identity(2)));
}

// keras-io PR 1046: padding of the source must be hidden here, too.
TEST_CASE("padding of the memory does not matter", "[chapter-06]") {
  Random random(3);
  const Matrix x = random.normal_matrix(2, 4), memory = random.normal_matrix(3, 5);
  const Projections w = {random.normal_matrix(4, 3), random.normal_matrix(5, 3), random.normal_matrix(5, 3)};
  Matrix padded = random.normal_matrix(6, 5, 50.0);
  xt::view(padded, xt::range(0, 3), xt::all()) = memory;
  const Mask mask = padding_mask(2, {true, true, true, false, false, false});
  check_near(cross_attention(x, padded, w, under(mask)), cross_attention(x, memory, w), 1e-12);
}
