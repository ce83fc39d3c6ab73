// The trainings of this chapter: each follows the preset "tiny", but for the settings that are named.
#pragma once

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "attn/core/random.hpp"
#include "attn/core/table.hpp"
#include "attn/engine/backend/cpu.hpp"
#include "attn/reference/transformer.hpp"
#include "attn/training/plan.hpp"
#include "attn/translation/greedy.hpp"

namespace attn {

/// What --updates says: fewer updates for every training, or nothing.
inline std::string fewer_updates;

/// The preset "tiny" with some changes.
inline training::Plan plan_with(const SettingTexts& changes) {
  training::Plan plan;
  SettingTexts texts = training::preset("tiny");
  for (const auto& [name, text] : changes) texts[name] = text;
  apply(training::settings(plan), texts, "this chapter");
  if (!fewer_updates.empty()) apply(training::settings(plan), {{"updates", fewer_updates}}, "--updates");
  complete(plan);
  return plan;
}

/// Where a training stood, and how well it did.
struct Station {
  std::size_t updates = 0;
  double training = 0.0;    // the loss of a token since the last station, smoothed and with dropout as it is
  double validation = 0.0;  // the loss of a token of unseen sentences
  double exact = 0.0;       // the share of unseen sentences that come out right, letter for letter
};

/// A line on standard error for those who wait; on a terminal in place of the one before.
inline void show_progress(const std::string& words) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  std::cerr << (terminal ? "\r\033[K" : "") << words << (terminal || words.empty() ? "" : "\n") << std::flush;
}

/// A model that learns a plan.
class Learner {
 public:
  explicit Learner(const training::Plan& plan)
      : plan_(plan),
        backend_(engine::make_cpu_backend()),
        model_(plan.model, *backend_),
        seen_(training_pairs(plan)),
        unseen_(validation_pairs(plan)) {
    omp_set_num_threads(static_cast<int>(plan.threads));
    Random random(plan.trainer.seed);
    model_.parameters().set([&](const Parameter& parameter) { return initial_value(parameter, random); });
  }

  const training::Plan& plan() const { return plan_; }
  engine::Backend& backend() { return *backend_; }
  engine::Transformer& model() { return model_; }
  const training::Pairs& seen() const { return seen_; }
  const training::Pairs& unseen() const { return unseen_; }
  const std::vector<Station>& stations() const { return stations_; }
  const Station& end() const { return stations_.back(); }

  // [learn]
  /// Learns, and stops eight times to be measured, each time after twice as many updates as before. In the end it
  /// has its averaged weights, if there is an average.
  void learn(const std::string& name) {
    training::Trainer trainer(model_, *backend_, seen_, plan_.trainer);
    for (int halvings = 7; halvings >= 0; --halvings) {
      engine::Loss since;
      const std::size_t goal = std::max<std::size_t>(1, plan_.updates >> halvings);
      while (trainer.progress().updates < goal) {
        const training::Update update = trainer.update();
        since.sum += update.loss.sum, since.tokens += update.loss.tokens;
      }
      trainer.swap_average();
      const double exact = translation::exact_match(model_, unseen_.sources, unseen_.targets);
      stations_.push_back({goal, since.sum / static_cast<double>(std::max<std::size_t>(1, since.tokens)),
                           validation_loss(), exact});
      if (halvings > 0) trainer.swap_average();
      report(name, end());
    }
  }
  // [learn]

  /// The loss of a token of unseen sentences, not smoothed.
  double validation_loss() { return training::validate(model_, unseen_).loss; }

  /// The same model in the reference, where every tensor can be seen.
  Transformer reference() const {
    return make_transformer(plan_.model, [&](const Parameter& p) { return model_.parameters().value(p.name); });
  }

 private:
  void report(const std::string& name, const Station& at) const {
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start_;
    if (time.count() < 2.0) return;
    const bool over = at.updates == plan_.updates;
    show_progress(over ? ""
                       : name + ": " + std::to_string(at.updates) + " of " + std::to_string(plan_.updates) +
                             " updates, loss " + fixed(at.training, 2));
  }

  training::Plan plan_;
  std::unique_ptr<engine::Backend> backend_;
  mutable engine::Transformer model_;
  training::Pairs seen_, unseen_;
  std::vector<Station> stations_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// For how many of the tokens that a decoder reads, that token itself is the likeliest to come next.
inline double share_said_again(const engine::Batch& batch, const std::vector<float>& logits) {
  const std::vector<int>& read = batch.input.tokens;
  const std::size_t V = logits.size() / read.size();
  double again = 0.0;
  for (std::size_t i = 0; i < read.size(); ++i) {
    const auto row = logits.begin() + static_cast<std::ptrdiff_t>(i * V);
    again += std::max_element(row, row + static_cast<std::ptrdiff_t>(V)) - row == read[i] ? 1.0 : 0.0;
  }
  return again / static_cast<double>(read.size());
}

/// What a model does before its first update.
struct Untrained {
  double loss = 0.0;   // of a token
  double again = 0.0;  // how often its likeliest token is the one that it has just read
};

/// The mean of ten models whose embeddings are drawn with this deviation.
inline Untrained untrained(const training::Plan& plan, double deviation) {
  Learner learner(plan);
  const engine::Batch batch = engine::pack(plan.model, learner.unseen().sources, learner.unseen().targets);
  Untrained mean;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Random random(seed);
    learner.model().parameters().set([&](const Parameter& p) {
      const bool is_embedding = p.kind == Parameter::Kind::embedding;
      return is_embedding ? random.normal_matrix(p.rows, p.columns, deviation) : initial_value(p, random);
    });
    mean.loss += learner.validation_loss() / 10;
    mean.again += share_said_again(batch, learner.model().logits(batch)) / 10;
  }
  return mean;
}

}  // namespace attn
