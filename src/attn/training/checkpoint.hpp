/// @file
/// @brief A training on disk, so that it can go on as if it had never stopped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "attn/core/settings.hpp"
#include "attn/engine/transformer.hpp"
#include "attn/formats/model_file.hpp"
#include "attn/training/trainer.hpp"

namespace attn::training {

/// The metadata `format` of training.safetensors.
inline const std::string checkpoint_format = "attn training 2";

/// The settings of a training are metadata of training.safetensors; their names begin with this.
inline const std::string checkpoint_setting_prefix = "setting.";

/// What was measured on the way.
struct Measured {
  std::uint64_t updates = 0;  ///< after how many
  double training = 0.0;      ///< the smoothed loss of a token since the last time, with dropout
  double validation = 0.0;    ///< the loss of a token, not smoothed, without dropout
};

/// A run: what a training remembers besides weights and optimiser.
struct Run {
  SettingTexts settings;                                  ///< of its plan
  std::vector<Measured> history;                          ///< one entry for each validation
  double best = std::numeric_limits<double>::infinity();  ///< the lowest validation loss
  std::size_t waited = 0;                                 ///< validations since then
  double loss_sum = 0.0;                                  ///< training loss since the last validation
  std::size_t loss_tokens = 0;                            ///< and of how many tokens
};

/// The weights of a model as they are now.
/// @param model    any
/// @param backend  its backend
/// @param notes    what is to be written beside them
/// @return         ready for write_model()
ModelFile model_file(engine::Transformer& model, engine::Backend& backend, const SettingTexts& notes);

/// Gives a model its weights.
/// @param file     a model of the same sizes
/// @param model    gets them
/// @param backend  its backend
/// @throws std::invalid_argument when a parameter is missing or has another shape
void load(const ModelFile& file, engine::Transformer& model, engine::Backend& backend);

/// What the folder of a checkpoint is called.
/// @param updates  how many there were
/// @return         such as "update-00000100"
std::string checkpoint_name(std::uint64_t updates);

/// Writes a checkpoint: a folder `update-00000100` with model.safetensors and training.safetensors, which appears
/// at once and whole.
/// @param folder   of the run
/// @param model    what is trained
/// @param backend  its backend
/// @param trainer  who trains it
/// @param run      the rest
/// @return         the folder of the checkpoint
/// @throws InputError when it cannot be written; the checkpoints before it are then still there
std::filesystem::path write_checkpoint(const std::filesystem::path& folder, engine::Transformer& model,
                                       engine::Backend& backend, Trainer& trainer, const Run& run);

/// A checkpoint, read and found whole.
struct Checkpoint {
  ModelFile model;                        ///< the weights
  std::map<std::string, Tensor> tensors;  ///< means, squares, perhaps averages
  Progress progress;                      ///< where it stood
  Run run;                                ///< the rest
};

/// Reads a checkpoint.
/// @param folder  such as run/update-00000100
/// @return        all of it
/// @throws InputError saying what is missing, damaged, or does not belong together
Checkpoint read_checkpoint(const std::filesystem::path& folder);

/// Puts a training where a checkpoint says. The same updates follow as if it had never stopped, to the last bit,
/// whatever the number of threads.
/// @param checkpoint  what was read
/// @param model       a model of the same sizes
/// @param backend     its backend
/// @param trainer     made with the same pairs and options
/// @throws InputError when it is another model, or a mean or an average is missing or has another shape
void restore(const Checkpoint& checkpoint, engine::Transformer& model, engine::Backend& backend, Trainer& trainer);

/// The checkpoints of a run.
/// @param folder  of the run; an empty path is the current folder
/// @return        their folders, the oldest first; none if there is no such folder
/// @throws InputError when the folder cannot be read
std::vector<std::filesystem::path> checkpoints(const std::filesystem::path& folder);

/// Refuses a folder in which something has the name of a later checkpoint and is none: it would be in the way when
/// that checkpoint is written.
/// @param folder   of the run
/// @param updates  how many there were
/// @throws InputError naming such a thing, or when the folder cannot be read
void expect_no_strays(const std::filesystem::path& folder, std::uint64_t updates);

/// Removes all checkpoints but the newest, and what a kill left half-written of checkpoints and of the model.
/// @param folder  of the run; an empty path is the current folder
/// @param keep    how many stay
/// @return        a complaint about each that cannot be removed; the others are removed all the same
/// @throws InputError when the folder cannot be read
std::vector<std::string> prune(const std::filesystem::path& folder, std::size_t keep);

/// The mean of models of one shape, number by number. A tied matrix is one parameter and is averaged once.
/// @param files  where they are, at least one
/// @return       the mean, with the settings of the first
/// @throws InputError when they differ in their settings
/// @see Vaswani et al. 2017, section 6.1
ModelFile average_models(const std::vector<std::filesystem::path>& files);

}  // namespace attn::training
