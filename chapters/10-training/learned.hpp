// The two tasks, learned: how it went, where the trained model looks, and what it makes of longer sentences.
#pragma once

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "attn/core/trace.hpp"
#include "attn/drawing/chart.hpp"
#include "attn/drawing/heat_map.hpp"
#include "attn/reference/greedy.hpp"
#include "attn/reference/loss.hpp"
#include "program.hpp"
#include "training.hpp"

namespace attn {

inline std::string yes(bool so) { return so ? "yes" : "no"; }

/// 3 is a, 4 is b, …
inline std::string letter(int token) {
  return token == 2 ? "EOS" : std::string(1, static_cast<char>('a' + token - training::first_letter));
}

inline std::vector<std::string> letters(const Tokens& tokens) {
  std::vector<std::string> all;
  for (const int token : tokens) all.push_back(letter(token));
  return all;
}

inline void print_stations(const Program& program, const std::vector<Station>& stations) {
  Table table({"updates", "training loss", "validation loss", "exact match"});
  for (const Station& at : stations) {
    table.add({std::to_string(at.updates), fixed(at.training, 3), fixed(at.validation, 3), fixed(at.exact, 3)});
  }
  table.print(program.out());
}

/// An unseen sentence of some length.
inline std::pair<Tokens, Tokens> unseen_pair(const Learner& learner, std::size_t letters) {
  const training::Pairs& pairs = learner.unseen();
  const auto found = std::find_if(pairs.sources.begin(), pairs.sources.end(),
                                  [&](const Tokens& source) { return source.size() == letters + 1; });
  const auto i = static_cast<std::size_t>(found == pairs.sources.end() ? 0 : found - pairs.sources.begin());
  return {pairs.sources[i], pairs.targets[i]};
}

// [hits]
/// For each letter, whether what is looked at most is the letter to write; the row that writes EOS is left out.
inline std::vector<bool> hits(const Matrix& weights, training::Task task) {
  const std::size_t n = weights.shape(1) - 1;
  std::vector<bool> found(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = xt::row(weights, i);
    const auto most = static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
    found[i] = most == (task == training::Task::copy ? i : n - 1 - i);
  }
  return found;
}
// [hits]

inline std::size_t count(const std::vector<bool>& found) {
  return static_cast<std::size_t>(std::count(found.begin(), found.end(), true));
}

/// The heads of cross-attention by the names of their weights.
inline std::vector<std::string> cross_heads(const Config& config) {
  std::vector<std::string> names;
  for (std::size_t layer = 0; layer < config.decoder_layers; ++layer) {
    for (std::size_t head = 0; head < config.h; ++head) {
      names.push_back("decoder." + std::to_string(layer) + ".cross.head." + std::to_string(head) + ".weights");
    }
  }
  return names;
}

/// How many letters each head finds, and at last how many at least one head finds.
inline std::vector<std::size_t> letters_found(const Transformer& model, training::Task task, const Tokens& source,
                                              const Tokens& target) {
  Trace trace;
  transformer(model, source, target);
  std::vector<std::size_t> found;
  std::vector<bool> by_any(source.size() - 1, false);
  for (const std::string& name : cross_heads(model.config)) {
    const std::vector<bool> by_this = hits(trace[name], task);
    found.push_back(count(by_this));
    for (std::size_t i = 0; i < by_any.size(); ++i) by_any[i] = by_any[i] || by_this[i];
  }
  found.push_back(count(by_any));
  return found;
}

inline void show_looking(const Program& program, const Learner& learner) {
  const training::Task task = learner.plan().task.task;
  const std::string name = training::name(task);
  program.measured("looking-" + name, "is the letter that is looked at most the one to write?");
  const auto [source, target] = unseen_pair(learner, 12);
  const Transformer model = learner.reference();
  const std::vector<std::size_t> here = letters_found(model, task, source, target);
  std::vector<std::size_t> everywhere(here.size(), 0);
  std::size_t letters_there_are = 0;
  for (std::size_t i = 0; i < learner.unseen().size(); ++i) {
    const Tokens &from = learner.unseen().sources[i], &to = learner.unseen().targets[i];
    const std::vector<std::size_t> there = letters_found(model, task, from, to);
    for (std::size_t k = 0; k < there.size(); ++k) everywhere[k] += there[k];
    letters_there_are += from.size() - 1;
  }
  const std::vector<std::string> heads = cross_heads(model.config);
  Table table({"head", "in the picture's sentence", "in all unseen sentences"});
  for (std::size_t k = 0; k < here.size(); ++k) {
    table.add({k < heads.size() ? heads[k].substr(0, heads[k].rfind('.')) : "at least one of them",
               std::to_string(here[k]) + " of " + std::to_string(source.size() - 1),
               std::to_string(everywhere[k]) + " of " + std::to_string(letters_there_are)});
  }
  table.print(program.out());
  program.out() << "that sentence is written as it should be: "
                << yes(greedy(model, source, source.size()).tokens == target) << '\n';
  const auto best =
      static_cast<std::size_t>(std::max_element(everywhere.begin(), everywhere.end() - 1) - everywhere.begin());
  Trace trace;
  transformer(model, source, target);
  program.draw(
      "measured-" + name + ".svg",
      heat_map(trace[heads[best]], {"Learned to " + name + ": what is to be written, and where a head looks",
                                    letters(target), letters(source)}));
}

/// What comes of sentences of some lengths.
struct Outcome {
  double exact = 0.0;    // the share that is right as a whole
  double leading = 0.0;  // how many letters are right before the first wrong one, on average
};

inline Outcome outcome(Learner& learner, std::size_t shortest, std::size_t longest) {
  training::TaskOptions task = learner.plan().task;
  task.shortest = shortest, task.longest = longest;
  const training::Pairs pairs = training::make_pairs(task, 100, 103, learner.seen());
  const std::vector<Tokens> written = translation::greedy(learner.model(), pairs.sources, longest + 10);
  Outcome all;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Tokens &got = written[i], &wanted = pairs.targets[i];
    all.exact += got == wanted ? 0.01 : 0.0;
    const auto wrong = std::mismatch(got.begin(), got.end(), wanted.begin(), wanted.end() - 1).first;
    all.leading += 0.01 * static_cast<double>(wrong - got.begin());
  }
  return all;
}

