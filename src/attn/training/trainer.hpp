/// @file
/// @brief The loop: batch, loss, gradients, update.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/engine/transformer.hpp"
#include "attn/training/adam.hpp"
#include "attn/training/batches.hpp"
#include "attn/training/pairs.hpp"
#include "attn/training/schedule.hpp"

namespace attn::training {

/// How a model is trained. The defaults are the paper's (Vaswani et al. 2017, section 5), but for the size of a
/// batch.
struct TrainerOptions {
  std::uint64_t seed = 1;      ///< of the order of the batches, and of dropout
  std::size_t tokens = 4096;   ///< of a batch at most, of the source and of the target each; 25,000 in the paper
  std::size_t accumulate = 1;  ///< how many batches make an update
  double dropout = 0.1;        ///< the share that is dropped
  engine::LossForm loss{0.1};  ///< label smoothing
  Schedule schedule;           ///< the learning rate
  AdamOptions adam;            ///< how Adam moves
  double average = 0.0;        ///< how much of its past a moving average of the weights keeps at each update, or 0
};

/// What one update did.
struct Update {
  std::uint64_t number = 0;       ///< which, from 1
  engine::Loss loss;              ///< before it, with dropout
  std::size_t source_tokens = 0;  ///< how many were read
  double rate = 0.0;              ///< the learning rate
  double gradient_length = 0.0;   ///< before it was shortened

  /// @return the smoothed loss of a token
  double loss_per_token() const { return loss.sum / static_cast<double>(loss.tokens); }
};

/// Where a training stands. With the seed, this is all its random state: dropout and the order of the batches are
/// functions of these numbers.
struct Progress {
  std::uint64_t updates = 0;  ///< how many there were
  std::uint32_t epoch = 0;    ///< how often all pairs have been gone through
  std::size_t batch = 0;      ///< the next batch of this epoch
};

/// A loss or a gradient was no number: the training cannot go on.
class Diverged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Trains a model on pairs of sentences.
class Trainer {
 public:
  /// Makes room for the largest batch that there can be.
  /// @param model    what learns; it must live as long
  /// @param backend  the model's
  /// @param pairs    what it learns from; they must live as long
  /// @param options  how
  /// @throws std::invalid_argument when there are no pairs, a pair is longer than a batch, or an option makes no
  ///         sense
  Trainer(engine::Transformer& model, engine::Backend& backend, const Pairs& pairs, const TrainerOptions& options);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// The next update.
  /// @return what it did
  /// @throws Diverged naming the update whose loss or gradient is NaN or infinite; weights and progress are then
  ///         those before it, but the batches have been read
  Update update();

  /// @return where the training stands
  Progress progress() const { return progress_; }

  /// @return how it trains
  const TrainerOptions& options() const { return options_; }

  /// Changes places: the model has the averaged weights, and the average's place holds the model's, until the next
  /// call. Does nothing without an average.
  void swap_average();

  /// @return the optimiser, with its two means
  Adam& adam() { return adam_; }

  /// @return the averaged weights, in the order of the parameters; no data without an average
  engine::View average() const { return average_; }

  /// Goes on from a saved state; the weights, the optimiser's means and the average are the caller's to fill.
  /// @param progress  where it stood
  void resume_at(const Progress& progress);

 private:
  engine::Batch next_batch();
  [[noreturn]] void stop(std::uint64_t update, const std::string& why);

  engine::Transformer& model_;
  engine::Backend& backend_;
  const Pairs& pairs_;
  TrainerOptions options_;
  Adam adam_;
  Progress progress_;
  Batches batches_;
  engine::View average_;
};

/// How well a model does on pairs it is shown.
struct Validation {
  double loss = 0.0;       ///< of a token, not smoothed; 0 when there are none
  std::size_t tokens = 0;  ///< how many there were

  /// @return \f$e^{loss}\f$
  double perplexity() const;
};

/// Measures a model on pairs; nothing is dropped.
/// @param model   any
/// @param pairs   the sentences
/// @param tokens  how many a batch may have
/// @return        what was measured
Validation validate(engine::Transformer& model, const Pairs& pairs, std::size_t tokens = 4096);

}  // namespace attn::training
