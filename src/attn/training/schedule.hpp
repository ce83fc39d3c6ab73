/// @file
/// @brief The learning rate of each update.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attn::training {

/// The learning rate of an update: \f$d_{model}^{-1/2} \min(s^{-1/2}, s\,w^{-3/2})\f$, rising for w updates and
/// falling from then on.
/// @param d_model  features of a token
/// @param warmup   w, at least 1; 4000 in the paper
/// @param step     s, the number of the update, from 1
/// @return         the rate
/// @throws std::invalid_argument when warmup or step is 0
/// @see Vaswani et al. 2017, section 5.3, equation (3)
double paper_rate(std::size_t d_model, std::size_t warmup, std::uint64_t step);

/// The paper's rate, times a number of one's own.
struct Schedule {
  std::size_t d_model = 512;  ///< features of a token
  std::size_t warmup = 4000;  ///< how many updates it rises
  double scale = 1.0;         ///< 1 in the paper
  bool warms_up = true;       ///< otherwise the first updates have the highest rate already

  /// @param step  the number of the update, from 1
  /// @return      its rate
  /// @throws std::invalid_argument when warmup or step is 0
  double rate(std::uint64_t step) const;
};

}  // namespace attn::training
