/// @file
/// @brief Chapter 08: dropout, which is only there while a model learns.
#pragma once

#include "attn/core/dropout.hpp"
#include "attn/core/matrix.hpp"

namespace attn {

/// Sets each number to 0 with probability p and multiplies the others by \f$1/(1-p)\f$, so that the mean stays.
/// @param X        any matrix
/// @param dropout  which run; its next site is taken. None: X comes back unchanged
/// @return         of the same shape
/// @see Srivastava et al. 2014; Vaswani et al. 2017, section 5.4
Matrix apply_dropout(const Matrix& X, Dropout* dropout);

}  // namespace attn
