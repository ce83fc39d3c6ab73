/// @file
/// @brief UTF-8, one letter at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// A code point, and how many bytes it took.
struct Letter {
  char32_t code = 0;       ///< the code point
  std::size_t length = 0;  ///< 1 to 4
};

/// Reads the letter that starts at a place.
/// @param text  UTF-8
/// @param at    where, before the end
/// @return      the letter; nothing when there is none: a stray or missing byte, an overlong form, a surrogate
/// @see The Unicode standard, section 3.9, table 3-7
std::optional<Letter> decode_utf8(std::string_view text, std::size_t at);

/// Puts a code point into UTF-8.
/// @param letter  a valid code point
/// @return        one to four bytes
std::string encode_utf8(char32_t letter);

}  // namespace attn
