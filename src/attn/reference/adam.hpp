/// @file
/// @brief Chapter 10: Adam, which makes steps of one size out of gradients of any size.
#pragma once

#include <cstddef>

#include "attn/core/matrix.hpp"

namespace attn {

/// What Adam is told, and what it remembers of one parameter.
struct Adam {
  double beta_1 = 0.9;    ///< how much of the mean gradient is kept
  double beta_2 = 0.98;   ///< how much of the mean square is kept
  double epsilon = 1e-9;  ///< added to the root
  std::size_t t = 0;      ///< how many updates there were
  Matrix m;               ///< the mean of the gradients; empty before the first
  Matrix v;               ///< the mean of their squares; empty before the first
};

/// One update: \f$\theta - \eta\,\hat m / (\sqrt{\hat v} + \varepsilon)\f$, where \f$m = \beta_1 m + (1 - \beta_1)
/// g\f$, \f$v = \beta_2 v + (1 - \beta_2) g^2\f$, \f$\hat m = m / (1 - \beta_1^t)\f$, \f$\hat v = v / (1 -
/// \beta_2^t)\f$. Traces m, v, m_hat, v_hat.
/// @param theta  the parameter
/// @param g      the gradient of the loss by it, of the same shape
/// @param rate   the learning rate \f$\eta\f$
/// @param adam   goes on from what it remembers
/// @return       the parameter after the update
/// @throws std::invalid_argument when the shapes differ
/// @see Kingma, Ba 2015, algorithm 1; Vaswani et al. 2017, section 5.3
Matrix adam_update(const Matrix& theta, const Matrix& g, double rate, Adam& adam);

}  // namespace attn
