/// @file
/// @brief Tensors by name in .safetensors files, which Python's libraries for learning machines read and write
/// too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
/// The checksum of safetensors_bytes() is verified where there is one, and taken out of the metadata. A file
/// without one is read if it is somebody else's; a file of ours, whose metadata `format` begins with "attn ", is
/// refused.
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

/// A tensor as the header describes it.
struct SafetensorsEntry {
  std::string dtype;               ///< its type as the format calls it, such as "F32"
  std::vector<std::size_t> shape;  ///< the length along each index
  std::uint64_t begin = 0;         ///< where its data begin, counted from the end of the header
  std::uint64_t end = 0;           ///< and where they end
};

/// The header of a file, checked against the length of the file.
struct SafetensorsHeader {
  std::map<std::string, SafetensorsEntry> tensors;  ///< by name
  std::map<std::string, std::string> metadata;      ///< without the checksum
  std::optional<std::string> checksum;              ///< as it is written, where there is one
};

/// The type that a tensor has after it has been read.
/// @param dtype  as the format calls it, such as "BF16"
/// @return       Tensor::dtype() of what is read, such as "float32"; empty when read_safetensors() refuses the
/// type
std::string_view type_when_read(std::string_view dtype);

/// A .safetensors file of any size, of which no more is read than is asked for. Its tensors may be of any type.
/// The checksum is not verified: that takes all of the data.
class SafetensorsFile {
 public:
  /// Opens a file and reads its header.
  /// @param path  which
  /// @throws InputError saying what is wrong with the file or its header, as read_safetensors() does; types that
  ///         cannot be read are no fault
  explicit SafetensorsFile(const std::filesystem::path& path);

  /// @return its tensors and metadata
  const SafetensorsHeader& header() const { return header_; }

  /// Reads some numbers of a tensor, as read_safetensors() does.
  /// @param tensor  one of the header's
  /// @param from    the place of the first
  /// @param most    how many, if there are as many from there on
  /// @return        the numbers
  /// @throws InputError when its type cannot be read, the file has become shorter, or a bool is neither 0 nor 1
  Tensor::Values values(const std::string& tensor, std::uint64_t from, std::uint64_t most);

 private:
  std::string read(std::uint64_t from, std::size_t count);

  std::string name_;
  std::unique_ptr<std::istream> in_;
  std::uint64_t data_ = 0;  // where the header ends
  SafetensorsHeader header_;
};

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
