#include "attn/training/checkpoint.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>

#include "attn/core/errors.hpp"
#include "attn/core/files.hpp"
#include "attn/formats/safetensors.hpp"

namespace attn::training {
namespace {

namespace fs = std::filesystem;

const std::string folder_prefix = "update-";

/// A row of floats, parameter by parameter.
void add_row(std::map<std::string, Tensor>& tensors, const std::string& prefix, engine::Transformer& model,
             engine::Backend& backend, engine::View row) {
  for (const Parameter& p : parameters(model.config())) {
    std::vector<float> numbers(p.size());
    backend.download(model.parameters().place_in(row, p.name), numbers);
    tensors[prefix + p.name] = {{p.rows, p.columns}, std::move(numbers)};
  }
}

void set_row(const std::map<std::string, Tensor>& tensors, const std::string& prefix, engine::Transformer& model,
             engine::Backend& backend, engine::View row) {
  for (const Parameter& p : parameters(model.config())) {
    const auto found = tensors.find(prefix + p.name);
    if (found == tensors.end()) refuse_input("checkpoint", "the tensor " + prefix + p.name, "none of that name");
    const auto* numbers = std::get_if<std::vector<float>>(&found->second.values);
    if (numbers == nullptr || found->second.shape != std::vector<std::size_t>{p.rows, p.columns}) {
      refuse_input("checkpoint: " + prefix + p.name, "float32 of shape " + shape_text({p.rows, p.columns}),
                   std::string(found->second.dtype()) + " of shape " + shape_text(found->second.shape));
    }
    backend.upload(model.parameters().place_in(row, p.name), *numbers);
  }
}

Tensor history_tensor(const std::vector<Measured>& history) {
  std::vector<double> numbers;
  for (const Measured& m : history) {
    numbers.insert(numbers.end(), {static_cast<double>(m.updates), m.training, m.validation});
  }
  return {{history.size(), 3}, std::move(numbers)};
}

std::vector<Measured> history_of(const Tensor& tensor, const std::string& where) {
  const auto* numbers = std::get_if<std::vector<double>>(&tensor.values);
  if (numbers == nullptr || tensor.shape.size() != 2 || tensor.shape[1] != 3) {
    refuse_input(where + ": history", "float64 of shape (n, 3)",
                 std::string(tensor.dtype()) + " of shape " + shape_text(tensor.shape));
  }
  std::vector<Measured> history;
  for (std::size_t i = 0; i < tensor.shape[0]; ++i) {
    const double updates = (*numbers)[3 * i];
    if (!(updates >= 0.0 && updates < 1e15)) {
      refuse_input(where + ": history", "numbers of updates", exact_text(updates));
    }
    history.push_back({static_cast<std::uint64_t>(updates), (*numbers)[3 * i + 1], (*numbers)[3 * i + 2]});
  }
  return history;
}

/// The numbers of a run and its progress, bound to where they live.
std::vector<Setting> state_settings(Progress& progress, Run& run, std::size_t& epoch) {
  constexpr double any = std::numeric_limits<double>::infinity();
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max(), most_epochs = 0xFFFFFFFF;
  return {seed_setting("updates", "", progress.updates),
          count_setting("epoch", "", epoch, 0, most_epochs),
          count_setting("batch", "", progress.batch),
          count_setting("waited", "", run.waited),
          number_setting("loss_sum", "", run.loss_sum, any),
          count_setting("loss_tokens", "", run.loss_tokens, 0, most)};
}

std::uint64_t number_of(const std::string& name) {
  return name.rfind(folder_prefix, 0) == 0 ? std::strtoull(name.c_str() + folder_prefix.size(), nullptr, 10) : 0;
}

bool has_our_name(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == checkpoint_name(number_of(name));
}

/// Without training.safetensors a folder is no checkpoint, whatever it is called.
bool is_checkpoint(const fs::path& path) {
  return has_our_name(path) && fs::exists(path / "training.safetensors");
}

/// Lists a folder, in no particular order.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code error;
  fs::directory_iterator entry(folder.empty() ? fs::path(".") : folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    all.push_back(folder / entry->path().filename());
  }
  const bool none = error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  if (error && !none) refuse_input(folder.string(), "a folder that can be read", error.message());
  return all;
}

/// model.safetensors or model.safetensors.1, ...: what write_file() puts aside, without ".part".
bool is_part_of_model(const std::string& name) {
  const std::string model = "model.safetensors";
  if (name.rfind(model, 0) != 0) return false;
  const std::string rest = name.substr(model.size());
  return rest.empty() || (rest[0] == '.' && rest.find_first_not_of("0123456789", 1) == std::string::npos);
}

/// What tells the weights of one model from those of another (Fowler, Noll, Vo: FNV-1a).
std::string fingerprint(const ModelFile& model) {
  std::uint64_t hash = 14695981039346656037u;
  for (const auto& [name, tensor] : model.parameters) {
    for (const float number : std::get<std::vector<float>>(tensor.values)) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &number, sizeof bits);
      hash = (hash ^ bits) * 1099511628211u;
    }
  }
  return std::to_string(hash);
}

