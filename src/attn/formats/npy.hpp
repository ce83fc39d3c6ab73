/// @file
/// @brief NumPy's .npy files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "attn/core/tensor.hpp"

namespace attn {

/// Reads an array from a .npy file: float32, float64, int32, int64 or bool, little-endian, in C or Fortran order
/// (which is turned into C order). Nothing is believed that the file's own length does not confirm.
/// @param path  which file
/// @return      the array, in row-major order
/// @throws InputError saying what is wrong with the file
/// @see NumPy's format description, numpy.lib.format, versions 1.0 to 3.0
Tensor read_npy(const std::filesystem::path& path);

/// Reads an array from the bytes of a .npy file.
/// @param bytes  the whole file
/// @param name   what to call it when it is refused
/// @return       the array, in row-major order
/// @throws InputError saying what is wrong
Tensor parse_npy(std::string_view bytes, const std::string& name);

/// Writes an array as a .npy file, version 1.0, C order.
/// @param path    where
/// @param tensor  the array
/// @throws InputError when the file cannot be written
void write_npy(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace attn
