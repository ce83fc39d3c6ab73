/// @file
/// @brief Whole files in and out.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace attn {

/// Reads a whole file.
/// @param path  which
/// @return      its bytes
/// @throws InputError when it is missing, a folder, or cannot be read
std::string read_file(const std::filesystem::path& path);

/// Writes a whole file: aside first, then renamed, so that a full disk never leaves half of one. Makes the
/// folders above it.
/// @param path   where
/// @param bytes  its new content
/// @throws InputError saying what went wrong; the old file, if any, is then still there
void write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace attn