inline void show_longer(const Program& program, Learner& copy, Learner& reverse) {
  program.measured("longer", "trained on 1 to 20 letters, tried on more, 100 sentences each");
  Table table({"letters", "copy: exact match", "right at first", "reverse: exact match", "right at first"});
  const std::vector<std::pair<std::size_t, std::size_t>> lengths = {
      {1, 20}, {21, 21}, {22, 24}, {25, 30}, {31, 40}};
  for (const auto& [from, to] : lengths) {
    const Outcome copied = outcome(copy, from, to), reversed = outcome(reverse, from, to);
    table.add({std::to_string(from) + "-" + std::to_string(to), fixed(copied.exact, 2), fixed(copied.leading, 1),
               fixed(reversed.exact, 2), fixed(reversed.leading, 1)});
  }
  table.print(program.out());
  program.out() << "right at first: how many letters come before the first wrong one, on average\n";
}

inline void show_learned_positions(const Program& program, const Learner& usual) {
  program.measured("positions",
                   "reversing, with sines and cosines and with a learned vector for each of 21 places");
  Learner learned(plan_with({{"task", "reverse"}, {"learned_positions", "21"}}));
  learned.learn("reverse, learned positions");
  Table table({"positions", "validation loss", "exact match"});
  table.add({"sines and cosines", fixed(usual.end().validation, 3), fixed(usual.end().exact, 3)});
  table.add({"learned", fixed(learned.end().validation, 3), fixed(learned.end().exact, 3)});
  table.print(program.out());
  try {
    outcome(learned, 21, 21);
  } catch (const std::invalid_argument& error) {
    program.out() << "learned, and a sentence of 21 letters: " << error.what() << '\n';
  }
}

struct Learned {
  bool copies = false;
  bool reverses = false;
};

inline void draw_learning(const Program& program, const Learner& copy, const Learner& reverse) {
  std::vector<std::string> places;
  Curve copying{"copy", {}}, reversing{"reverse", {}};
  for (std::size_t i = 0; i < copy.stations().size(); ++i) {
    places.push_back(std::to_string(copy.stations()[i].updates));
    copying.y.push_back(copy.stations()[i].validation);
    reversing.y.push_back(reverse.stations()[i].validation);
  }
  program.draw("measured-learning.svg", chart("The loss of unseen sentences while it learns", "updates", places,
                                              {copying, reversing}, 3.2));
}

/// The losses of a model that says what the smoothed truth says.
inline void show_floor(const Program& program, const training::Plan& plan) {
  program.section("floor", "the losses of a model that says q, no more and no less");
  const int V = static_cast<int>(plan.model.vocabulary), y = training::first_letter;
  const LabelSmoothing smoothing = {plan.trainer.loss.label_smoothing};
  Matrix logits({1, plan.model.vocabulary});
  for (int c = 0; c < V; ++c)
    logits(0, std::size_t(c)) = std::log(share(c, y, 0, plan.model.vocabulary, smoothing));
  program.out() << "smoothed: " << fixed(cross_entropy(logits, {y}, 0, smoothing), 3)
                << ", of the right letter alone: " << fixed(cross_entropy(logits, {y}, 0), 3) << '\n';
}

inline Learned learn_both(const Program& program) {
  Learner copy(plan_with({{"task", "copy"}})), reverse(plan_with({{"task", "reverse"}}));
  for (Learner* learner : {&copy, &reverse}) {
    const std::string name = training::name(learner->plan().task.task);
    program.measured(name, "learned from examples, measured on sentences that it has not seen");
    learner->learn(name);
    print_stations(program, learner->stations());
    program.out() << "every unseen sentence comes out right: " << yes(learner->end().exact == 1.0) << '\n';
  }
  show_floor(program, copy.plan());
  draw_learning(program, copy, reverse);
  show_looking(program, copy);
  show_looking(program, reverse);
  show_longer(program, copy, reverse);
  show_learned_positions(program, reverse);
  return {copy.end().exact == 1.0, reverse.end().exact == 1.0};
}

}  // namespace attn
