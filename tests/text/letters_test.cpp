#include "attn/text/letters.hpp"

#include "attn/core/errors.hpp"
#include "attn/core/utf8.hpp"
#include "attn/reference/similarity.hpp"
#include "attn/text/letter_ngrams.hpp"
#include "matrices.hpp"

using namespace attn;
using Words = std::vector<std::string>;

TEST_CASE("UTF-8 there and back") {
  const std::string text = "a\u00e9\u65e9\U0001F600";
  const std::vector<char32_t> expected = {0x61, 0xE9, 0x65E9, 0x1F600};
  CHECK(letters(text, "t") == expected);
  std::string back;
  for (const char32_t letter : expected) back += encode_utf8(letter);
  CHECK(back == text);
}

// Malformed sequences from the Unicode standard, section 3.9, table 3-7, and what lies outside it.
TEST_CASE("broken UTF-8 is refused with the byte and its place") {
  const auto why = [](const std::string& text) { return tests::complaint([&] { letters(text, "sentence"); }); };
  CHECK(why("ab\xff") == "sentence: wanted UTF-8, got byte 0xFF at position 2");
  CHECK_FALSE(why("\x80").empty());              // a tail without a head
  CHECK_FALSE(why("\xc3").empty());              // a head without a tail
  CHECK_FALSE(why("\xc0\xaf").empty());          // overlong
  CHECK_FALSE(why("\xe0\x80\xaf").empty());      // overlong
  CHECK_FALSE(why("\xf0\x80\x80\xaf").empty());  // overlong
  CHECK_FALSE(why("\xed\xa0\x80").empty());      // a surrogate
  CHECK_FALSE(why("\xf4\x90\x80\x80").empty());  // beyond the last code point
  CHECK(why("\xf4\x8f\xbf\xbf").empty());
}

TEST_CASE("words are cut at blanks, and Chinese at every character") {
  CHECK(split_words("the cat  sat\n") == Words{"the", "cat", "sat"});
  CHECK(split_words("今天 good") == Words{"今", "天", "good"});
  CHECK(split_words("x早y") == Words{"x", "早", "y"});
  CHECK(split_words("\u3000 \u00a0").empty());
  CHECK(split_words("").empty());
}

TEST_CASE("control characters are refused: they would reach the terminal and the pictures") {
  CHECK(tests::complaint([] {
          split_words(
              "a\x01"
              "b");
        }) == "sentence: wanted words without control characters, got U+0001 as letter 2");
  CHECK_FALSE(tests::complaint([] { split_words("\x1b[31m"); }).empty());
  CHECK(split_words("a\tb\nc").size() == 3);
}

TEST_CASE("letter n-grams: same word, same vector; shared letters, a smaller angle") {
  const Matrix X = letter_ngrams({"cat", "mat", "dog", "cat"}, 512, 2.0);
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(norm(xt::row(X, i)) - 2.0) < 1e-12);
  const Matrix S = similarity_scores(X);
  CHECK(S(0, 3) == S(0, 0));
  CHECK(S(0, 1) > S(0, 2) + 0.5);
  CHECK(tests::complaint([] { letter_ngrams({"a"}, 0); }) == "d_model: wanted at least 1, got 0");
}
