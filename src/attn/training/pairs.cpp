#include "attn/training/pairs.hpp"

#include <algorithm>
#include <set>

#include "attn/core/errors.hpp"
#include "attn/core/random.hpp"

namespace attn::training {
namespace {

constexpr int eos = 2;
constexpr std::uint64_t pairs_key = std::uint64_t{0x70616972} << 32;  // "pair": other numbers than the weights'

void check(const TaskOptions& options) {
  if (options.letters == 0) refuse("letters", "at least 1", "0");
  if (options.shortest == 0) refuse("shortest", "at least 1 letter", "0");
  if (options.longest < options.shortest) {
    refuse("longest", "at least shortest = " + std::to_string(options.shortest), std::to_string(options.longest));
  }
}

Tokens random_letters(std::size_t length, std::size_t letters, Random& random) {
  Tokens sentence(length);
  for (int& token : sentence) token = first_letter + static_cast<int>(random.bits() % letters);
  return sentence;
}

/// How many sentences of a length are held out: a fifth of all there are, rounded up, but never the only one, and
/// not more than are asked for.
std::size_t held_out(std::size_t length, std::size_t letters, std::size_t asked_for) {
  if (letters == 1) return 0;
  std::size_t sentences = 1;
  for (std::size_t i = 0; i < length && sentences / 5 < asked_for; ++i) sentences *= letters;
  return std::min(asked_for, (sentences + 4) / 5);
}

Tokens answer(Task task, Tokens sentence) {
  if (task == Task::reverse) std::reverse(sentence.begin(), sentence.end());
  return sentence;
}

Tokens with_eos(Tokens sentence) {
  sentence.push_back(eos);
  return sentence;
}

void add(Pairs& pairs, Task task, const Tokens& sentence) {
  pairs.sources.push_back(with_eos(sentence));
  pairs.targets.push_back(with_eos(answer(task, sentence)));
}

}  // namespace

Task task(std::string_view name) {
  if (name == "copy") return Task::copy;
  if (name == "reverse") return Task::reverse;
  refuse_input("task", "copy or reverse", std::string(name));
}

std::string name(Task task) { return task == Task::copy ? "copy" : "reverse"; }

Pairs make_pairs(const TaskOptions& options, std::size_t count, std::uint64_t seed, const Pairs& unlike) {
  check(options);
  const std::set<Tokens> left_out(unlike.sources.begin(), unlike.sources.end());
  const std::size_t lengths = options.longest - options.shortest + 1;
  Random random(seed ^ pairs_key);
  Pairs pairs;
  std::size_t in_vain = 0;  // draws one behind the other
  while (pairs.size() < count) {
    const std::size_t length = options.shortest + random.bits() % lengths;
    const Tokens sentence = random_letters(length, options.letters, random);
    if (left_out.count(with_eos(sentence)) == 0) {
      add(pairs, options.task, sentence);
      in_vain = 0;
    } else if (++in_vain == 10000) {
      refuse("pairs", "sentences other than those that are left out", "none");
    }
  }
  return pairs;
}

Pairs held_out_pairs(const TaskOptions& options, std::size_t count, std::uint64_t seed) {
  check(options);
  std::vector<std::size_t> open;  // how many of each length may come yet
  std::size_t most = 0;
  for (std::size_t length = options.shortest; length <= options.longest; ++length) {
    open.push_back(held_out(length, options.letters, count));
    most += open.back();
  }
  if (count > most) {
    refuse("validation_pairs", "at most " + std::to_string(most) + ", a fifth of the sentences of each length",
           std::to_string(count));
  }
  Random random(seed ^ pairs_key);
  std::set<Tokens> taken;
  Pairs pairs;
  for (std::size_t i = 0; pairs.size() < count; i = (i + 1) % open.size()) {
    if (open[i] == 0) continue;
    Tokens sentence = random_letters(options.shortest + i, options.letters, random);
    while (!taken.insert(sentence).second) {
      sentence = random_letters(options.shortest + i, options.letters, random);
    }
    add(pairs, options.task, sentence);
    --open[i];
  }
  return pairs;
}

}  // namespace attn::training
