/// @file
/// @brief Chapter 03: scaled dot-product attention, \f$\mathrm{softmax}(QK^\top/\sqrt{d_k})V\f$, and why it is
/// scaled.
#pragma once

#include "attn/core/matrix.hpp"
#include "attn/reference/projections.hpp"

namespace attn {

/// Attention with a scale of one's own choice: \f$\mathrm{softmax}(s\,QK^\top)V\f$. Traces Q, K, V, scores,
/// scaled_scores, weights, output.
/// @param Q      one query a row, shape (n_q, d_k)
/// @param K      one key a row, shape (n_k, d_k)
/// @param V      one value a row, shape (n_k, d_v)
/// @param scale  the factor s; 1 gives dot_product_attention()
/// @return       for each query a mixture of the values, shape (n_q, d_v)
/// @throws std::invalid_argument when a shape does not fit
Matrix scaled_attention(const Matrix& Q, const Matrix& K, const Matrix& V, double scale);

/// Scaled dot-product attention, the paper's equation (1): \f$\mathrm{softmax}(QK^\top/\sqrt{d_k})V\f$.
/// @param Q  one query a row, shape (n_q, d_k), d_k >= 1
/// @param K  one key a row, shape (n_k, d_k)
/// @param V  one value a row, shape (n_k, d_v)
/// @return   for each query a mixture of the values, shape (n_q, d_v)
/// @throws std::invalid_argument when a shape does not fit
/// @see Vaswani et al. 2017, section 3.2.1, equation (1)
Matrix attention(const Matrix& Q, const Matrix& K, const Matrix& V);

/// Scaled attention of a sequence to itself. Traces X, then as scaled_attention().
/// @param X        one token a row, shape (n, d_model)
/// @param weights  the projections
/// @return         for each token a mixture of the values of all tokens, shape (n, d_v)
/// @throws std::invalid_argument when a shape does not fit
Matrix self_attention(const Matrix& X, const Projections& weights);

/// How softmax answers to a small change of its scores: \f$\partial p_i / \partial s_j = p_i (\delta_{ij} -
/// p_j)\f$.
/// @param p  one row of weights, n numbers
/// @return   the Jacobian, shape (n, n), symmetric; zero where softmax is saturated
Matrix softmax_jacobian(const Vector& p);

}  // namespace attn
