#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace weave {

using Lines = std::vector<std::string>;

/// A page, or something it quotes, is not as it should be (exit status 1).
struct PageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A file cannot be read or written (exit status 2).
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The lines of a file, without their ends.
/// \throws FileError when it cannot be read
Lines read_lines(const std::filesystem::path& file);

/// Writes the lines beside the file, then renames: a reader never sees half a page.
/// \throws FileError when that fails
void write_lines(const std::filesystem::path& file, const Lines& lines);

/// Cuts a text at its line ends; `joined(split(t)) == t` when the text ends without one.
Lines split(std::string_view text);

/// The text with every `from` turned into `to`.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);

/// The lines with a line end between each two.
std::string joined(const Lines& lines);

/// The text without white space at both ends.
std::string trimmed(std::string_view text);

/// How many characters of white space the line begins with.
std::size_t indent_of(std::string_view line);

}  // namespace weave
