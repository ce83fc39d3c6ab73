// The two built-in tasks are learned to the last letter, whatever the seed and the length.
#include <omp.h>

#include "attn/core/random.hpp"
#include "attn/engine/backend/cpu.hpp"
#include "attn/training/plan.hpp"
#include "attn/translation/greedy.hpp"
#include "catch.hpp"

using namespace attn;
using namespace attn::training;

namespace {

/// Sentences of every length: all that have one letter, and 100 of each other length, whether they were seen or
/// not.
std::vector<Pairs> by_length(const TaskOptions& task) {
  std::vector<Pairs> all(1);
  for (std::size_t i = 0; i < task.letters; ++i) {
    const Tokens sentence = {first_letter + static_cast<int>(i), 2};
    all[0].sources.push_back(sentence), all[0].targets.push_back(sentence);
  }
  for (std::size_t length = 2; length <= task.longest; ++length) {
    TaskOptions options = task;
    options.shortest = options.longest = length;
    all.push_back(make_pairs(options, 100, 1000 + length));
  }
  return all;
}

/// Learns to the end.
void learn(engine::Transformer& model, engine::Backend& backend, const Plan& plan) {
  Random random(plan.trainer.seed);
  model.parameters().set([&](const Parameter& p) { return initial_value(p, random); });
  const Pairs seen = training_pairs(plan);
  Trainer trainer(model, backend, seen, plan.trainer);
  while (trainer.progress().updates < plan.updates) trainer.update();
  trainer.swap_average();
}

}  // namespace

TEST_CASE("copy and reverse are learned, with three seeds and whatever the length") {
  omp_set_num_threads(1);
  for (const char* task : {"copy", "reverse"}) {
    for (const char* seed : {"1", "2", "3"}) {
      Plan plan;
      SettingTexts texts = preset("tiny");
      texts["task"] = task, texts["seed"] = seed, texts["updates"] = "2000";
      apply(settings(plan), texts, "test");
      complete(plan);
      const auto backend = engine::make_cpu_backend();
      engine::Transformer model(plan.model, *backend);
      learn(model, *backend, plan);
      const Pairs unseen = validation_pairs(plan);
      INFO(task << ", seed " << seed);
      CHECK(translation::exact_match(model, unseen.sources, unseen.targets) == 1.0);
      for (const Pairs& pairs : by_length(plan.task)) {
        INFO(pairs.sources[0].size() - 1 << " letters");
        CHECK(translation::exact_match(model, pairs.sources, pairs.targets) >= 0.99);
      }
    }
  }
}
