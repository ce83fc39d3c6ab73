#pragma once

#include "lines.hpp"

namespace weave {

/// One block of a Markdown page: the lines `[first, last)`.
struct Block {
  enum class Kind {
    blank,      ///< one empty line
    heading,    ///< `#` … `######`, one line
    fence,      ///< a fenced block with both its fences; `info` is what follows the first one
    comment,    ///< an HTML comment that begins its line, to the line that ends it
    html,       ///< a line that begins with details, summary or their ends
    rule,       ///< a thematic break
    quote,      ///< lines that begin with `>`
    table,      ///< head, delimiter row and rows
    indented,   ///< code by four spaces
    paragraph,  ///< prose; a list item is a paragraph of its own, `prefix` bytes of it are its mark
  };
  Kind kind;
  std::size_t first = 0;
  std::size_t last = 0;
  std::string info = {};
  std::size_t prefix = 0;
  int level = 0;  ///< of a heading
};

/// Cuts a page into blocks; together they cover every line.
std::vector<Block> blocks(const Lines& lines);

/// The lines of a fenced block between its fences.
Lines fence_body(const Lines& lines, const Block& fence);

/// The lines of a quote without their `>`; the `[!NOTE]` that begins an alert becomes an empty line.
Lines quote_body(const Lines& lines, const Block& quote);

/// A stretch of prose: a paragraph, a list item, a table, a heading, or one of these inside a quote.
struct Prose {
  std::size_t line = 0;  ///< of its beginning, counted from 0
  std::string text;      ///< without list marks, heading marks and `>`
  int level = 0;         ///< of a heading, else 0
  bool table = false;
};

/// All the prose of a page, in order.
std::vector<Prose> prose(const Lines& lines);

/// A fenced block, also one inside a quote.
struct Fence {
  std::size_t line = 0;  ///< of its first inner line, counted from 0
  std::string info;
  Lines body;
};

/// All the fenced blocks of a page, in order.
std::vector<Fence> fences(const Lines& lines);

}  // namespace weave
