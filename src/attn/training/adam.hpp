/// @file
/// @brief Adam.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attn/engine/backend/backend.hpp"
#include "attn/engine/parameters.hpp"

namespace attn::training {

/// How Adam moves.
struct AdamOptions {
  double beta_1 = 0.9;            ///< of the mean of the gradients
  double beta_2 = 0.98;           ///< of the mean of their squares
  double epsilon = 1e-9;          ///< added to the root
  double longest_gradient = 0.0;  ///< a longer one is shortened to this; 0: none is
};

/// The optimiser, with its two means for each parameter.
/// @see Kingma, Ba 2015; Vaswani et al. 2017, section 5.3
class Adam {
 public:
  /// @param parameters  what is optimised; it must live as long
  /// @param backend     who computes
  /// @param options     how it moves
  Adam(engine::Parameters& parameters, engine::Backend& backend, const AdamOptions& options = {});
  ~Adam();
  Adam(const Adam&) = delete;
  Adam& operator=(const Adam&) = delete;

  /// One update, after which the gradients are 0 again.
  /// @param rate            the learning rate
  /// @param gradient_scale  what the gradients are multiplied with, such as 1 / tokens
  /// @return                the length of the gradient, scaled but not shortened
  /// @throws std::invalid_argument when a gradient is NaN or infinite; then nothing is changed
  double update(double rate, double gradient_scale = 1.0);

  /// @return how many updates there were
  std::uint64_t updates() const { return t_; }

  /// Goes on from a saved state: mean() and square() are the caller's to fill.
  /// @param updates  how many there were
  void resume_after(std::uint64_t updates) { t_ = updates; }

  /// @return the means of the gradients, in the order of the parameters
  engine::View mean() const { return mean_; }

  /// @return the means of their squares
  engine::View square() const { return square_; }

 private:
  engine::Parameters& parameters_;
  engine::Backend& backend_;
  AdamOptions options_;
  engine::View mean_, square_;
  std::uint64_t t_ = 0;
};

}  // namespace attn::training
