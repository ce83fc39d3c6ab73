#include "letters.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace weave {

namespace {

// Stretches of Unicode that hold signs, not letters: Latin-1 signs, punctuation, superscript and
// subscript digits, currency, arrows, mathematics, shapes, CJK and full-width punctuation, emoji.
constexpr std::array<std::pair<char32_t, char32_t>, 24> signs{{
    {0x80, 0xA9},     {0xAB, 0xB4},     {0xB6, 0xB9},     {0xBB, 0xBF},     {0xD7, 0xD7},       {0xF7, 0xF7},
    {0x2000, 0x203E}, {0x2041, 0x2053}, {0x2055, 0x2070}, {0x2074, 0x207E}, {0x2080, 0x208F},   {0x20A0, 0x20CF},
    {0x2190, 0x24B5}, {0x24EA, 0x2BFF}, {0x2E00, 0x2E7F}, {0x3000, 0x3004}, {0x3008, 0x3020},   {0x3030, 0x3030},
    {0xFF01, 0xFF0F}, {0xFF1A, 0xFF20}, {0xFF3B, 0xFF3E}, {0xFF5B, 0xFF65}, {0x1F000, 0x1FAFF}, {0xFE50, 0xFE6F},
}};

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

Letter letter_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return {};
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
  if (bytes == 1 || at + bytes > text.size()) return {first, 1};
  char32_t code = first & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!is_continuation(text[at + i])) return {first, 1};
    code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3Fu);
  }
  return {code, bytes};
}

Letter letter_before(std::string_view text, std::size_t at) {
  if (at == 0) return {};
  std::size_t start = at - 1;
  while (start > 0 && at - start < 4 && is_continuation(text[start])) --start;
  return letter_at(text, start);
}

std::string utf8(char32_t code) {
  const auto tail = [code](int shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | code >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | code >> 18), tail(12), tail(6), tail(0)};
}

bool is_word(char32_t code) {
  if (code < 0x80) {
    return (code >= '0' && code <= '9') || (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') ||
           code == '_';
  }
  return std::none_of(signs.begin(), signs.end(),
                      [code](const auto& range) { return code >= range.first && code <= range.second; });
}

char32_t lower(char32_t code) {
  const auto within = [code](char32_t first, char32_t last) { return code >= first && code <= last; };
  if (within('A', 'Z') || (within(0xC0, 0xDE) && code != 0xD7) || within(0x391, 0x3A9) || within(0x410, 0x42F)) {
    return code + 32;
  }
  return code;
}

}  // namespace weave
