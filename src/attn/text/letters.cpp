#include "attn/text/letters.hpp"

#include <array>
#include <cstdio>

#include "attn/core/errors.hpp"

namespace attn {
namespace {

bool is_blank(char32_t letter) {
  return (letter >= 0x09 && letter <= 0x0D) || letter == 0x20 || letter == 0x85 || letter == 0xA0 ||
         letter == 0x1680 || (letter >= 0x2000 && letter <= 0x200A) || letter == 0x2028 || letter == 0x2029 ||
         letter == 0x202F || letter == 0x205F || letter == 0x3000;
}

bool is_word_by_itself(char32_t letter) {
  return (letter >= 0x3040 && letter <= 0x30FF) || (letter >= 0x3400 && letter <= 0x4DBF) ||
         (letter >= 0x4E00 && letter <= 0x9FFF) || (letter >= 0xF900 && letter <= 0xFAFF) ||
         (letter >= 0x20000 && letter <= 0x3FFFD);
}

/// How many bytes the letter takes that starts with this one; 0 when none starts so.
std::size_t length_from(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  if (first >= 0xF0 && first <= 0xF4) return 4;
  return 0;
}

[[noreturn]] void refuse_byte(std::string_view name, unsigned char byte, std::size_t at) {
  char got[48];
  std::snprintf(got, sizeof got, "byte 0x%02X at position %zu", byte, at);
  refuse_input(name, "UTF-8", got);
}

}  // namespace

std::vector<char32_t> letters(std::string_view text, std::string_view name) {
  constexpr std::array<char32_t, 5> smallest = {0, 0, 0x80, 0x800, 0x10000};
  std::vector<char32_t> out;
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t length = length_from(first);
    if (length == 0) refuse_byte(name, first, i);
    char32_t letter = length == 1 ? first : first & (0xFFu >> (length + 1));
    for (std::size_t k = 1; k < length; ++k) {
      const unsigned char next = i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0;
      if ((next & 0xC0) != 0x80) refuse_byte(name, first, i);
      letter = letter << 6 | (next & 0x3F);
    }
    const bool surrogate = letter >= 0xD800 && letter <= 0xDFFF;
    if (letter < smallest[length] || surrogate || letter > 0x10FFFF) refuse_byte(name, first, i);
    out.push_back(letter);
    i += length;
  }
  return out;
}

std::string utf8(char32_t letter) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (letter >> shift & 0x3F)); };
  if (letter < 0x80) return {static_cast<char>(letter)};
  if (letter < 0x800) return {static_cast<char>(0xC0 | letter >> 6), tail(0)};
  if (letter < 0x10000) return {static_cast<char>(0xE0 | letter >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | letter >> 18), tail(12), tail(6), tail(0)};
}

std::vector<std::string> split_words(std::string_view sentence) {
  std::vector<std::string> words;
  bool inside = false;
  for (const char32_t letter : letters(sentence, "sentence")) {
    const bool alone = is_word_by_itself(letter);
    if (is_blank(letter)) {
      inside = false;
    } else if (inside && !alone) {
      words.back() += utf8(letter);
    } else {
      words.push_back(utf8(letter));
      inside = !alone;
    }
  }
  return words;
}

}  // namespace attn
