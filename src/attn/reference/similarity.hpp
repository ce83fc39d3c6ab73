/// @file
/// @brief Chapter 01: attention with nothing learned, \f$\mathrm{softmax}(XX^\top)X\f$.
#pragma once

#include "attn/core/matrix.hpp"

namespace attn {

/// Every row against every row: \f$S = XX^\top\f$, \f$S_{ij} = x_i \cdot x_j\f$.
/// @param X  one token a row, shape (n, d)
/// @return   the scores, shape (n, n), symmetric
Matrix similarity_scores(const Matrix& X);

/// Each row to positive weights that sum to 1: \f$\mathrm{softmax}(s)_j = e^{s_j} / \sum_k e^{s_k}\f$. The row's
/// maximum is taken off first, which changes nothing on paper and keeps \f$e^s\f$ from overflowing.
/// @param scores  one query a row, one key a column, shape (n_q, n_k)
/// @return        the weights, of the same shape
Matrix softmax(const Matrix& scores);

/// Mixes the rows of V: row i of the result is \f$\sum_j A_{ij} v_j\f$, which is the matrix product \f$AV\f$.
/// @param weights  shape (n_q, n_k)
/// @param V        one value a row, shape (n_k, d_v)
/// @return         one mixture a row, shape (n_q, d_v)
/// @throws std::invalid_argument when V does not have n_k rows
Matrix weighted_sum(const Matrix& weights, const Matrix& V);

/// Attention in its simplest form: \f$\mathrm{softmax}(XX^\top)X\f$. Traces X, scores, weights, output.
/// @param X  one token a row, shape (n, d)
/// @return   for each token a mixture of all tokens, shape (n, d)
Matrix similarity_attention(const Matrix& X);

/// The cosine of the angle between two vectors, \f$a \cdot b / (\lVert a \rVert \lVert b \rVert)\f$: what is left
/// of the inner product when length does not count.
/// @param a  a vector of n numbers, not all zero
/// @param b  a vector of n numbers, not all zero
/// @return   a number in [-1, 1]
/// @throws std::invalid_argument when the lengths differ, or a length is zero or too large for a double
double cosine(const Vector& a, const Vector& b);

}  // namespace attn
