/// @file
/// @brief Chapter 08: layer normalisation, every token by itself.
#pragma once

#include "attn/core/dialect.hpp"
#include "attn/core/matrix.hpp"

namespace attn {

/// What a layer norm has learned.
struct LayerNorm {
  Matrix gamma;  ///< the gain, shape (1, d)
  Matrix beta;   ///< the bias, shape (1, d)
};

/// Brings every row to mean 0 and variance 1, then to what was learned:
/// \f$y = \gamma (x - \mu) / \sqrt{\sigma^2 + \varepsilon} + \beta\f$, with \f$\sigma^2 = \frac{1}{d} \sum_c (x_c
/// - \mu)^2\f$. The annotated form divides by \f$s + \varepsilon\f$ in place of the root, with \f$s^2 =
/// \frac{1}{d-1} \sum_c (x_c - \mu)^2\f$.
/// @param x        one token a row, shape (n, d)
/// @param weights  gamma and beta
/// @param dialect  which form, and which epsilon
/// @return         of the same shape; a row that is constant gives beta
/// @throws std::invalid_argument when a shape does not fit, or the annotated form has only one channel
/// @see Ba, Kiros, Hinton 2016, section 3.1
Matrix layer_norm(const Matrix& x, const LayerNorm& weights, const Dialect& dialect = Dialect());

}  // namespace attn
