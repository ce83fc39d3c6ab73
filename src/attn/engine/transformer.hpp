/// @file
/// @brief The whole model over batches, forward and backward.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "attn/core/config.hpp"
#include "attn/engine/arena.hpp"
#include "attn/engine/backend/backend.hpp"
#include "attn/engine/batch.hpp"
#include "attn/engine/layers.hpp"
#include "attn/engine/parameters.hpp"

namespace attn::engine {

/// How far a batch was from its targets.
struct Loss {
  double sum = 0.0;        ///< of the losses of all targets, smoothed
  double nll = 0.0;        ///< the same without smoothing
  std::size_t tokens = 0;  ///< how many targets there were
};

/// What a training pass drops, and how its gradients count.
struct Training {
  double dropout = 0.1;              ///< the share that is dropped
  std::uint64_t seed = 0;            ///< of dropout
  std::uint32_t step = 0;            ///< of the training
  std::uint32_t first_sequence = 0;  ///< the number of the first sentence of this batch in its step
  double gradient_scale = 1.0;       ///< gradients are those of this times the sum of the losses
};

/// An encoder-decoder Transformer on a backend: the same model as the reference's, batched, in float.
class Transformer {
 public:
  /// All parameters are 0.
  /// @param config   sizes and choices
  /// @param backend  who computes; it must outlive the model
  /// @throws std::invalid_argument when the sizes do not fit
  Transformer(const Config& config, Backend& backend);
  ~Transformer();

  /// @return sizes and choices
  const Config& config() const { return config_; }

  /// @return what it has learned
  Parameters& parameters() { return parameters_; }

  /// Lets every target token look at those after it, the answers; chapter 10 shows what goes wrong then.
  /// @param on  whether the decoder's attention to itself is left without its causal mask
  void look_ahead(bool on) { look_ahead_ = on; }

  /// The loss of a batch; nothing is dropped.
  /// @param batch  what pack() gave
  /// @param form   how targets are smoothed
  /// @return       the loss
  /// @throws std::invalid_argument when label smoothing is no share, there are too few classes, or positions are
  /// learned and a sentence is longer
  Loss loss(const Batch& batch, const LossForm& form = {});

  /// The loss, and the gradients of all parameters added to those that are there.
  /// @param batch     what pack() gave
  /// @param form      how targets are smoothed
  /// @param training  dropout, and the scale of the gradients
  /// @return          the loss
  /// @throws std::invalid_argument when dropout or label smoothing is no share, the scale is 0, there are too few
  /// classes, or positions are learned and a sentence is longer
  Loss add_gradients(const Batch& batch, const LossForm& form, const Training& training);

  /// All logits of a batch; nothing is dropped.
  /// @param batch  what pack() gave
  /// @return       a row for each target token
  /// @throws std::invalid_argument when positions are learned and a sentence is longer
  std::vector<float> logits(const Batch& batch);

  /// @return the memory of a pass
  const Arena& arena() const { return arena_; }

  /// Makes room for a batch in advance, by a pass in which nothing is computed.
  /// @param largest  a batch of the most and the longest sentences that will come
  /// @throws std::bad_alloc when there is not enough memory for it
  void reserve(const Batch& largest);

 private:
  struct EncoderLayer;
  struct DecoderLayer;
  void prepare_positions(const Batch& batch);
  View embed(Pass& pass, Embedding& embedding, const Packed& side);
  View final_norm(Pass& pass, std::size_t stack, View x);
  View encode(Pass& pass, const Batch& batch);
  View decode(Pass& pass, const Batch& batch, View memory);
  Loss project(Pass& pass, const Batch& batch, LossForm form, double scale, View states);
  void decode_backward(Pass& pass, View dstates, View dmemory);
  void encode_backward(Pass& pass, View dmemory);

  Config config_;
  Backend& backend_;
  Parameters parameters_;
  Arena arena_;
  Embedding source_, target_;
  View projection_, projection_gradient_;
  View sines_;  // positions that are not learned, as many as there have been
  bool look_ahead_ = false;
  std::vector<EncoderLayer> encoder_;
  std::vector<DecoderLayer> decoder_;
  std::vector<Norm> final_norms_;  // of the encoder and of the decoder, or none
};

}  // namespace attn::engine
