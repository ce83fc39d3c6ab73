/// @file
/// @brief Layer norm of a row whose squares no float can hold: the same formulas in double.
#pragma once

#include <cfloat>
#include <cstddef>

#include "attn/engine/backend/backend.hpp"
#include "attn/engine/backend/kernels.hpp"

namespace attn::engine {

/// Tells whether the forward pass of a row has to be computed in double: the squares overflow in float, or they
/// underflow while epsilon is too small to replace them.
/// @param moments  of the row, in float
/// @param form     what the norm divides by
/// @return         true also for a row with NaN or infinity
inline bool needs_wide_norm(kernels::Moments moments, NormForm form) {
  const bool vanishes = moments.squares < 1e-25f && form.epsilon < 1e-12f;
  return !(moments.squares < FLT_MAX) || vanishes;
}

/// Tells whether the backward pass of a row has to be computed in double.
/// @param inverse  the inverse divisor that the forward pass has left
/// @return         true also for NaN
inline bool needs_wide_norm_backward(float inverse) { return !(inverse > 1e-18f); }

/// Norms a row. Leaves its mean and inverse divisor in stats; the latter may be 0 in float.
/// @param x      the row, n numbers
/// @param gamma  n numbers
/// @param beta   n numbers
/// @param form   what it is divided by
/// @param y      the result; may be x itself
/// @param stats  2 numbers
/// @param n      the width
void wide_norm(const float* x, const float* gamma, const float* beta, NormForm form, float* y, float* stats,
               std::size_t n);

/// The gradient of a row; adds to dgamma and dbeta.
/// @param x       the row, n numbers
/// @param gamma   n numbers
/// @param form    what it was divided by
/// @param dy      the gradient of y
/// @param add     whether dx keeps what it has
/// @param dx      the gradient of x; may be dy itself
/// @param dgamma  n numbers
/// @param dbeta   n numbers
/// @param n       the width
void wide_norm_backward(const float* x, const float* gamma, NormForm form, const float* dy, bool add, float* dx,
                        float* dgamma, float* dbeta, std::size_t n);

}  // namespace attn::engine
