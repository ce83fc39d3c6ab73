#include "attn/training/plan.hpp"

#include <omp.h>

#include <limits>
#include <utility>

#include "attn/core/errors.hpp"

namespace attn::training {
namespace {

constexpr std::size_t most_threads = 4096;
constexpr std::size_t worth_sharing = std::size_t{1} << 17;  // numbers of a batch, as one layer passes them on
constexpr double any = std::numeric_limits<double>::infinity();

const std::vector<std::pair<std::string, SettingTexts>>& presets() {
  static const std::vector<std::pair<std::string, SettingTexts>> all = {
      {"tiny",
       {{"d_model", "32"},
        {"d_ff", "64"},
        {"h", "2"},
        {"encoder_layers", "1"},
        {"decoder_layers", "1"},
        {"dropout", "0"},
        {"label_smoothing", "0.1"},
        {"warmup", "400"},
        {"tokens", "1024"},
        {"average", "0.99"},
        {"updates", "4000"},
        {"validate_every", "250"}}},
      {"small",
       {{"d_model", "128"},
        {"d_ff", "512"},
        {"h", "4"},
        {"encoder_layers", "3"},
        {"decoder_layers", "3"},
        {"dropout", "0.1"},
        {"label_smoothing", "0.1"},
        {"warmup", "1000"},
        {"tokens", "2048"},
        {"average", "0.99"},
        {"updates", "10000"},
        {"validate_every", "500"}}},
      {"base", {{"dropout", "0.1"}, {"label_smoothing", "0.1"}, {"warmup", "4000"}, {"updates", "100000"}}},
      {"big",
       {{"d_model", "1024"},
        {"d_ff", "4096"},
        {"h", "16"},
        {"dropout", "0.3"},
        {"label_smoothing", "0.1"},
        {"warmup", "4000"},
        {"updates", "300000"}}},
  };
  return all;
}

bool belongs_to_the_task(const std::string& name) {
  return name == "vocabulary" || name == "target_vocabulary" || name == "pad" || name == "bos" || name == "eos";
}

void add_task(std::vector<Setting>& all, Plan& plan) {
  all.push_back({"task", "what is learned: copy or reverse", [&plan] { return name(plan.task.task); },
                 [&plan](const std::string& text) { plan.task.task = task(text); }});
  all.push_back(count_setting("letters", "how many different letters there are", plan.task.letters, 1,
                              std::size_t{1} << 20));
  all.push_back(
      count_setting("shortest", "letters of a sentence at least", plan.task.shortest, 1, std::size_t{1} << 20));
  all.push_back(
      count_setting("longest", "letters of a sentence at most", plan.task.longest, 1, std::size_t{1} << 20));
  all.push_back(count_setting("pairs", "sentences to learn from", plan.pairs, 1));
  all.push_back(count_setting("validation_pairs", "other sentences to measure on", plan.validation_pairs, 1));
}

void add_training(std::vector<Setting>& all, Plan& plan) {
  TrainerOptions& trainer = plan.trainer;
  all.push_back(seed_setting("seed", "of the first weights, the sentences, dropout and the order", trainer.seed));
  all.push_back(count_setting("updates", "how many there are", plan.updates, 1));
  all.push_back(count_setting("tokens", "of a batch at most", trainer.tokens, 1));
  all.push_back(
      count_setting("accumulate", "batches that make one update", trainer.accumulate, 1, std::size_t{1} << 20));
  all.push_back(number_setting("dropout", "the share that is dropped", trainer.dropout, 1.0));
  all.push_back(number_setting("label_smoothing", "the share that is taken from the right answer",
                               trainer.loss.label_smoothing, 1.0));
  all.push_back(count_setting("warmup", "updates in which the learning rate rises", trainer.schedule.warmup, 1));
  all.push_back(flag_setting("warms_up", "whether it rises at all", trainer.schedule.warms_up));
  all.push_back(number_setting("rate_scale", "the paper's learning rate times this", trainer.schedule.scale, any));
  all.push_back(
      number_setting("beta_1", "Adam's share of the mean gradient that is kept", trainer.adam.beta_1, 1.0));
  all.push_back(
      number_setting("beta_2", "Adam's share of the mean square that is kept", trainer.adam.beta_2, 1.0));
  all.push_back(number_setting("adam_epsilon", "what Adam adds to the root", trainer.adam.epsilon, any));
  all.push_back(number_setting("longest_gradient", "a longer one is shortened to this; 0: none is",
                               trainer.adam.longest_gradient, any));
  all.push_back(number_setting("average", "what a moving average of the weights keeps of itself; 0: no average",
                               trainer.average, 1.0));
  all.push_back(count_setting("validate_every", "updates between two validations, each with a checkpoint",
                              plan.validate_every, 1));
  all.push_back(
      count_setting("patience", "ends after so many validations that are no better; 0: never", plan.patience));
  all.push_back(count_setting("threads", "0: all there are, or one for a model too small to gain from more",
                              plan.threads, 0, most_threads));
  all.push_back(count_setting("keep", "how many checkpoints are kept", plan.keep, 1));
}

}  // namespace

std::vector<Setting> settings(Plan& plan) {
  std::vector<Setting> all;
  add_task(all, plan);
  for (Setting& setting : all) setting.group = "Task";
  for (Setting& setting : model_settings(plan.model)) {
    if (!belongs_to_the_task(setting.name)) all.push_back(std::move(setting));
  }
  const std::size_t before = all.size();
  add_training(all, plan);
  for (std::size_t i = before; i < all.size(); ++i) all[i].group = "Training";
  return all;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const auto& [name, texts] : presets()) names.push_back(name);
  return names;
}

