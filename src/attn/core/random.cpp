#include "attn/core/random.hpp"

#include <cmath>
#include <numbers>

namespace attn {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

Random::Random(std::uint64_t seed)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)} {}

std::uint32_t Random::bits() {
  if (used_ == block_.size()) {
    block_ = philox({static_cast<std::uint32_t>(next_block_), static_cast<std::uint32_t>(next_block_ >> 32), 0, 0},
                    key_);
    ++next_block_;
    used_ = 0;
  }
  return block_[used_++];
}

double Random::uniform() {
  const std::uint64_t high = bits() >> 5;
  const std::uint64_t low = bits() >> 6;
  return static_cast<double>(high << 26 | low) * 0x1p-53;
}

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

Matrix Random::normal_matrix(std::size_t rows, std::size_t columns, double standard_deviation) {
  Matrix A({rows, columns});
  for (double& a : A) a = standard_deviation * normal();
  return A;
}

}  // namespace attn