double lowest(const std::vector<Measured>& history) {
  double best = std::numeric_limits<double>::infinity();
  for (const Measured& m : history) best = std::min(best, m.validation);
  return best;
}

}  // namespace

std::string checkpoint_name(std::uint64_t updates) {
  const std::string digits = std::to_string(updates);
  return folder_prefix + std::string(digits.size() < 8 ? 8 - digits.size() : 0, '0') + digits;
}

ModelFile model_file(engine::Transformer& model, engine::Backend& backend, const SettingTexts& notes) {
  ModelFile file{model.config(), {}, notes};
  add_row(file.parameters, "", model, backend, model.parameters().values());
  return file;
}

void load(const ModelFile& file, engine::Transformer& model, engine::Backend& backend) {
  set_row(file.parameters, "", model, backend, model.parameters().values());
}

fs::path write_checkpoint(const fs::path& folder, engine::Transformer& model, engine::Backend& backend,
                          Trainer& trainer, const Run& run) {
  Progress progress = trainer.progress();
  Run state = run;
  std::size_t epoch = progress.epoch;
  Safetensors file;
  file.metadata = texts_of(state_settings(progress, state, epoch));
  file.metadata["format"] = checkpoint_format;
  const ModelFile weights = model_file(model, backend, {{"updates", std::to_string(progress.updates)}});
  file.metadata["model"] = fingerprint(weights);
  for (const auto& [name, text] : run.settings) file.metadata[checkpoint_setting_prefix + name] = text;
  file.tensors["history"] = history_tensor(run.history);
  add_row(file.tensors, "mean.", model, backend, trainer.adam().mean());
  add_row(file.tensors, "square.", model, backend, trainer.adam().square());
  if (trainer.average().data != nullptr) add_row(file.tensors, "average.", model, backend, trainer.average());

  const fs::path path = folder / checkpoint_name(progress.updates);
  write_folder(path, [&](const fs::path& aside) {
    write_model(aside / "model.safetensors", weights);
    write_safetensors(aside / "training.safetensors", file);
  });
  return path;
}

Checkpoint read_checkpoint(const fs::path& folder) {
  const fs::path path = folder / "training.safetensors";
  Safetensors file = read_safetensors(path);
  if (file.metadata["format"] != checkpoint_format) {
    refuse_input(path.string(), "a training of attn, whose metadata say format: " + std::string(checkpoint_format),
                 file.metadata["format"].empty() ? "none" : file.metadata["format"]);
  }
  Checkpoint checkpoint;
  SettingTexts state;
  for (const auto& [name, text] : file.metadata) {
    if (name.rfind(checkpoint_setting_prefix, 0) == 0) {
      checkpoint.run.settings[name.substr(checkpoint_setting_prefix.size())] = text;
    } else if (name != "format" && name != "model") {
      state[name] = text;
    }
  }
  std::size_t epoch = 0;
  const std::vector<Setting> numbers = state_settings(checkpoint.progress, checkpoint.run, epoch);
  for (const Setting& number : numbers) {
    if (state.count(number.name) == 0) refuse_input(path.string(), "metadata " + number.name, "none");
  }
  apply(numbers, state, path.string());
  checkpoint.progress.epoch = static_cast<std::uint32_t>(epoch);
  checkpoint.model = read_model(folder / "model.safetensors");
  if (checkpoint.model.notes["updates"] != std::to_string(checkpoint.progress.updates)) {
    refuse_input(folder.string(), "a model after " + std::to_string(checkpoint.progress.updates) + " updates",
                 "one after " + checkpoint.model.notes["updates"]);
  }
  if (file.metadata["model"] != fingerprint(checkpoint.model)) {
    refuse_input(folder.string(), "the model that was trained here", "another one");
  }
  if (file.tensors.count("history") == 0) refuse_input(path.string(), "the tensor history", "none of that name");
  checkpoint.run.history = history_of(file.tensors.at("history"), path.string());
  checkpoint.run.best = lowest(checkpoint.run.history);
  checkpoint.tensors = std::move(file.tensors);
  return checkpoint;
}

