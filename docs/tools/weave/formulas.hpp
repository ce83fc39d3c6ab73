#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lines.hpp"

namespace weave {

/// A formula of a page or of a Doxygen comment.
struct Formula {
  std::size_t line = 0;  ///< counted from 1
  std::string tex;
  bool display = false;
  bool operator==(const Formula&) const = default;
};

/// The formulas of a page: `$…$`, `` $`…`$ ``, `$$…$$` and ```math blocks.
std::vector<Formula> page_formulas(const Lines& lines);

/// Finds the first part of a formula between `$` or `$$` that GitHub reads as Markdown before it reads TeX: a
/// backslash followed by punctuation, such as `\,` (GitHub removes the backslash), a star, or an underscore that
/// is not between letters or digits.
/// @return that part; empty when there is none
std::string taken_for_markdown(std::string_view tex);

/// The formulas of the comments in a header: `\f$…\f$`, `\f[…\f]`.
std::vector<Formula> comment_formulas(const Lines& lines);

/// A script `const FORMULAS = […];` with an entry for each formula of the files, `{where, tex, display}`.
std::string formulas_script(const std::vector<std::filesystem::path>& files);

}  // namespace weave
