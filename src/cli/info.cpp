#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <limits>
#include <numeric>
#include <sstream>

#include "attn/core/errors.hpp"
#include "attn/core/table.hpp"
#include "attn/formats/file_kind.hpp"
#include "attn/formats/model_file.hpp"
#include "attn/formats/safetensors.hpp"
#include "attn/training/checkpoint.hpp"
#include "cli/commands.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

/// Root of the mean square: how large the numbers are. They are read piece by piece.
std::string rms(SafetensorsFile& file, const std::string& tensor) {
  constexpr std::uint64_t piece = std::uint64_t{1} << 16;
  if (type_when_read(file.header().tensors.at(tensor).dtype).empty()) return "-";
  double sum = 0.0;
  std::uint64_t count = 0;
  const auto add = [&](const auto& values) {
    for (const auto value : values) sum += static_cast<double>(value) * static_cast<double>(value);
    count += values.size();
    return values.size() == piece;
  };
  while (std::visit(add, file.values(tensor, count, piece))) {
  }
  return count == 0 ? "-" : fixed(std::sqrt(sum / static_cast<double>(count)), 4);
}

/// A line for each tensor.
std::string list_tensors(SafetensorsFile& file) {
  Table table({"tensor", "shape", "type", "rms"});
  for (const auto& [name, tensor] : file.header().tensors) {
    table.add({printable(name), shape_text(tensor.shape), printable(tensor.dtype), rms(file, name)});
  }
  std::ostringstream text;
  table.print(text);
  return text.str();
}

void print_settings(const SettingTexts& texts) {
  for (const auto& [name, text] : texts) std::cout << "  " << printable(name) << " = " << printable(text) << '\n';
}

void print_model(const fs::path& path, SafetensorsFile& file, bool tensors) {
  ModelFile model = model_without_parameters(file.header(), path.string());
  const std::string list = tensors ? list_tensors(file) : "";
  std::cout << parameter_count(model.config) << " parameters in " << file.header().tensors.size() << " tensors\n";
  print_settings(texts_of(model_settings(model.config)));
  for (const auto& [name, text] : model.notes)
    std::cout << "  (" << printable(name) << ": " << printable(text) << ")\n";
  std::cout << list;
}

/// The rows of numbers: updates, training loss, validation loss.
std::vector<double> read_history(SafetensorsFile& file, const std::string& where) {
  const auto found = file.header().tensors.find("history");
  if (found == file.header().tensors.end()) refuse_input(where, "the tensor history", "none of that name");
  const auto& [dtype, shape, begin, end] = found->second;
  if (dtype != "F64" || shape.size() != 2 || shape[1] != 3) {
    refuse_input(where + ": history", "F64 of shape (n, 3)", dtype + " of shape " + shape_text(shape));
  }
  return std::get<std::vector<double>>(file.values("history", 0, std::numeric_limits<std::uint64_t>::max()));
}

void print_history(const std::vector<double>& history) {
  if (history.empty()) return;
  Table table({"updates", "training loss", "validation loss", "perplexity"});
  for (std::size_t i = 0; i < history.size(); i += 3) {
    table.add({fixed(history[i], 0), fixed(history[i + 1], 4), fixed(history[i + 2], 4),
               fixed(std::exp(history[i + 2]), 4)});
  }
  table.print(std::cout);
}

void print_checkpoint(const fs::path& folder, bool tensors) {
  const std::string where = (folder / "training.safetensors").string();
  SafetensorsFile state(where), weights(folder / "model.safetensors");
  const auto text = [&](const std::string& name) {
    const auto found = state.header().metadata.find(name);
    if (found == state.header().metadata.end()) refuse_input(where, "metadata " + name, "none");
    return found->second;
  };
  if (text("format") != training::checkpoint_format)
    refuse_input(where, "format: " + training::checkpoint_format, text("format"));
  const ModelFile model = model_without_parameters(weights.header(), (folder / "model.safetensors").string());
  const std::vector<double> history = read_history(state, where);
  const std::string list = tensors ? list_tensors(weights) + list_tensors(state) : "";
  std::cout << folder.string() << ": a training after " << printable(text("updates")) << " updates, "
            << printable(text("batch")) << " batches into epoch " << printable(text("epoch")) << "\n"
            << parameter_count(model.config) << " parameters\n";
  const std::string& prefix = training::checkpoint_setting_prefix;
  for (const auto& [name, value] : state.header().metadata) {
    if (name.rfind(prefix, 0) == 0) print_settings({{name.substr(prefix.size()), value}});
  }
  print_history(history);
  std::cout << list;
}

/// Safetensors of anybody.
void print_file(const fs::path& path, SafetensorsFile& file, bool tensors) {
  const std::string list = tensors ? list_tensors(file) : "";
  std::size_t numbers = 0;
  for (const auto& [name, tensor] : file.header().tensors) {
    numbers += std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::size_t{1}, std::multiplies<>());
  }
  std::cout << path.string() << ": " << numbers << " numbers in " << file.header().tensors.size() << " tensors\n";
  print_settings(file.header().metadata);
  std::cout << list;
}

/// Opens a file; one that is plainly something else is refused by what it is.
SafetensorsFile open_file(const fs::path& path) {
  try {
    return SafetensorsFile(path);
  } catch (const InputError&) {
    std::error_code none;
    if (!fs::is_regular_file(path, none)) throw;  // a pipe has been read
    std::array<char, 512> start{};
    std::ifstream in(path, std::ios::binary);
    if (!in) throw;
    in.read(start.data(), start.size());
    const auto kind = file_kind({start.data(), static_cast<std::size_t>(in.gcount())});
    if (!kind) throw;
    refuse_input(path.string(), "a .safetensors file" + (kind->advice.empty() ? "" : " (" + kind->advice + ")"),
                 kind->name);
  }
}

/// The newest checkpoint of a run.
fs::path newest_checkpoint(const fs::path& run) {
  const std::vector<fs::path> all = training::checkpoints(run);
  if (!all.empty()) return all.back();
  const auto is_safetensors = [](const fs::path& path) { return path.extension() == ".safetensors"; };
  std::vector<fs::path> files;
  std::copy_if(fs::directory_iterator(run), fs::directory_iterator(), std::back_inserter(files), is_safetensors);
  refuse_input(run.string(), "a run with a checkpoint, a checkpoint, or a file",
               files.empty() ? "none of these"
                             : "a folder without a checkpoint; name the file in it that is meant, such as " +
                                   std::min_element(files.begin(), files.end())->filename().string());
}

}  // namespace

int info_command(const fs::path& path, bool tensors) {
  if (fs::exists(path / "training.safetensors")) {
    print_checkpoint(path, tensors);
  } else if (fs::is_directory(path)) {
    print_checkpoint(newest_checkpoint(path), tensors);
  } else {
    SafetensorsFile file = open_file(path);
    if (is_model(file.header())) {
      print_model(path, file, tensors);
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
