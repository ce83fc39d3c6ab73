/// @file
/// @brief Text as code points and as words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Takes UTF-8 apart into code points.
/// @param text  UTF-8
/// @param name  what to call it when it is refused
/// @return      one entry a letter
/// @throws InputError naming the first bad byte and its place (overlong forms and surrogates are bad too)
std::vector<char32_t> letters(std::string_view text, std::string_view name);

/// Cuts a sentence into words: at blanks, and around every letter of the scripts that write no blanks between
/// words (Chinese characters, kana), each of which is a word of its own.
/// @param sentence  UTF-8
/// @return          the words; none when there is nothing but blanks
/// @throws InputError when the sentence is not UTF-8 or has control characters in it
std::vector<std::string> split_words(std::string_view sentence);

}  // namespace attn
