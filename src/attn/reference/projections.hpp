/// @file
/// @brief Chapter 02: queries, keys and values, \f$\mathrm{softmax}(QK^\top)V\f$.
#pragma once

#include "attn/core/matrix.hpp"

namespace attn {

/// The three matrices that make queries, keys and values out of the tokens.
struct Projections {
  Matrix W_Q;  ///< shape (d_model, d_k)
  Matrix W_K;  ///< shape (d_model, d_k)
  Matrix W_V;  ///< shape (d_model, d_v)
};

/// A linear map of every row: \f$XW\f$.
/// @param X  one token a row, shape (n, d_model)
/// @param W  shape (d_model, d)
/// @return   one token a row, shape (n, d)
/// @throws std::invalid_argument when W does not have d_model rows
Matrix project(const Matrix& X, const Matrix& W);

/// Attention before it is scaled: \f$\mathrm{softmax}(QK^\top)V\f$. Traces scores, weights, output.
/// @param Q  one query a row, shape (n_q, d_k)
/// @param K  one key a row, shape (n_k, d_k)
/// @param V  one value a row, shape (n_k, d_v)
/// @return   for each query a mixture of the values, shape (n_q, d_v)
/// @throws std::invalid_argument when a shape does not fit
/// @see Vaswani et al. 2017, section 3.2.1, "dot-product attention"
Matrix dot_product_attention(const Matrix& Q, const Matrix& K, const Matrix& V);

/// Attention of a sequence to itself through three projections, not scaled. Traces X, Q, K, V, scores, weights,
/// output.
/// @param X        one token a row, shape (n, d_model)
/// @param weights  the projections
/// @return         for each token a mixture of the values of all tokens, shape (n, d_v)
/// @throws std::invalid_argument when a shape does not fit
Matrix projected_attention(const Matrix& X, const Projections& weights);

}  // namespace attn
