#include "attn/core/random.hpp"

#include <cmath>

#include "matrices.hpp"

using namespace attn;
using Words = std::array<std::uint32_t, 4>;

// The known answers are those of the file kat_vectors in D. E. Shaw Research's Random123.
TEST_CASE("philox gives the published answers") {
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a seed is a sequence: blocks counted upwards under the key") {
  Random random(0);
  for (const std::uint32_t word : philox({0, 0, 0, 0}, {0, 0})) CHECK(random.bits() == word);
  for (const std::uint32_t word : philox({1, 0, 0, 0}, {0, 0})) CHECK(random.bits() == word);
  Random wide(0x299f31d0a4093822);
  CHECK(wide.bits() == philox({0, 0, 0, 0}, {0xa4093822, 0x299f31d0})[0]);
}

// From the published words above by hand: (0x6627e8d5 >> 5) * 2^26 + (0xe169c58d >> 6), over 2^53, in Python.
TEST_CASE("uniform numbers, to the last bit") {
  Random random(0);
  CHECK(random.uniform() == 0x1.989fa370b4e2cp-2);
  CHECK(random.uniform() == 0x1.78af58a6c036fp-1);
}

TEST_CASE("uniform and normal numbers have the right moments") {
  Random random(1);
  const int n = 100000;
  double mean = 0, uniform_variance = 0, normal_mean = 0, normal_variance = 0, fourth = 0;
  for (int i = 0; i < n; ++i) {
    const double u = random.uniform();
    REQUIRE((u >= 0.0 && u < 1.0));
    mean += u / n;
    uniform_variance += (u - 0.5) * (u - 0.5) / n;
    const double z = random.normal();
    normal_mean += z / n;
    normal_variance += z * z / n;
    fourth += z * z * z * z / n;
  }
  // Five standard errors of each.
  CHECK(std::abs(mean - 0.5) < 5 * std::sqrt(1.0 / 12 / n));
  CHECK(std::abs(uniform_variance - 1.0 / 12) < 5 * std::sqrt(1.0 / 180 / n));
  CHECK(std::abs(normal_mean) < 5 * std::sqrt(1.0 / n));
  CHECK(std::abs(normal_variance - 1) < 5 * std::sqrt(2.0 / n));
  CHECK(std::abs(fourth - 3) < 5 * std::sqrt(96.0 / n));
}

TEST_CASE("a random matrix is drawn once: two reads give the same numbers") {
  Random random(3);
  const Matrix W = random.normal_matrix(4, 5, 0.5);
  tests::check_same(W, W);
  Random again(3);
  tests::check_same(again.normal_matrix(4, 5, 0.5), W);
  Random other(4);
  CHECK(other.normal_matrix(4, 5, 0.5)(0, 0) != W(0, 0));
}
