/// @file
/// @brief Sentences packed one behind the other, without padding.
#pragma once

#include <span>
#include <vector>

#include "attn/core/config.hpp"
#include "attn/core/tokens.hpp"
#include "attn/engine/backend/backend.hpp"

namespace attn::engine {

/// One side of a batch.
struct Packed {
  std::vector<int> tokens;        ///< of all sentences, one behind the other
  std::vector<Segment> segments;  ///< where each begins, and how long it is
  std::vector<unsigned char>
      hidden;  ///< 1 for padding inside a sentence, which is hidden as a key; empty for none
};

/// Pairs of sentences, ready for a model.
struct Batch {
  Packed source;            ///< what the encoder reads
  Packed input;             ///< what the decoder reads: the targets, shifted right
  std::vector<int> target;  ///< what it should say, as many as it reads

  /// @return how many pairs there are
  std::size_t size() const { return source.segments.size(); }
};

/// Packs pairs of sentences. Padding at the end of a sentence is left away. Padding before other tokens keeps its
/// place: it is hidden as a key, and computed as a query like any other token, as in the reference.
/// @param config   says what padding is, and how a target begins
/// @param sources  the source sentences
/// @param targets  as many target sentences
/// @return         the batch
/// @throws std::invalid_argument when there are more of one than of the other, or a token is not in the vocabulary
Batch pack(const Config& config, std::span<const Tokens> sources, std::span<const Tokens> targets);

}  // namespace attn::engine
