#include "attn/formats/model_file.hpp"

#include "attn/core/errors.hpp"
#include "attn/formats/safetensors.hpp"

namespace attn {
namespace {

const std::string setting_prefix = "model.", note_prefix = "note.";
constexpr const char* format_name = "attn model 1";

/// The metadata whose names begin so, without that beginning.
SettingTexts below(const SettingTexts& metadata, const std::string& prefix) {
  SettingTexts texts;
  for (const auto& [name, text] : metadata) {
    if (name.rfind(prefix, 0) == 0) texts[name.substr(prefix.size())] = text;
  }
  return texts;
}

void expect_format(const SettingTexts& metadata, const std::string& where) {
  const auto found = metadata.find("format");
  if (found != metadata.end() && found->second == format_name) return;
  refuse_input(where, "a model of attn, whose metadata say format: " + std::string(format_name),
               found == metadata.end() ? "none" : found->second);
}

Config config_of(const SettingTexts& metadata, std::size_t tensors, const std::string& where) {
  Config config;
  apply_all(model_settings(config), below(metadata, setting_prefix), where);
  // Before a list of all parameters is made: a damaged number of layers must not fill the memory.
  if (config.encoder_layers > tensors || config.decoder_layers > tensors) {
    refuse_input(where, "a tensor at least for each layer", std::to_string(tensors) + " tensors");
  }
  try {
    check(config);
  } catch (const std::invalid_argument& error) {
    throw InputError(where + ": " + error.what());
  }
  return config;
}

/// The type and the shape of a tensor.
using Form = std::pair<std::string, std::vector<std::size_t>>;

/// Holds all tensors of a file against what such a model has.
void expect_parameters(const Config& config, std::map<std::string, Form> tensors, const std::string& where) {
  for (const Parameter& p : parameters(config)) {
    const auto found = tensors.extract(p.name);
    if (found.empty()) refuse_input(where, "the parameter " + p.name, "none of that name");
    const auto& [dtype, shape] = found.mapped();
    const std::vector<std::size_t> wanted = {p.rows, p.columns};
    if (dtype == "float32" && shape == wanted) continue;
    refuse_input(where + ": " + p.name, "float32 of shape " + shape_text(wanted),
                 dtype + " of shape " + shape_text(shape));
  }
  if (!tensors.empty()) refuse_input(where, "the parameters of such a model only", tensors.begin()->first);
}

/// All about a model but its numbers.
ModelFile model_of(const SettingTexts& metadata, const std::map<std::string, Form>& tensors,
                   const std::string& where) {
  expect_format(metadata, where);
  ModelFile model;
  model.config = config_of(metadata, tensors.size(), where);
  model.notes = below(metadata, note_prefix);
  expect_parameters(model.config, tensors, where);
  return model;
}

}  // namespace

void write_model(const std::filesystem::path& path, const ModelFile& model) {
  Safetensors file;
  file.tensors = model.parameters;
  file.metadata["format"] = format_name;
  Config config = model.config;
  for (const auto& [name, text] : texts_of(model_settings(config))) file.metadata[setting_prefix + name] = text;
  for (const auto& [name, text] : model.notes) file.metadata[note_prefix + name] = text;
  write_safetensors(path, file);
}

ModelFile read_model(const std::filesystem::path& path) {
  Safetensors file = read_safetensors(path);
  std::map<std::string, Form> forms;
  for (const auto& [name, tensor] : file.tensors) forms[name] = {std::string(tensor.dtype()), tensor.shape};
  ModelFile model = model_of(file.metadata, forms, path.string());
  model.parameters = std::move(file.tensors);
  return model;
}

bool is_model(const SafetensorsHeader& header) {
  const auto format = header.metadata.find("format");
  return format != header.metadata.end() && format->second == format_name;
}

ModelFile model_without_parameters(const SafetensorsHeader& header, const std::string& where) {
  std::map<std::string, Form> forms;
  for (const auto& [name, tensor] : header.tensors) {
    const std::string_view type = type_when_read(tensor.dtype);
    forms[name] = {std::string(type.empty() ? tensor.dtype : type), tensor.shape};
  }
  return model_of(header.metadata, forms, where);
}

}  // namespace attn
