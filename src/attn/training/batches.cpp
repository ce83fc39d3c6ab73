#include "attn/training/batches.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "attn/core/errors.hpp"
#include "attn/core/random.hpp"

namespace attn::training {
namespace {

/// Fisher and Yates: std::shuffle differs between standard libraries.
template <class T>
void shuffle(std::vector<T>& all, Random& random) {
  for (std::size_t i = all.size(); i > 1; --i) {
    const auto j = static_cast<std::size_t>(random.uniform() * static_cast<double>(i));
    std::swap(all[i - 1], all[j]);
  }
}

void expect_fitting(const Pairs& pairs, std::size_t tokens) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::size_t length = std::max(pairs.sources[i].size(), pairs.targets[i].size());
    if (length <= tokens) continue;
    refuse("pair " + std::to_string(i), "at most " + std::to_string(tokens) + " tokens, as a batch may have",
           std::to_string(length));
  }
}

}  // namespace

Batches make_batches(const Pairs& pairs, std::size_t tokens, std::uint64_t seed, std::uint32_t epoch) {
  expect_fitting(pairs, tokens);
  Random random(seed ^ (std::uint64_t{epoch + 1} << 32));
  std::vector<std::size_t> order(pairs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  shuffle(order, random);
  Batches batches;
  std::size_t source = 0, target = 0;
  for (const std::size_t i : order) {
    source += pairs.sources[i].size(), target += pairs.targets[i].size();
    if (batches.empty() || source > tokens || target > tokens) {
      batches.emplace_back();
      source = pairs.sources[i].size(), target = pairs.targets[i].size();
    }
    batches.back().push_back(i);
  }
  return batches;
}

}  // namespace attn::training
