// The two built-in tasks are learned to the last letter, whatever the seed. Sentences are short here, so that it
// takes seconds; chapter 10 does it with long ones.
#include <omp.h>

#include "attn/core/random.hpp"
#include "attn/engine/backend/cpu.hpp"
#include "attn/training/plan.hpp"
#include "attn/translation/greedy.hpp"
#include "catch.hpp"

using namespace attn;
using namespace attn::training;

namespace {

/// How many updates it took until every unseen sentence came out right; 0 if that never happened.
std::uint64_t updates_until_right(const Plan& plan) {
  const auto backend = engine::make_cpu_backend();
  engine::Transformer model(plan.model, *backend);
  Random random(plan.trainer.seed);
  model.parameters().set([&](const Parameter& p) { return initial_value(p, random); });
  const Pairs seen = training_pairs(plan), unseen = validation_pairs(plan, seen);
  Trainer trainer(model, *backend, seen, plan.trainer);
  while (trainer.progress().updates < plan.updates) {
    for (int i = 0; i < 100; ++i) trainer.update();
    trainer.swap_average();
    if (translation::exact_match(model, unseen.sources, unseen.targets) == 1.0) return trainer.progress().updates;
    trainer.swap_average();
  }
  return 0;
}

}  // namespace

TEST_CASE("copy and reverse are learned, with three seeds") {
  omp_set_num_threads(1);
  for (const char* task : {"copy", "reverse"}) {
    for (const char* seed : {"1", "2", "3"}) {
      Plan plan;
      SettingTexts texts = preset("tiny");
      texts["task"] = task, texts["seed"] = seed, texts["longest"] = "6", texts["tokens"] = "512";
      apply(settings(plan), texts, "test");
      complete(plan);
      INFO(task << ", seed " << seed);
      CHECK(updates_until_right(plan) > 0);
    }
  }
}
