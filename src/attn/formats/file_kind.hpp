/// @file
/// @brief What a file is that was taken for a model, so that its refusal can say what to do with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// A kind of file that is no safetensors file.
struct FileKind {
  std::string name;    ///< such as "a NumPy array (.npy)"
  std::string advice;  ///< what to do with it; empty if there is nothing to say
};

/// Recognises a file.
/// @param start  its first 512 bytes, or all of it if it is shorter
/// @return       what it plainly is; nothing when it may be anything
std::optional<FileKind> file_kind(std::string_view start);

}  // namespace attn
