#include "attn/translation/greedy.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "attn/core/errors.hpp"

namespace attn::translation {
namespace {

constexpr std::size_t at_once = 200;  // sentences, so that a test set of any size fits into memory

/// The likeliest token behind each target so far.
std::vector<int> next_tokens(engine::Transformer& model, std::span<const Tokens> sources,
                             std::vector<Tokens> targets) {
  const Config& config = model.config();
  for (Tokens& target : targets) target.push_back(config.eos);  // a place for the token that is asked for
  const engine::Batch batch = engine::pack(config, sources, targets);
  const std::vector<float> logits = model.logits(batch);
  const std::size_t V = logits.size() / batch.target.size();
  std::vector<int> next;
  for (const engine::Segment& segment : batch.input.segments) {
    const auto row = std::span(logits).subspan((segment.start + segment.length - 1) * V, V);
    if (std::any_of(row.begin(), row.end(), [](float z) { return std::isnan(z); }))
      refuse("logits", "numbers", "NaN");
    next.push_back(static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  return next;
}

}  // namespace

std::vector<Tokens> greedy(engine::Transformer& model, std::span<const Tokens> sources, std::size_t longest) {
  std::vector<Tokens> all(sources.size());
  std::vector<std::size_t> open(longest > 0 ? sources.size() : 0);  // whose target has no EOS yet
  for (std::size_t i = 0; i < open.size(); ++i) open[i] = i;
  while (!open.empty()) {
    std::vector<Tokens> reads, written;
    for (const std::size_t i : open) reads.push_back(sources[i]), written.push_back(all[i]);
    const std::vector<int> next = next_tokens(model, reads, written);
    std::vector<std::size_t> still_open;
    for (std::size_t i = 0; i < open.size(); ++i) {
      Tokens& target = all[open[i]];
      target.push_back(next[i]);
      if (next[i] != model.config().eos && target.size() < longest) still_open.push_back(open[i]);
    }
    open = still_open;
  }
  return all;
}

std::vector<bool> exact_matches(engine::Transformer& model, std::span<const Tokens> sources,
                                std::span<const Tokens> targets) {
  if (sources.size() != targets.size() || sources.empty()) {
    refuse("exact_match", "as many targets as sources, and at least one",
           std::to_string(sources.size()) + " sources and " + std::to_string(targets.size()) + " targets");
  }
  std::vector<bool> right;
  for (std::size_t first = 0; first < targets.size(); first += at_once) {
    const std::size_t count = std::min(at_once, targets.size() - first);
    std::size_t longest = 0;
    for (const Tokens& target : targets.subspan(first, count)) longest = std::max(longest, target.size());
    const std::vector<Tokens> written = greedy(model, sources.subspan(first, count), longest);
    for (std::size_t i = 0; i < count; ++i) right.push_back(written[i] == targets[first + i]);
  }
  return right;
}

double exact_match(engine::Transformer& model, std::span<const Tokens> sources, std::span<const Tokens> targets) {
  const std::vector<bool> right = exact_matches(model, sources, targets);
  return static_cast<double>(std::count(right.begin(), right.end(), true)) / static_cast<double>(right.size());
}

}  // namespace attn::translation
