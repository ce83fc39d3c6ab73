/// @file
/// @brief All that a training needs to be told.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/config.hpp"
#include "attn/core/settings.hpp"
#include "attn/training/pairs.hpp"
#include "attn/training/trainer.hpp"

namespace attn::training {

/// A training from its data to its end.
struct Plan {
  TaskOptions task;                    ///< what is learned
  std::size_t pairs = 10000;           ///< how many sentences it learns from
  std::size_t validation_pairs = 200;  ///< how many others it is measured on
  Config model;                        ///< what learns
  TrainerOptions trainer;              ///< how
  std::size_t updates = 1000;          ///< after how many it ends
  std::size_t validate_every = 100;    ///< updates between one validation, and checkpoint, and the next
  std::size_t patience = 0;            ///< how many validations without a better loss it waits for one; 0: all
  std::size_t keep = 3;                ///< how many checkpoints are kept, at least 1
  std::size_t threads = 0;             ///< 0: all there are, or one for a model too small to gain from more
};

/// Its settings, those of the model included. The names and numbers of tokens are the task's business.
/// @param plan  where they live; it must live as long
/// @return      its settings
std::vector<Setting> settings(Plan& plan);

/// @return the names of the presets, from small to large
std::vector<std::string> preset_names();

/// Sizes of well-tried models, and how they are trained.
/// @param name  tiny, small, base or big
/// @return      the settings that it has different from those of a new Plan
/// @throws InputError naming those that there are
SettingTexts preset(std::string_view name);

/// Fills in what follows from the rest, and refuses what cannot be.
/// @param plan  as it was asked for
/// @throws std::invalid_argument naming the settings that do not fit each other
void complete(Plan& plan);

/// @param plan  complete
/// @return      what it learns from: none of its validation_pairs()
Pairs training_pairs(const Plan& plan);

/// @param plan  complete
/// @return      what it is measured on: sentences of every length that are not learned from
Pairs validation_pairs(const Plan& plan);

}  // namespace attn::training
