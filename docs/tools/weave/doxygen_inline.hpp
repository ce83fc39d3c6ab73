#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>

namespace weave {

/// Turns the prose of one page from GitHub's Markdown into Doxygen's.
class DoxygenInline {
 public:
  explicit DoxygenInline(std::filesystem::path page);

  /// A paragraph, with as many lines as before: a link or a formula that runs over a line end is put on one line,
  /// and the line end moves to the next space.
  std::string convert(std::string_view paragraph);

  /// A row of a table: a `|` in a formula or in code stays in its cell.
  std::string convert_row(std::string_view row);

 private:
  std::string render(std::string_view paragraph, bool in_table);
  std::string link(std::string_view text, const std::string& target, bool in_table);
  std::string reference(const std::string& id, std::string_view text, bool in_table);

  std::filesystem::path page_;
  std::string id_;
  std::set<std::string> subpages_;
};

}  // namespace weave
