/// @file
/// @brief Which sentences make a batch: as many as a budget of tokens allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attn/training/pairs.hpp"

namespace attn::training {

/// Pairs by their numbers, batch after batch.
using Batches = std::vector<std::vector<std::size_t>>;

/// Shares all pairs out among batches, in an order that is drawn anew in each epoch. Every batch has short
/// sentences and long ones: batches are packed without padding, so that costs nothing, and a model that sees one
/// length at a time forgets the others. A function of its arguments alone.
/// @param pairs   the sentences
/// @param tokens  how many a batch may have at most, of the source and of the target each
/// @param seed    of the training
/// @param epoch   how often all pairs have been gone through
/// @return        every pair once
/// @throws std::invalid_argument naming a pair that is longer than a batch
Batches make_batches(const Pairs& pairs, std::size_t tokens, std::uint64_t seed, std::uint32_t epoch);

}  // namespace attn::training
