#pragma once

#include <string>
#include <string_view>

namespace weave {

/// One character of a UTF-8 text: its number, and how many bytes it takes.
struct Letter {
  char32_t code = 0;
  std::size_t bytes = 0;
};

/// The character that begins at `at`; a stray byte counts as a character of its own.
Letter letter_at(std::string_view text, std::size_t at);

/// The character that ends just before `at`; `{0, 0}` at the beginning.
Letter letter_before(std::string_view text, std::size_t at);

/// The character in UTF-8.
std::string utf8(char32_t code);

/// Whether the character may stand in a word: letters, their marks, decimal digits and `_`.
/// Superscript digits, signs and punctuation may not, just as in GitHub's anchors.
bool is_word(char32_t code);

/// The small letter, for Latin, Greek and Cyrillic capitals; others stay as they are.
char32_t lower(char32_t code);

}  // namespace weave
