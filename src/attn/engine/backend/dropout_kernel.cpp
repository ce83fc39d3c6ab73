// The random numbers of dropout: Philox 4x32 with 10 rounds (Salmon et al. 2011), 64 numbers at once.
#include <algorithm>
#include <cmath>

#include "attn/engine/backend/kernels.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace attn::engine::kernels {
namespace {

constexpr std::uint32_t multiplier_0 = 0xD2511F53, multiplier_1 = 0xCD9E8D57;
constexpr std::uint32_t key_step_0 = 0x9E3779B9, key_step_1 = 0xBB67AE85;
constexpr std::size_t counters = 16;  // at once; each gives four numbers

/// The parameters that are the same for all blocks of a row.
struct Row {
  const std::uint32_t* key;      ///< 2 numbers
  const std::uint32_t* counter;  ///< 3 numbers, behind the one that counts
  std::uint32_t threshold;       ///< random numbers below it drop
  float kept;                    ///< the factor of what is not dropped
};

using Block = void (*)(const Row& row, std::uint32_t first, float* factors);

void plain_block(const Row& row, std::uint32_t first, float* factors) {
  std::uint32_t a[counters], b[counters], c[counters], d[counters];
  for (std::size_t i = 0; i < counters; ++i) {
    a[i] = first + static_cast<std::uint32_t>(i);
    b[i] = row.counter[0], c[i] = row.counter[1], d[i] = row.counter[2];
  }
  std::uint32_t key_0 = row.key[0], key_1 = row.key[1];
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < counters; ++i) {
      const std::uint64_t x = std::uint64_t{multiplier_0} * a[i], y = std::uint64_t{multiplier_1} * c[i];
      a[i] = static_cast<std::uint32_t>(y >> 32) ^ b[i] ^ key_0;
      b[i] = static_cast<std::uint32_t>(y);
      c[i] = static_cast<std::uint32_t>(x >> 32) ^ d[i] ^ key_1;
      d[i] = static_cast<std::uint32_t>(x);
    }
    key_0 += key_step_0, key_1 += key_step_1;
  }
  for (std::size_t i = 0; i < counters; ++i) {
    factors[4 * i] = a[i] < row.threshold ? 0.0f : row.kept;
    factors[4 * i + 1] = b[i] < row.threshold ? 0.0f : row.kept;
    factors[4 * i + 2] = c[i] < row.threshold ? 0.0f : row.kept;
    factors[4 * i + 3] = d[i] < row.threshold ? 0.0f : row.kept;
  }
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("avx2"))) inline __m256i all(std::uint32_t number) { return _mm256_set1_epi64x(number); }

/// The same with AVX2, about four times faster: compilers do not find the multiplication of 32 by 32 bits. A lane
/// of 64 bits holds a number in its lower half.
__attribute__((target("avx2"))) void avx2_block(const Row& row, std::uint32_t first, float* factors) {
  constexpr std::size_t groups = counters / 4;
  __m256i a[groups], b[groups], c[groups], d[groups];
  for (std::size_t g = 0; g < groups; ++g) {
    const auto i = first + static_cast<std::uint32_t>(4 * g);
    a[g] = _mm256_setr_epi64x(i, static_cast<std::uint32_t>(i + 1), static_cast<std::uint32_t>(i + 2),
                              static_cast<std::uint32_t>(i + 3));
    b[g] = all(row.counter[0]), c[g] = all(row.counter[1]), d[g] = all(row.counter[2]);
  }
  std::uint32_t key_0 = row.key[0], key_1 = row.key[1];
  for (int round = 0; round < 10; ++round) {
    for (std::size_t g = 0; g < groups; ++g) {
      const __m256i x = _mm256_mul_epu32(a[g], all(multiplier_0)), y = _mm256_mul_epu32(c[g], all(multiplier_1));
      a[g] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(y, 32), b[g]), all(key_0));
      c[g] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(x, 32), d[g]), all(key_1));
      b[g] = y, d[g] = x;  // with a product's upper half, which the next product ignores
    }
    key_0 += key_step_0, key_1 += key_step_1;
  }
  // Comparisons are of signed numbers: the sign is turned on both sides.
  const __m256i sign = _mm256_set1_epi32(INT32_MIN);
  const __m256i threshold = _mm256_xor_si256(_mm256_set1_epi32(static_cast<int>(row.threshold)), sign);
  const __m256 kept = _mm256_set1_ps(row.kept);
  for (std::size_t g = 0; g < groups; ++g) {
    const __m256i ab = _mm256_blend_epi32(a[g], _mm256_slli_epi64(b[g], 32), 0xAA);
    const __m256i cd = _mm256_blend_epi32(c[g], _mm256_slli_epi64(d[g], 32), 0xAA);
    const __m256i even = _mm256_unpacklo_epi64(ab, cd), odd = _mm256_unpackhi_epi64(ab, cd);
    const __m256i numbers[2] = {_mm256_permute2x128_si256(even, odd, 0x20),
                                _mm256_permute2x128_si256(even, odd, 0x31)};
    for (std::size_t half = 0; half < 2; ++half) {
      const __m256i drop = _mm256_cmpgt_epi32(threshold, _mm256_xor_si256(numbers[half], sign));
      _mm256_storeu_ps(factors + 16 * g + 8 * half, _mm256_andnot_ps(_mm256_castsi256_ps(drop), kept));
    }
  }
}
#endif

Block best_block() {
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) return avx2_block;
#endif
  return plain_block;
}

}  // namespace

void dropout_factors(float* factors, std::size_t count, double p, const std::uint32_t key[2],
                     const std::uint32_t counter[3], std::uint32_t first_index) {
  static const Block block = best_block();
  constexpr std::size_t numbers = 4 * counters;
  const double bound = std::ceil(p * 0x1p32);  // bits * 2^-32 < p, in whole numbers
  if (bound >= 0x1p32) {
    std::fill_n(factors, count, 0.0f);
    return;
  }
  const Row row = {key, counter, static_cast<std::uint32_t>(bound), static_cast<float>(1.0 / (1.0 - p))};
  std::size_t at = 0;
  for (std::uint32_t first = first_index / 4; at < count; first += counters) {
    const std::size_t skip = at == 0 ? first_index % 4 : 0;
    const std::size_t taken = std::min(count - at, numbers - skip);
    if (taken == numbers) {
      block(row, first, factors + at);
    } else {
      float ends[numbers];
      block(row, first, ends);
      std::copy_n(ends + skip, taken, factors + at);
    }
    at += taken;
  }
}

}  // namespace attn::engine::kernels
