/// @file
/// @brief Chapter 08: the position-wise feed-forward layer.
#pragma once

#include "attn/core/dialect.hpp"
#include "attn/core/matrix.hpp"
#include "attn/reference/dropout.hpp"

namespace attn {

/// Two linear maps, the same for every token.
struct FeedForward {
  Matrix W_1;  ///< shape (d_model, d_ff)
  Matrix b_1;  ///< shape (1, d_ff)
  Matrix W_2;  ///< shape (d_ff, d_model)
  Matrix b_2;  ///< shape (1, d_model)
};

/// \f$x / (1 + e^{-x})\f$ of every number.
/// @param X  any matrix
/// @return   of the same shape
Matrix swish(const Matrix& X);

/// \f$\max(0, x)\f$ of every number.
/// @param X  any matrix
/// @return   of the same shape; NaN stays NaN
Matrix relu(const Matrix& X);

/// \f$\mathrm{FFN}(x) = \max(0, xW_1 + b_1) W_2 + b_2\f$, every row by itself. Traces hidden, output.
/// @param x        one token a row, shape (n, d_model)
/// @param weights  the two maps
/// @param dialect  the activation, and whether dropout comes in between
/// @param dropout  while training; none otherwise
/// @return         shape (n, d_model)
/// @throws std::invalid_argument when a shape does not fit
/// @see Vaswani et al. 2017, section 3.3, equation (2)
Matrix feed_forward(const Matrix& x, const FeedForward& weights, const Dialect& dialect = Dialect(),
                    Dropout* dropout = nullptr);

}  // namespace attn
