#pragma once

#include <filesystem>

#include "lines.hpp"

namespace weave {

/// A page in Doxygen's Markdown: exactly one line for each line of the page, so that warnings keep their numbers.
/// \throws PageError naming page and line where that cannot be done
Lines doxygen(const std::filesystem::path& page, const Lines& lines);

}  // namespace weave
