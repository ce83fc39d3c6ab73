/// @file
/// @brief Which numbers dropout drops: one function of a counter, for any program and any order.
#pragma once

#include <cstdint>

namespace attn {

/// Goes into the key, so that the masks of a seed have nothing to do with Random's numbers of the same seed.
constexpr std::uint32_t dropout_key = 0x64726F70;  // "drop"

/// Which run of dropout this is.
struct Dropout {
  double p = 0.1;               ///< the share that is dropped, 0 <= p < 1
  std::uint64_t seed = 0;       ///< of the training
  std::uint32_t step = 0;       ///< of the training
  std::uint32_t sequence = 0;   ///< the number of the sentence in its batch
  std::uint32_t next_site = 0;  ///< sites are numbered in the order in which a sentence passes them

  /// What a number is multiplied with: 0 with probability p, else 1/(1-p).
  /// @param site   which of the places where a sentence meets dropout
  /// @param index  which number there, row by row
  /// @return       the factor, a function of its arguments and of seed, step, sequence alone
  /// @throws std::invalid_argument when p is no share
  double factor(std::uint32_t site, std::uint32_t index) const;
};

}  // namespace attn
