#include "attn/text/letter_ngrams.hpp"

#include <cstdint>

#include "attn/core/errors.hpp"
#include "attn/core/random.hpp"
#include "attn/text/letters.hpp"

namespace attn {
namespace {

constexpr char32_t word_start = 0x02;
constexpr char32_t word_end = 0x03;

/// A well-mixed 64-bit number for a run of letters.
std::uint64_t hash(const char32_t* run, std::size_t n) {
  std::array<std::uint32_t, 4> counter = {0, 0, 0, static_cast<std::uint32_t>(n)};
  for (std::size_t i = 0; i < n; ++i) counter[i] = static_cast<std::uint32_t>(run[i]);
  const auto words = philox(counter, {0, 0});
  return std::uint64_t{words[1]} << 32 | words[0];
}

}  // namespace

Matrix letter_ngrams(const std::vector<std::string>& words, std::size_t d_model, double length) {
  if (d_model == 0) refuse("d_model", "at least 1", "0");
  Matrix X = xt::zeros<double>({words.size(), d_model});
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::vector<char32_t> word = letters(words[i], "word");
    word.insert(word.begin(), word_start);
    word.push_back(word_end);
    for (std::size_t n = 1; n <= 3; ++n) {
      for (std::size_t start = 0; start + n <= word.size(); ++start) {
        const bool only_a_mark = n == 1 && (start == 0 || start + 1 == word.size());
        if (only_a_mark) continue;
        const std::uint64_t h = hash(&word[start], n);
        X(i, h % d_model) += h >> 63 ? 1.0 : -1.0;
      }
    }
    const Vector row = xt::row(X, i);
    if (norm(row) > 0.0) xt::row(X, i) = row * (length / norm(row));
  }
  return X;
}

}  // namespace attn
