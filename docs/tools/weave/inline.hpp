#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weave {

/// A piece of a paragraph. One scan finds them all, so that a `*` in a formula is never emphasis
/// and a `$` in code never a formula.
struct Span {
  enum class Kind {
    text,     ///< words
    escaped,  ///< one character after a backslash
    code,     ///< between backticks, without them
    math,     ///< TeX between `$`
    link,     ///< `text` is what stands between the brackets, `target` between the parentheses
    picture,  ///< `text` is the description
    url,      ///< an address in plain sight, or between < and >
    tag,      ///< an HTML tag
    comment,  ///< an HTML comment
    emphasis_begin,
    emphasis_end,
    strong_begin,
    strong_end,
  };
  Kind kind = Kind::text;
  std::string text = {};
  std::string target = {};
  std::string title = {};
  bool display = false;    ///< of a formula between `$$`
  std::size_t at = 0;      ///< where it begins in the paragraph, in bytes
  std::size_t line = 0;    ///< how many line ends of the paragraph stand before it
  bool backticks = false;  ///< of a formula between `` $` `` and `` `$ ``, where nothing is Markdown
};

/// Cuts a paragraph into spans, as GitHub reads it.
std::vector<Span> scan(std::string_view paragraph);

/// The words of a paragraph without any markup; formulas as their TeX, pictures as their description.
std::string plain(std::string_view paragraph);

/// How many line ends stand before a place in a paragraph.
std::size_t lines_before(std::string_view paragraph, std::size_t at);

}  // namespace weave
