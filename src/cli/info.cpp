#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>

#include "attn/core/errors.hpp"
#include "attn/core/table.hpp"
#include "attn/formats/model_file.hpp"
#include "attn/formats/safetensors.hpp"
#include "attn/training/checkpoint.hpp"
#include "cli/commands.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

std::size_t size(const Tensor& tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::size_t{1}, std::multiplies<>());
}

/// Root of the mean square: how large the numbers are.
std::string rms(const Tensor& tensor) {
  return std::visit(
      [](const auto& values) -> std::string {
        double sum = 0.0;
        for (const auto value : values) sum += static_cast<double>(value) * static_cast<double>(value);
        return values.empty() ? "-" : fixed(std::sqrt(sum / static_cast<double>(values.size())), 4);
      },
      tensor.values);
}

void print_tensors(const std::map<std::string, Tensor>& tensors) {
  Table table({"tensor", "shape", "type", "rms"});
  for (const auto& [name, tensor] : tensors) {
    table.add({printable(name), shape_text(tensor.shape), std::string(tensor.dtype()), rms(tensor)});
  }
  table.print(std::cout);
}

void print_settings(const SettingTexts& texts) {
  for (const auto& [name, text] : texts) std::cout << "  " << printable(name) << " = " << printable(text) << '\n';
}

void print_model(const ModelFile& model, bool tensors) {
  Config config = model.config;
  std::cout << parameter_count(config) << " parameters in " << model.parameters.size() << " tensors\n";
  print_settings(texts_of(model_settings(config)));
  for (const auto& [name, text] : model.notes)
    std::cout << "  (" << printable(name) << ": " << printable(text) << ")\n";
  if (tensors) print_tensors(model.parameters);
}

void print_checkpoint(const fs::path& folder, bool tensors) {
  const training::Checkpoint checkpoint = training::read_checkpoint(folder);
  std::cout << folder.string() << ": a training after " << checkpoint.progress.updates << " updates, "
            << checkpoint.progress.batch << " batches into epoch " << checkpoint.progress.epoch << "\n"
            << parameter_count(checkpoint.model.config) << " parameters\n";
  print_settings(checkpoint.run.settings);
  Table table({"updates", "training loss", "validation loss", "perplexity"});
  for (const training::Measured& m : checkpoint.run.history) {
    table.add({std::to_string(m.updates), fixed(m.training, 4), fixed(m.validation, 4),
               fixed(std::exp(m.validation), 4)});
  }
  if (!checkpoint.run.history.empty()) table.print(std::cout);
  if (!tensors) return;
  print_tensors(checkpoint.model.parameters);
  print_tensors(checkpoint.tensors);
}

/// Safetensors of anybody.
void print_file(const fs::path& path, const Safetensors& file, bool tensors) {
  std::size_t numbers = 0;
  for (const auto& [name, tensor] : file.tensors) numbers += size(tensor);
  std::cout << path.string() << ": " << numbers << " numbers in " << file.tensors.size() << " tensors\n";
  print_settings(file.metadata);
  if (tensors) print_tensors(file.tensors);
}

}  // namespace

int info_command(const fs::path& path, bool tensors) {
  if (fs::exists(path / "training.safetensors")) {
    print_checkpoint(path, tensors);
  } else if (fs::is_directory(path)) {
    const std::vector<fs::path> all = training::checkpoints(path);
    if (all.empty())
      refuse_input(path.string(), "a run with a checkpoint, a checkpoint, or a file", "none of these");
    print_checkpoint(all.back(), tensors);
  } else {
    const Safetensors file = read_safetensors(path);
    const auto format = file.metadata.find("format");
    if (format != file.metadata.end() && format->second == "attn model 1") {
      print_model(read_model(path), tensors);
    } else {
      print_file(path, file, tensors);
    }
  }
  return 0;
}

int average_command(const fs::path& out, const std::vector<fs::path>& files) {
  if (fs::exists(fs::symlink_status(out))) {  // such as the first of the models, when OUT was forgotten
    refuse_input(out.string(), "the name of a new file", "something that is there");
  }
  std::vector<fs::path> models;
  for (const fs::path& file : files) {
    models.push_back(fs::is_directory(file) ? file / "model.safetensors" : file);
  }
  write_model(out, training::average_models(models));
  std::cout << out.string() << ": the mean of " << models.size()
            << (models.size() == 1 ? " model\n" : " models\n");
  return 0;
}

}  // namespace attn
