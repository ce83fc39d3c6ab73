/// @file
/// @brief A model in a file: its weights as safetensors, its sizes and choices beside them.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "attn/core/config.hpp"
#include "attn/core/settings.hpp"
#include "attn/core/tensor.hpp"
#include "attn/formats/safetensors.hpp"

namespace attn {

/// A model as a file holds it.
struct ModelFile {
  Config config;                             ///< sizes and choices
  std::map<std::string, Tensor> parameters;  ///< by the names of parameters()
  SettingTexts notes;                        ///< whatever else is to be known about it, such as how it was trained
};

/// Writes a model as safetensors. Its settings are the metadata `model.d_model` and so on, its notes `note.…`.
/// @param path   where
/// @param model  sizes, parameters, notes
/// @throws InputError when it cannot be written; what was there before is then still there
void write_model(const std::filesystem::path& path, const ModelFile& model);

/// Reads a model that write_model() wrote.
/// @param path  where
/// @return      the model; every parameter is there and has its shape
/// @throws InputError saying what is wrong: not such a file, damaged, settings that make no sense, parameters
///         that are missing, unknown, or of another shape
ModelFile read_model(const std::filesystem::path& path);

/// @param header  of any file
/// @return        whether it says that the file is a model of ours
bool is_model(const SafetensorsHeader& header);

/// Reads the settings and notes of a model from the header of its file, without the parameters.
/// @param header  of the file
/// @param where   what to call it when it is refused
/// @return        sizes, choices and notes
/// @throws InputError as read_model() does, except for faults that only the data show
ModelFile model_without_parameters(const SafetensorsHeader& header, const std::string& where);

}  // namespace attn