void restore(const Checkpoint& checkpoint, engine::Transformer& model, engine::Backend& backend,
             Trainer& trainer) {
  Config now = model.config(), then = checkpoint.model.config;
  const SettingTexts wanted = texts_of(model_settings(now));
  for (const auto& [name, text] : texts_of(model_settings(then))) {
    if (wanted.at(name) != text) refuse_input("checkpoint: model", name + " = " + wanted.at(name), text);
  }
  load(checkpoint.model, model, backend);
  set_row(checkpoint.tensors, "mean.", model, backend, trainer.adam().mean());
  set_row(checkpoint.tensors, "square.", model, backend, trainer.adam().square());
  if (trainer.average().data != nullptr) {
    set_row(checkpoint.tensors, "average.", model, backend, trainer.average());
  }
  trainer.resume_at(checkpoint.progress);
}

std::vector<fs::path> checkpoints(const fs::path& folder) {
  std::vector<fs::path> all = entries(folder);
  all.erase(std::remove_if(all.begin(), all.end(), [](const fs::path& path) { return !is_checkpoint(path); }),
            all.end());
  std::sort(all.begin(), all.end(), [](const fs::path& a, const fs::path& b) {
    return number_of(a.filename().string()) < number_of(b.filename().string());
  });
  return all;
}

void expect_no_strays(const fs::path& folder, std::uint64_t updates) {
  for (const fs::path& path : entries(folder)) {
    if (!has_our_name(path) || is_checkpoint(path) || number_of(path.filename().string()) <= updates) continue;
    refuse_input(path.string(), "a checkpoint, or nothing of that name",
                 std::string(fs::is_directory(path) ? "a folder without training.safetensors" : "a file") +
                     ", which has to be moved away or removed first");
  }
}

std::vector<std::string> prune(const fs::path& folder, std::size_t keep) {
  std::vector<std::string> complaints;
  for (const fs::path& path : entries(folder)) {
    std::error_code error;
    const fs::path whole = path.stem();
    const bool checkpoint = has_our_name(whole) && fs::is_directory(path, error);
    const bool ours = checkpoint || (is_part_of_model(whole.string()) && fs::is_regular_file(path, error));
    if (!ours || path.extension() != ".part") continue;
    fs::remove_all(path, error);
    if (error)
      complaints.push_back(path.string() + ": wanted a leftover that can be removed, got " + error.message());
  }
  const std::vector<fs::path> all = checkpoints(folder);
  for (std::size_t i = 0; i + keep < all.size(); ++i) {
    try {
      remove_folder(all[i]);
    } catch (const InputError& error) {
      complaints.emplace_back(error.what());
    }
  }
  return complaints;
}

ModelFile average_models(const std::vector<fs::path>& files) {
  if (files.empty()) refuse("average_models", "at least one model", "none");
  ModelFile mean = read_model(files[0]);
  mean.notes = {{"average_of", std::to_string(files.size())}};
  std::map<std::string, std::vector<double>> sums;
  for (const fs::path& path : files) {
    ModelFile model = read_model(path);
    const SettingTexts wanted = texts_of(model_settings(mean.config));
    for (const auto& [name, text] : texts_of(model_settings(model.config))) {
      if (wanted.at(name) != text) refuse_input(path.string(), name + " = " + wanted.at(name), text);
    }
    for (const auto& [name, tensor] : model.parameters) {
      const auto& numbers = std::get<std::vector<float>>(tensor.values);
      if (!std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); })) {
        refuse_input(path.string() + ": " + name, "numbers", "NaN or infinity");
      }
      std::vector<double>& sum = sums[name];
      sum.resize(numbers.size());
      std::transform(sum.begin(), sum.end(), numbers.begin(), sum.begin(), std::plus<>());
    }
  }
  for (auto& [name, tensor] : mean.parameters) {
    auto& numbers = std::get<std::vector<float>>(tensor.values);
    const std::vector<double>& sum = sums.at(name);
    const auto count = static_cast<double>(files.size());
    std::transform(sum.begin(), sum.end(), numbers.begin(),
                   [&](double s) { return static_cast<float>(s / count); });
  }
  return mean;
}

}  // namespace attn::training
