#pragma once

#include <filesystem>

#include "lines.hpp"

namespace weave {

/// A woven block of a page that is not what it should be.
struct Stale {
  std::size_t line = 0;  ///< of the first difference, counted from 1
  std::string has;       ///< what stands there, `(nothing)` when the block is too short
  std::string wanted;
};

/// A page with every marked block made anew.
struct Woven {
  Lines lines;
  std::vector<Stale> stale;
};

/// Weaves a page that lies at `page`, whose program's transcript lies at `transcript`:
/// `code`, `output`, `top` and `nav` comments get their blocks.
/// \throws PageError naming page and line when a marker cannot be followed
Woven weave(const std::filesystem::path& page, const Lines& lines, const std::filesystem::path& transcript);

/// Minutes to read a page, without its generated lines: 200 words a minute, 5 seconds a line of code or output.
int reading_minutes(const Lines& lines);

}  // namespace weave
