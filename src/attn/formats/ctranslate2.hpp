/// @file
/// @brief Models of CTranslate2: model.bin, as OpenNMT's converters write it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "attn/core/config.hpp"
#include "attn/core/matrix.hpp"

namespace attn {

/// A model out of a file: its sizes and choices, and its parameters under the names of parameters().
struct ImportedModel {
  Config config;                             ///< sizes and choices
  std::map<std::string, Matrix> parameters;  ///< by name
};

/// Reads a model.bin of version 2 with the specification TransformerBase or TransformerBig, revision 2, weights of
/// 32 bits: the encoder-decoder of OpenNMT, pre-norm with final norms, nothing tied. Fused matrices are taken
/// apart and turned, so that queries are x W_Q.
/// @param path  the file
/// @return      the model
/// @throws InputError saying what is wrong: not such a file, another version, truncated, a tensor that is missing,
///         unknown, or of the wrong shape
/// @see CTranslate2, https://github.com/OpenNMT/CTranslate2
ImportedModel read_ctranslate2(const std::filesystem::path& path);

/// The same from bytes in memory.
/// @param bytes  the file's content
/// @param name   what to call it when it is refused
/// @return       the model
/// @throws InputError saying what is wrong
ImportedModel parse_ctranslate2(std::string_view bytes, const std::string& name);

}  // namespace attn
