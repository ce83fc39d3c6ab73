// Numbers by hand or from NumPy, to the digits shown; what a mask must never let through.
#include "attn/reference/masking.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/core/random.hpp"
#include "attn/core/trace.hpp"
#include "matrices.hpp"

using namespace attn;
using namespace attn::tests;

namespace {

const double infinity = std::numeric_limits<double>::infinity();
const double not_a_number = std::numeric_limits<double>::quiet_NaN();

void check_mask(const Mask& got, const Mask& wanted) {
  REQUIRE(shape(got) == shape(wanted));
  const bool equal = std::equal(got.begin(), got.end(), wanted.begin());
  CHECK(equal);
}

Matrix weights_of(const Matrix& scores, const Mask& mask) { return masked_softmax(masked_scores(scores, mask)); }

Matrix random_attention(std::uint64_t seed, const Mask& mask) {
  Random random(seed);
  const auto [n_q, n_k] = shape(mask);
  const Matrix Q = random.normal_matrix(n_q, 3), K = random.normal_matrix(n_k, 3),
               V = random.normal_matrix(n_k, 4);
  return masked_attention(Q, K, V, mask);
}

}  // namespace

TEST_CASE("the masks, drawn", "[chapter-05]") {
  check_mask(causal_mask(3), {{true, false, false}, {true, true, false}, {true, true, true}});
  check_mask(padding_mask(2, {true, true, false}), {{true, true, false}, {true, true, false}});
  check_mask(both(causal_mask(2), padding_mask(2, {false, true})), {{false, false}, {false, true}});
  check_mask(full_mask(1, 2), {{true, true}});
  CHECK(complaint([] { both(causal_mask(2), causal_mask(3)); }) == "b: wanted shape (2, 2), got (3, 3)");
}

// pytorch issue 92554: a matrix of 0 and -inf must not be taken for one of true and false.
template <class Numbers>
concept is_a_mask = requires(Matrix A, Numbers numbers) {
  masked_scores(A, numbers);
};
static_assert(is_a_mask<Mask>);
static_assert(!is_a_mask<Matrix>);

TEST_CASE("hidden scores get exactly nothing, the others share all", "[chapter-05]") {
  const Matrix one = weights_of({{2, 1, 0}}, Mask{{true, false, false}});
  CHECK(one(0, 0) == 1.0);
  CHECK(one(0, 1) == 0.0);
  CHECK(one(0, 2) == 0.0);
  check_near(weights_of(Matrix(xt::zeros<double>({3, 3})), causal_mask(3)),
             {{1, 0, 0}, {.5, .5, 0}, {1. / 3, 1. / 3, 1. / 3}}, 1e-15);
}

// ai.stackexchange 41367: eight scores of which four are padding.
TEST_CASE("padding of a published question gets nothing", "[chapter-05]") {
  const Matrix scores = {{2, .5, .8, 1, 0, 0, 0, 0}};
  CHECK(std::abs(weights_of(scores, full_mask(1, 8))(0, 7) - .0556) < 5e-5);
  check_near(weights_of(scores, padding_mask(1, {true, true, true, true, false, false, false, false})),
             {{.5285, .1179, .1592, .1944, 0, 0, 0, 0}}, 5e-5);
}

TEST_CASE("a row with nothing left is all zero, and so is its output", "[chapter-05]") {
  const Mask mask = {{false, false, false}, {true, true, false}};
  CHECK(xt::amax(xt::abs(xt::row(weights_of({{1, 2, 3}, {1, 2, 3}}, mask), 0)))() == 0.0);
  const Matrix output = random_attention(1, mask);
  for (std::size_t c = 0; c < 4; ++c) CHECK(output(0, c) == 0.0);
  // A score of -inf that may be looked at counts as nothing, too.
  CHECK(weights_of({{-infinity, 5}}, Mask{{true, false}})(0, 0) == 0.0);
}

// cs336, fairseq 3575, apex 93: a finite number in place of -inf loses to a low score that is allowed.
TEST_CASE("no finite number stands for minus infinity", "[chapter-05]") {
  CHECK(weights_of({{-2e9, 0}}, Mask{{true, false}})(0, 0) == 1.0);
  check_near(masked_attention({{-20000}}, {{1}, {0}}, {{1}, {100}}, Mask{{true, false}}), {{1}}, 0.0);
  check_near(weights_of({{-6e4, -6e4}}, full_mask(1, 2)), {{.5, .5}}, 0.0);
  check_near(weights_of({{1e4, 1e4}}, full_mask(1, 2)), {{.5, .5}}, 0.0);
}