SettingTexts preset(std::string_view name) {
  std::string names;
  for (const auto& [known, texts] : presets()) {
    if (known == name) return texts;
    names += (names.empty() ? "" : ", ") + known;
  }
  refuse_input("preset", "one of " + names, name);
}

void complete(Plan& plan) {
  plan.model.vocabulary = static_cast<std::size_t>(first_letter) + plan.task.letters;
  plan.trainer.schedule.d_model = plan.model.d_model;
  plan.trainer.loss.smoothing = plan.model.dialect.smoothing;
  check(plan.model);
  if (plan.task.longest < plan.task.shortest) {
    refuse("longest", "at least shortest = " + std::to_string(plan.task.shortest),
           std::to_string(plan.task.longest));
  }
  const std::size_t longest = plan.task.longest + 1;  // EOS
  if (plan.trainer.tokens < longest) {
    refuse("tokens", "at least " + std::to_string(longest) + ", as the longest sentence has with its EOS",
           std::to_string(plan.trainer.tokens));
  }
  if (plan.model.learned_positions > 0 && plan.model.learned_positions < longest) {
    refuse("learned_positions",
           "at least " + std::to_string(longest) + ", as the longest sentence has with its EOS",
           std::to_string(plan.model.learned_positions));
  }
  if (static_cast<float>(plan.trainer.adam.epsilon) < std::numeric_limits<float>::min()) {
    refuse("adam_epsilon", "a number that a float can hold, such as 1e-9", exact_text(plan.trainer.adam.epsilon));
  }
  plan.trainer.schedule.rate(1);
  if (plan.threads > 0) return;
  const bool small = plan.trainer.tokens * plan.model.d_model < worth_sharing;
  plan.threads = small ? 1 : static_cast<std::size_t>(omp_get_max_threads());
}

Pairs training_pairs(const Plan& plan) {
  return make_pairs(plan.task, plan.pairs, 2 * plan.trainer.seed, validation_pairs(plan));
}

Pairs validation_pairs(const Plan& plan) {
  return held_out_pairs(plan.task, plan.validation_pairs, 2 * plan.trainer.seed + 1);
}

}  // namespace attn::training
