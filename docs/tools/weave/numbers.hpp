#pragma once

#include <filesystem>

#include "lines.hpp"

namespace weave {

/// A number with a decimal point in the prose of a page.
struct Number {
  std::size_t line = 0;  ///< counted from 1
  std::string text;      ///< as it is written
  bool operator==(const Number&) const = default;
};

/// The numbers with a decimal point in a text, in one spelling: `.7311` is `0.7311`, signs are left out.
/// "3.2.1", "v0.24" and "section 3.2" are no numbers.
std::vector<std::string> decimal_numbers(const std::string& text);

/// The numbers of a page's prose that do not stand in a section of the transcript which the same `##` section of
/// the page quotes, or the one before. Fences, formulas, code, comments and link targets are no prose; a paragraph
/// with a link to bibliography.md may hold cited numbers.
/// \throws PageError when the page has such numbers and there is no transcript
std::vector<Number> foreign_numbers(const Lines& lines, const std::filesystem::path& transcript);

}  // namespace weave
