#include "attn/training/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "attn/core/errors.hpp"

namespace attn::training {
namespace {

engine::Batch packed(const Config& config, const Pairs& pairs, const std::vector<std::size_t>& chosen) {
  std::vector<Tokens> sources, targets;
  for (const std::size_t i : chosen) {
    sources.push_back(pairs.sources[i]);
    targets.push_back(pairs.targets[i]);
  }
  return engine::pack(config, sources, targets);
}

/// So many sentences that together have as many tokens as a batch may have, or as there are, in sentences that
/// are as long as the longest.
std::vector<Tokens> longest_sentences(const std::vector<Tokens>& all, std::size_t tokens, std::size_t count,
                                      int token) {
  std::size_t longest = 0, there_are = 0;
  for (const Tokens& one : all) longest = std::max(longest, one.size()), there_are += one.size();
  std::size_t left = std::min(tokens, there_are);
  std::vector<Tokens> sentences(count);
  for (Tokens& sentence : sentences) {
    sentence.assign(std::min(longest, left), token);
    left -= sentence.size();
  }
  return sentences;
}

/// A batch that takes as much memory as any.
engine::Batch largest_batch(const Config& config, const Pairs& pairs, std::size_t tokens) {
  const std::size_t count = std::min(tokens, pairs.size());  // no batch has more, but for empty sentences
  return engine::pack(config, longest_sentences(pairs.sources, tokens, count, config.eos),
                      longest_sentences(pairs.targets, tokens, count, config.eos));
}

void expect_share(const char* name, double share) {
  if (!(share >= 0.0 && share < 1.0)) refuse(name, "at least 0 and less than 1", std::to_string(share));
}

void check(const TrainerOptions& options, const Pairs& pairs) {
  if (pairs.size() == 0) refuse("pairs", "at least one to learn from", "none");
  if (options.accumulate == 0) refuse("accumulate", "at least 1 batch", "0");
  expect_share("dropout", options.dropout);
  expect_share("average", options.average);
  expect_share("label_smoothing", options.loss.label_smoothing);
  options.schedule.rate(1);
}

}  // namespace

Trainer::Trainer(engine::Transformer& model, engine::Backend& backend, const Pairs& pairs,
                 const TrainerOptions& options)
    : model_(model),
      backend_(backend),
      pairs_(pairs),
      options_(options),
      adam_(model.parameters(), backend, options.adam) {
  check(options, pairs);
  batches_ = make_batches(pairs, options.tokens, options.seed, 0);
  model.reserve(largest_batch(model.config(), pairs, options.tokens));
  if (options.average <= 0.0) return;
  const std::size_t size = model.parameters().size();
  average_ = {backend.allocate(size), 1, size, size};
  backend.copy(model.parameters().values(), average_);
}

Trainer::~Trainer() { backend_.release(average_.data, average_.columns); }

engine::Batch Trainer::next_batch() {
  if (progress_.batch == batches_.size()) {
    ++progress_.epoch, progress_.batch = 0;
    batches_ = make_batches(pairs_, options_.tokens, options_.seed, progress_.epoch);
  }
  return packed(model_.config(), pairs_, batches_[progress_.batch++]);
}

// [update]
Update Trainer::update() {
  Update done;
  done.number = progress_.updates + 1;
  std::uint32_t sequences = 0;
  for (std::size_t part = 0; part < options_.accumulate; ++part) {
    const engine::Batch batch = next_batch();
    const engine::Loss loss = model_.add_gradients(
        batch, options_.loss,
        {options_.dropout, options_.seed, static_cast<std::uint32_t>(done.number), sequences, 1.0});
    sequences += static_cast<std::uint32_t>(batch.size());
    done.loss.sum += loss.sum, done.loss.nll += loss.nll, done.loss.tokens += loss.tokens;
    done.source_tokens += batch.source.tokens.size();
  }
  if (!std::isfinite(done.loss.sum))
    stop(done.number, "wanted a finite loss, got " + std::to_string(done.loss.sum));
  done.rate = options_.schedule.rate(done.number);
  try {
    done.gradient_length = adam_.update(done.rate, 1.0 / static_cast<double>(done.loss.tokens));
  } catch (const std::invalid_argument& error) {
    stop(done.number, error.what());
  }
  progress_.updates = done.number;
  if (average_.data != nullptr) {  // the mean of all weights so far, while these are few
    const double share = std::max(1.0 - options_.average, 1.0 / static_cast<double>(done.number));
    backend_.blend(share, model_.parameters().values(), average_);
  }
  return done;
}
// [update]

void Trainer::stop(std::uint64_t update, const std::string& why) {
  backend_.zero(model_.parameters().gradients());
  throw Diverged("update " + std::to_string(update) + ": " + why);
}

void Trainer::resume_at(const Progress& progress) {
  batches_ = make_batches(pairs_, options_.tokens, options_.seed, progress.epoch);
  if (progress.batch > batches_.size()) {
    refuse("batch", "at most " + std::to_string(batches_.size()) + ", as an epoch has",
           std::to_string(progress.batch));
  }
  progress_ = progress;
  adam_.resume_after(progress.updates);
}

void Trainer::swap_average() {
  if (average_.data == nullptr) return;
  const engine::View weights = model_.parameters().values();
  std::vector<float> ours(weights.columns), averaged(weights.columns);
  backend_.download(weights, ours);
  backend_.download(average_, averaged);
  backend_.upload(weights, averaged);
  backend_.upload(average_, ours);
}

double Validation::perplexity() const { return std::exp(loss); }

Validation validate(engine::Transformer& model, const Pairs& pairs, std::size_t tokens) {
  double nll = 0.0;
  Validation all;
  for (const auto& chosen : make_batches(pairs, tokens, 0, 0)) {
    const engine::Loss loss = model.loss(packed(model.config(), pairs, chosen));
    nll += loss.nll;
    all.tokens += loss.tokens;
  }
  if (all.tokens > 0) all.loss = nll / static_cast<double>(all.tokens);
  return all;
}

}  // namespace attn::training
