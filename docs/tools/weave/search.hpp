#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weave {

/// What the search knows of the pages: a script `const ATTN_SEARCH = […];` with an entry for each section,
/// `{url, title, heading, text}`. A plain script, since a page opened from disk may not fetch anything.
std::string search_script(const std::vector<std::filesystem::path>& pages);

}  // namespace weave
