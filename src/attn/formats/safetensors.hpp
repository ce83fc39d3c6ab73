/// @file
/// @brief Tensors by name in .safetensors files, which Python's libraries for learning machines read and write
/// too.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "attn/core/tensor.hpp"

namespace attn {

/// What such a file holds.
struct Safetensors {
  std::map<std::string, Tensor> tensors;        ///< by name
  std::map<std::string, std::string> metadata;  ///< whatever else there is to say, in words
};

/// Reads a .safetensors file. Tensors of F32, F64, I32, I64 and BOOL stay what they are, F16 and BF16 become
/// float32, which holds each of their numbers; other types are refused. Nothing is believed that the file's own
/// length does not confirm: the data of the tensors must cover the rest of the file, without holes or overlaps.
/// The checksum of safetensors_bytes() is verified where there is one, and taken out of the metadata.
/// @param path  which file
/// @return      its tensors and metadata
/// @throws InputError saying what is wrong with the file
/// @see The section Format of https://github.com/huggingface/safetensors
Safetensors read_safetensors(const std::filesystem::path& path);

/// Reads the bytes of a .safetensors file.
/// @param bytes  the whole file
/// @param name   what to call it when it is refused
/// @return       its tensors and metadata
/// @throws InputError saying what is wrong
Safetensors parse_safetensors(std::string_view bytes, const std::string& name);

/// The bytes of a .safetensors file, laid out as the Python package does it: types of 8 bytes first, then by name,
/// the data starting at a multiple of 8.
///
/// The metadata `attn.checksum` is added: 16 hexadecimal digits of a sum over all that the file says, however it
/// is laid out. It starts as s = 14695981039346656037, and each word w of 64 bits makes it
/// `s = (s ^ w) * 11400714819323198485; s ^= s >> 32`, so that a change in one word is always seen. The words are:
/// how many metadata there are, and of each by name: the name and the text; then of each tensor by name: the name,
/// the type ("F32"), the rank, the lengths of the shape, and the data. Bytes (names, texts, data) are summed up as
/// their count, and then in groups of 8, little-endian, the last filled up with zeros.
/// @param file  tensors and metadata
/// @return      the whole file
/// @throws std::invalid_argument when a shape does not fit its values, a name or a text is not UTF-8, a tensor is
///         called `__metadata__`, or the metadata have an `attn.checksum` already
std::string safetensors_bytes(const Safetensors& file);

/// Writes safetensors_bytes() by write_file().
/// @param path  where
/// @param file  tensors and metadata
/// @throws std::invalid_argument as safetensors_bytes() does
/// @throws InputError when the file cannot be written
void write_safetensors(const std::filesystem::path& path, const Safetensors& file);

}  // namespace attn
