#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace links {

/// A link that leads nowhere, or where it must not.
struct Broken {
  std::string page;  ///< relative to the folder that was checked, with `:line` where that is known
  std::string why;
  std::string target;
  bool operator==(const Broken&) const = default;
};

/// What a check saw.
struct Report {
  std::size_t pages = 0;
  std::size_t links = 0;
  std::vector<Broken> broken;
};

/// The address with each `%20` and its like turned into the byte it stands for.
std::string without_percents(const std::string& text);

/// The folder's path without links and dots.
/// \throws std::runtime_error when there is no such folder
std::filesystem::path existing_folder(const std::filesystem::path& folder);

/// The contents of a file.
/// \throws std::runtime_error when it cannot be read
std::string read_file(const std::filesystem::path& file);

/// Every link, anchor, picture, script and style of the built HTML under `folder` exists; every page can be
/// reached from index.html; plain links to the network use https. Reads Doxygen's navigation and search scripts,
/// too.
Report check_html(const std::filesystem::path& folder);

/// Nothing under `folder` is loaded from the network: no script, style, picture, frame or font, in pages,
/// style sheets and SVG. Plain links may go there.
Report check_network(const std::filesystem::path& folder);

/// The links, pictures and anchors between the Markdown pages of a source tree, as GitHub would resolve them, and
/// the formulas between `$` of which GitHub would take a part for Markdown. The folders build…, my and those with
/// a leading point are left out.
Report check_markdown(const std::filesystem::path& root);

}  // namespace links