// pytorch issues 101967, 103963: 0 times NaN is NaN.
TEST_CASE("what is hidden cannot do harm, whatever it is", "[chapter-05]") {
  for (const double bad : {not_a_number, infinity, -infinity}) {
    check_same(masked_attention({{1}}, {{1}, {1}}, {{1}, {bad}}, Mask{{true, false}}), {{1}});
    check_same(masked_attention({{1}}, {{1}, {bad}}, {{1}, {2}}, Mask{{true, false}}), {{1}});
  }
  // But who may look at it sees it.
  CHECK(std::isnan(masked_attention({{1}}, {{1}, {1}}, {{1}, {not_a_number}}, full_mask(1, 2))(0, 0)));
  CHECK(masked_attention({{1}}, {{1}, {1}}, {{1}, {infinity}}, full_mask(1, 2))(0, 0) == infinity);
  CHECK(std::isnan(masked_attention({{1}}, {{not_a_number}, {1}}, {{1}, {2}}, full_mask(1, 2))(0, 0)));
  CHECK(std::isnan(weights_of({{not_a_number, -infinity}}, full_mask(1, 2))(0, 0)));
}

TEST_CASE("a NaN that may be looked at is not hushed up, even where its weight is too small to be a number",
          "[chapter-05]") {
  CHECK(std::isnan(masked_attention({{1}}, {{0}, {-2000}}, {{1}, {not_a_number}}, full_mask(1, 2))(0, 0)));
}

TEST_CASE("a NaN in one token stays out of all outputs that may not see it", "[chapter-05]") {
  Random random(2);
  const Matrix Q = random.normal_matrix(5, 3), K = random.normal_matrix(5, 3), V = random.normal_matrix(5, 4);
  const Matrix right = masked_attention(Q, K, V, causal_mask(5));
  Matrix K_bad = K, V_bad = V;
  xt::row(K_bad, 3) = not_a_number;
  xt::row(V_bad, 3) = not_a_number;
  const Matrix output = masked_attention(Q, K_bad, V_bad, causal_mask(5));
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t c = 0; c < 4; ++c) CHECK((i < 3 ? output(i, c) == right(i, c) : std::isnan(output(i, c))));
  }
}

TEST_CASE("under a causal mask a changed token changes nothing before it, to the last bit", "[chapter-05]") {
  Random random(3);
  const std::size_t n = 7;
  const Matrix X = random.normal_matrix(n, 8);
  const MultiHead w{2, random.normal_matrix(8, 8), random.normal_matrix(8, 8), random.normal_matrix(8, 8),
                    random.normal_matrix(8, 8)};
  const Matrix before = multi_head_attention(X, X, w, under(causal_mask(n)));
  for (std::size_t j = 0; j < n; ++j) {
    Matrix changed = X;
    xt::row(changed, j) = xt::row(random.normal_matrix(1, 8, 10.0), 0);
    const Matrix after = multi_head_attention(changed, changed, w, under(causal_mask(n)));
    for (std::size_t i = 0; i < n; ++i) {
      const double apart = xt::amax(xt::abs(xt::row(after, i) - xt::row(before, i)))();
      CHECK((i < j ? apart == 0.0 : apart > 0.0));
    }
  }
}

// fairseq issue 3078, FasterTransformer issue 270.
TEST_CASE("a sentence alone and the same padded give the same rows", "[chapter-05]") {
  Random random(4);
  const Matrix X = random.normal_matrix(3, 8);
  const MultiHead w{4, random.normal_matrix(8, 8), random.normal_matrix(8, 8), random.normal_matrix(8, 8),
                    random.normal_matrix(8, 8)};
  const Matrix alone = multi_head_attention(X, X, w);
  for (const std::size_t length : {5, 10}) {
    Matrix padded = random.normal_matrix(length, 8, 100.0);
    xt::view(padded, xt::range(0, 3), xt::all()) = X;
    std::vector<bool> is_token(length);
    for (std::size_t i = 0; i < 3; ++i) is_token[i] = true;
    const Matrix output = multi_head_attention(padded, padded, w, under(padding_mask(length, is_token)));
    check_near(Matrix(xt::view(output, xt::range(0, 3), xt::all())), alone, 1e-12);
  }
}

// pytorch issue 41508: a band mask and padding that together leave rows empty.
TEST_CASE("a band mask and padding together: finite everywhere, empty rows zero", "[chapter-05]") {
  Mask band({4, 4});
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) band(i, j) = i < j + 2 && j < i + 2;
  }
  const Matrix output = random_attention(5, both(band, padding_mask(4, {true, true, false, false})));
  for (const double x : output) CHECK(std::isfinite(x));
  CHECK(xt::amax(xt::abs(xt::row(output, 3)))() == 0.0);
  CHECK(xt::amax(xt::abs(xt::row(output, 2)))() > 0.0);
}

// cs231n issue 279: only square cases pass when the mask is the wrong way round.
TEST_CASE("a mask of another shape is refused", "[chapter-05]") {
  CHECK(complaint([] {
          masked_attention(Matrix({2, 4}), Matrix({3, 4}), Matrix({3, 4}), full_mask(3, 2));
        }) == "mask: wanted shape (2, 3), got (3, 2)");
  CHECK(complaint([] {
          masked_scores(Matrix({2, 2}), full_mask(2, 3));
        }) == "mask: wanted shape (2, 2), got (2, 3)");
  CHECK(complaint([] {
          masked_attention(Matrix({2, 0}), Matrix({3, 0}), Matrix({3, 4}), full_mask(2, 3));
        }).find("Q: wanted at least one column") == 0);
}
