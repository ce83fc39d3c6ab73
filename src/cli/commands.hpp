// The commands of `attn`, one file each. Every one returns its exit status.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attn/core/settings.hpp"

namespace attn {

/// `attn check CASE DIR`: holds the .npy files of a folder against a golden case.
int check_command(const std::string& case_name, const std::filesystem::path& folder,
                  const std::filesystem::path& golden);

/// `attn check --list`: the cases there are.
int list_command(const std::filesystem::path& golden);

/// `attn doctor`: what is here, and what to install.
int doctor_command();

/// Shows the switches of all dialects.
int list_dialects_command();

/// The sentences on which two dialects are compared.
struct DialectsInput {
  std::string source = "the animal did not cross the street";
  std::string target = "it was too tired";
  std::uint64_t seed = 1;
};

/// Shows how two dialects differ, and by how much on the same weights and sentences.
int dialects_command(const std::string& a, const std::string& b, const DialectsInput& input);

/// What `attn bench` measures.
struct BenchOptions {
  std::vector<std::size_t> tokens = {512, 1024, 4096};  ///< target tokens of a batch
  int threads = 0;                                      ///< the most threads; 0: as many as there are
  bool all_threads_only = false;                        ///< not one thread too
  std::size_t runs = 3;                                 ///< of each kind
  std::string json;                                     ///< a file for every figure, or empty
};

/// What `attn train` was asked for.
struct TrainOptions {
  std::string preset;            ///< a name, or empty
  std::filesystem::path config;  ///< a file of settings, or empty
  SettingTexts texts;            ///< settings that were given as options
  std::filesystem::path folder;  ///< where the run goes, or empty for a name after the task
  std::filesystem::path resume;  ///< a run, or a checkpoint, that goes on; or empty
};

/// `attn train`: trains a model, or goes on with it.
int train_command(const TrainOptions& options);

/// `attn info`: what is in a model, a checkpoint, or a run.
int info_command(const std::filesystem::path& path, bool tensors);

/// `attn average`: the mean of several models.
int average_command(const std::filesystem::path& out, const std::vector<std::filesystem::path>& files);

/// `attn bench`: how fast the base model runs and trains here, against the same matrix products alone.
int bench_command(const BenchOptions& options);

}  // namespace attn
