#include "attn/core/utf8.hpp"

#include <array>

namespace attn {
namespace {

/// How many bytes the letter takes that starts with this one; 0 when none starts so.
std::size_t length_from(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  if (first >= 0xF0 && first <= 0xF4) return 4;
  return 0;
}

}  // namespace

std::optional<Letter> decode_utf8(std::string_view text, std::size_t at) {
  constexpr std::array<char32_t, 5> smallest = {0, 0, 0x80, 0x800, 0x10000};
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t length = length_from(first);
  if (length == 0 || at + length > text.size()) return std::nullopt;
  char32_t code = length == 1 ? first : first & (0xFFu >> (length + 1));
  for (std::size_t k = 1; k < length; ++k) {
    const auto next = static_cast<unsigned char>(text[at + k]);
    if ((next & 0xC0) != 0x80) return std::nullopt;
    code = code << 6 | (next & 0x3F);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < smallest.at(length) || surrogate || code > 0x10FFFF) return std::nullopt;
  return Letter{code, length};
}

std::string encode_utf8(char32_t letter) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (letter >> shift & 0x3F)); };
  if (letter < 0x80) return {static_cast<char>(letter)};
  if (letter < 0x800) return {static_cast<char>(0xC0 | letter >> 6), tail(0)};
  if (letter < 0x10000) return {static_cast<char>(0xE0 | letter >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | letter >> 18), tail(12), tail(6), tail(0)};
}

}  // namespace attn
