#include "attn/text/letters.hpp"

#include <array>
#include <cstdio>

#include "attn/core/errors.hpp"
#include "attn/core/utf8.hpp"

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

bool is_control(char32_t letter) { return letter < 0x20 || (letter >= 0x7F && letter < 0xA0); }

std::string got(const char* format, unsigned value, std::size_t at) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value, at);
  return text.data();
}

}  // namespace

std::vector<char32_t> letters(std::string_view text, std::string_view name) {
  std::vector<char32_t> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::optional<Letter> letter = decode_utf8(text, at);
    if (!letter) {
      refuse_input(name, "UTF-8", got("byte 0x%02X at position %zu", static_cast<unsigned char>(text[at]), at));
    }
    out.push_back(letter->code);
    at += letter->length;
  }
  return out;
}

std::vector<std::string> split_words(std::string_view sentence) {
  std::vector<std::string> words;
  bool inside = false;
  std::size_t place = 0;
  for (const char32_t letter : letters(sentence, "sentence")) {
    ++place;
    const bool alone = is_word_by_itself(letter);
    if (is_control(letter) && !is_blank(letter)) {
      refuse_input("sentence", "words without control characters", got("U+%04X as letter %zu", letter, place));
    }
    if (is_blank(letter)) {
      inside = false;
    } else if (inside && !alone) {
      words.back() += encode_utf8(letter);
    } else {
      words.push_back(encode_utf8(letter));
      inside = !alone;
    }
  }
  return words;
}

}  // namespace attn
