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

Config config_of(const Safetensors& file, const std::string& where) {
  Config config;
  apply(model_settings(config), below(file.metadata, setting_prefix), where);
  // Before a list of all parameters is made: a damaged number of layers must not fill the memory.
  if (config.encoder_layers > file.tensors.size() || config.decoder_layers > file.tensors.size()) {
    refuse_input(where, "a tensor at least for each layer", std::to_string(file.tensors.size()) + " tensors");
  }
  try {
    check(config);
  } catch (const std::invalid_argument& error) {
    throw InputError(where + ": " + error.what());
  }
  return config;
}

void expect_parameters(const ModelFile& model, const std::string& where) {
  const std::vector<Parameter> wanted = parameters(model.config);
  for (const Parameter& p : wanted) {
    const auto found = model.parameters.find(p.name);
    if (found == model.parameters.end()) refuse_input(where, "the parameter " + p.name, "none of that name");
    const Tensor& tensor = found->second;
    const std::vector<std::size_t> shape = {p.rows, p.columns};
    const bool floats = std::holds_alternative<std::vector<float>>(tensor.values);
    if (tensor.shape == shape && floats) continue;
    refuse_input(where + ": " + p.name, "float32 of shape " + shape_text(shape),
                 std::string(tensor.dtype()) + " of shape " + shape_text(tensor.shape));
  }
  if (model.parameters.size() == wanted.size()) return;
  std::map<std::string, Tensor> rest = model.parameters;
  for (const Parameter& p : wanted) rest.erase(p.name);
  refuse_input(where, "the parameters of such a model only", rest.begin()->first);
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
  expect_format(file.metadata, path.string());
  ModelFile model;
  model.config = config_of(file, path.string());
  model.notes = below(file.metadata, note_prefix);
  model.parameters = std::move(file.tensors);
  expect_parameters(model, path.string());
  return model;
}

}  // namespace attn
