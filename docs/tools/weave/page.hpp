#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace weave {

/// The page's name in the built documentation: `ch01` for chapters/01-…/README.md, `chapters` for the map,
/// `golden`, `index` for docs/main.md and the project's own README.md, else the file's stem for docs/….md.
/// Empty for a file that is no page of the documentation. A translation has the name of its original.
std::string page_id(const std::filesystem::path& page);

/// The URL of a page's HTML file.
std::string page_url(const std::string& id);

/// The anchor of one of its headings: unlike on GitHub, unique in the whole documentation.
std::string anchor_id(const std::string& id, const std::string& slug);

/// Whether it is a numbered chapter.
bool is_chapter(const std::filesystem::path& page);

/// The first heading of a page, as it is written.
/// \throws PageError when there is none
std::string title_of(const std::filesystem::path& page);

/// The title up to its colon: "1. Similarity".
std::string short_title(const std::string& title);

/// The chapters next to a chapter, in the order of their folders and in the same language.
struct Neighbours {
  std::optional<std::filesystem::path> before;
  std::optional<std::filesystem::path> after;
};
Neighbours neighbours(const std::filesystem::path& chapter);

/// Where a relative link of a page leads, without `#…`; a folder stands for the README.md in it.
std::filesystem::path resolve(const std::filesystem::path& page, const std::string& target);

}  // namespace weave
