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

Tokens random_sentence(const TaskOptions& options, Random& random) {
  const std::size_t lengths = options.longest - options.shortest + 1;
  Tokens sentence(options.shortest + random.bits() % lengths);
  for (int& token : sentence) token = first_letter + static_cast<int>(random.bits() % options.letters);
  return sentence;
}

Tokens answer(Task task, Tokens sentence) {
  if (task == Task::reverse) std::reverse(sentence.begin(), sentence.end());
  return sentence;
}

Tokens with_eos(Tokens sentence) {
  sentence.push_back(eos);
  return sentence;
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
  std::set<Tokens> taken(unlike.sources.begin(), unlike.sources.end());
  Random random(seed ^ pairs_key);
  Pairs pairs;
  std::size_t in_vain = 0;  // draws one behind the other
  while (pairs.size() < count) {
    const Tokens sentence = random_sentence(options, random);
    if (!taken.insert(with_eos(sentence)).second) {
      if (++in_vain == 10000) {
        refuse(unlike.size() > 0 ? "other pairs" : "pairs",
               "at most about " + std::to_string(pairs.size()) + " different sentences of so few letters",
               std::to_string(count));
      }
      continue;
    }
    in_vain = 0;
    pairs.sources.push_back(with_eos(sentence));
    pairs.targets.push_back(with_eos(answer(options.task, sentence)));
  }
  return pairs;
}

}  // namespace attn::training
