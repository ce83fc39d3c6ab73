// The longer measurements, one for each question that a table of the page answers.
#pragma once

#include <cmath>
#include <ctime>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "attn/core/errors.hpp"
#include "learned.hpp"
#include "program.hpp"
#include "training.hpp"

namespace attn {

/// What --measure says: which measurement, or nothing.
inline std::string longer_measurement;

/// Trains with some changes, to the end.
inline std::vector<Station> learned_with(const SettingTexts& changes, const std::string& name) {
  Learner learner(plan_with(changes));
  learner.learn(name);
  return learner.stations();
}

inline void measure_seeds(const Program& program) {
  program.measured("seeds", "three seeds: other first weights, other sentences, another order");
  Table table({"task", "seed", "validation loss", "exact match"});
  for (const char* task : {"copy", "reverse"}) {
    for (const char* seed : {"1", "2", "3"}) {
      const Station end =
          learned_with({{"task", task}, {"seed", seed}}, std::string(task) + ", seed " + seed).back();
      table.add({task, seed, fixed(end.validation, 4), fixed(end.exact, 3)});
    }
  }
  table.print(program.out());
}

// [unshifted]
/// Learns with a decoder that reads the targets themselves, not shifted. Returns the loss of a token in the second
/// half of the updates.
inline double learn_unshifted(Learner& learner) {
  const training::Plan& plan = learner.plan();
  training::Adam adam(learner.model().parameters(), learner.backend(), plan.trainer.adam);
  engine::Loss since;
  std::uint32_t update = 0;
  for (std::uint32_t epoch = 0; update < plan.updates; ++epoch) {
    const auto batches = training::make_batches(learner.seen(), plan.trainer.tokens, plan.trainer.seed, epoch);
    for (std::size_t b = 0; b < batches.size() && update < plan.updates; ++b) {
      std::vector<Tokens> sources, targets;
      for (const std::size_t i : batches[b]) {
        sources.push_back(learner.seen().sources[i]), targets.push_back(learner.seen().targets[i]);
      }
      engine::Batch batch = engine::pack(plan.model, sources, targets);
      batch.input.tokens = batch.target;  // the answers, each at its own place
      const engine::Loss loss = learner.model().add_gradients(batch, plan.trainer.loss,
                                                              {plan.trainer.dropout, plan.trainer.seed, ++update});
      adam.update(plan.trainer.schedule.rate(update), 1.0 / static_cast<double>(loss.tokens));
      if (2 * update > plan.updates) since.sum += loss.sum, since.tokens += loss.tokens;
    }
  }
  return since.sum / static_cast<double>(since.tokens);
}
// [unshifted]

inline void measure_shift_and_mask(const Program& program) {
  program.measured("shift-and-mask", "copying, learned with both, and with each alone");
  Table table({"learned with", "training loss", "exact match, written by itself"});
  const auto add = [&](const std::string& how, double loss, Learner& learner) {
    table.add(
        {how, fixed(loss, 4),
         fixed(translation::exact_match(learner.model(), learner.unseen().sources, learner.unseen().targets), 3)});
  };
  Learner both(plan_with({}));
  both.learn("shift and mask");
  add("shift and mask", both.end().training, both);
  Learner no_shift(plan_with({}));
  add("mask, no shift", learn_unshifted(no_shift), no_shift);
  Learner no_mask(plan_with({}));
  no_mask.model().look_ahead(true);
  no_mask.learn("shift, no mask");
  add("shift, no mask", no_mask.end().training, no_mask);
  table.print(program.out());
}

inline void measure_scale(const Program& program) {
  program.measured("scale", "embeddings × √d_model, and as they are, 2000 updates");
  Table table({"task", "embeddings", "seed", "validation loss early", "at the end", "exact match"});
  for (const char* task : {"copy", "reverse"}) {
    for (const char* scaled : {"yes", "no"}) {
      for (const char* seed : {"1", "2", "3"}) {
        const std::string how = std::string(scaled) == "yes" ? "× √d_model" : "as they are";
        const std::vector<Station> way =
            learned_with({{"task", task}, {"scale_embeddings", scaled}, {"seed", seed}, {"updates", "2000"}},
                         std::string(task) + " " + how);
        table.add({task, how, seed, fixed(way[5].validation, 3), fixed(way.back().validation, 3),
                   fixed(way.back().exact, 3)});
      }
    }
  }
  table.print(program.out());
  program.out() << "early: after a quarter of the updates\n";
}

inline void measure_dropout(const Program& program) {
  program.measured("dropout", "reversing, learned from 200 sentences only");
  const std::vector<std::string> shares = {"0", "0.1", "0.3"};
  std::vector<std::vector<Station>> ways;
  std::vector<std::string> header = {"updates"};
  for (const std::string& share : shares) {
    ways.push_back(learned_with({{"task", "reverse"}, {"pairs", "200"}, {"dropout", share}}, "dropout " + share));
    header.push_back("p = " + share + ": training"), header.push_back("validation");
  }
  Table table(header);
  for (std::size_t i = 0; i < ways[0].size(); ++i) {
    std::vector<std::string> cells = {std::to_string(ways[0][i].updates)};
    for (const std::vector<Station>& way : ways) {
      cells.push_back(fixed(way[i].training, 3)), cells.push_back(fixed(way[i].validation, 3));
    }
    table.add(cells);
  }
  table.print(program.out());
  program.out() << "exact match at the end: " << fixed(ways[0].back().exact, 2) << ", "
                << fixed(ways[1].back().exact, 2) << ", " << fixed(ways[2].back().exact, 2) << '\n';
}

/// The loss of a model that knows nothing but how frequent each token is.
inline double loss_by_frequency(const training::Pairs& pairs) {
  std::map<int, double> counts;
  double all = 0.0, loss = 0.0;
  for (const Tokens& target : pairs.targets) {
    for (const int token : target) ++counts[token], ++all;
  }
  for (const auto& [token, count] : counts) loss -= count / all * std::log(count / all);
  return loss;
}

/// One way to train: how deep, which norm, how fast, with or without a warm-up.
struct Start {
  const char *layers, *norm, *rate, *warms_up;
};

inline void measure_warmup(const Program& program) {
  program.measured("warmup", "validation loss after 750 updates, the highest rate at first or reached in 400");
  const std::vector<Start> starts = {{"1", "after", "1", "yes"},   {"1", "after", "1", "no"},
                                     {"6", "after", "1", "yes"},   {"6", "after", "1", "no"},
                                     {"6", "after", "0.3", "yes"}, {"6", "after", "0.3", "no"},
                                     {"6", "before", "1", "yes"},  {"6", "before", "1", "no"}};
  Table table({"layers a side", "norm", "rate ×", "warm-up", "seed 1", "seed 2", "seed 3"});
  for (const Start& start : starts) {
    std::vector<std::string> cells = {start.layers, start.norm, start.rate, start.warms_up};
    for (const char* seed : {"1", "2", "3"}) {
      SettingTexts texts = {
          {"task", "reverse"},        {"encoder_layers", start.layers}, {"decoder_layers", start.layers},
          {"rate_scale", start.rate}, {"warms_up", start.warms_up},     {"seed", seed},
          {"updates", "750"}};
      if (start.norm == std::string("before")) texts["pre_norm"] = texts["final_norm"] = "yes";
      const std::string name = std::string(start.layers) + " layers, seed " + seed;
      cells.push_back(fixed(learned_with(texts, name).back().validation, 2));
    }
    table.add(cells);
  }
  table.print(program.out());
  program.out() << "knowing only how frequent each token is: "
                << fixed(loss_by_frequency(Learner(plan_with({})).unseen()), 2) << '\n';
}

/// Runs one of them, or all.
inline void measure_longer(const Program& program, const std::string& which) {
  const std::vector<std::pair<std::string, void (*)(const Program&)>> all = {
      {"seeds", measure_seeds},     {"shift-and-mask", measure_shift_and_mask},
      {"scale", measure_scale},     {"warmup", measure_warmup},
      {"dropout", measure_dropout},
  };
  bool found = false;
  for (const auto& [name, measure] : all) {
    if (which != "all" && which != name) continue;
    found = true;
    const std::clock_t start = std::clock();
    measure(program);
    const double minutes = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / 60.0;
    program.out() << "this took " << fixed(minutes, 1) << " minutes of processor time\n" << std::flush;
  }
  if (!found) refuse_input("--measure", "warmup, shift-and-mask, scale, dropout, seeds or all", which);
}

}  // namespace attn
