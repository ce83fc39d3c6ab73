/// @file
/// @brief Which sentences make a batch: as many of similar length as a budget of tokens allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attn/training/pairs.hpp"

namespace attn::training {

/// Pairs by their numbers, batch after batch.
using Batches = std::vector<std::vector<std::size_t>>;

/// Shares all pairs out among batches. Neighbours in length come together; which of equals, and in what order the
/// batches come, is drawn anew in each epoch. A function of its arguments alone.
/// @param pairs   the sentences
/// @param tokens  how many a batch may have at most, of the source and of the target each
/// @param seed    of the training
/// @param epoch   how often all pairs have been gone through
/// @return        every pair once
/// @throws std::invalid_argument naming a pair that is longer than a batch
Batches make_batches(const Pairs& pairs, std::size_t tokens, std::uint64_t seed, std::uint32_t epoch);

}  // namespace attn::training
