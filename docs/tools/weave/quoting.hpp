#pragma once

#include <filesystem>

#include "lines.hpp"

namespace weave {

/// The lines between the two marks `// [name]` of a source file, moved to the left margin; marks of other
/// regions inside are dropped, which are names that the file marks twice.
/// \throws PageError when the file is missing, or has not exactly two such marks
Lines code_region(const std::filesystem::path& source, const std::string& name);

/// The lines below the heading `== name: …` of a transcript, or of the file measured.txt beside it which records
/// what takes long, up to the next heading, without blank lines at both ends. \throws PageError when the
/// transcript or the section is missing, or the section is there twice
Lines output_section(const std::filesystem::path& transcript, const std::string& name);

}  // namespace weave
