/// @file
/// @brief Chapter 10: the way back: how a loss changes with the logits, and with what attention was made from.
#pragma once

#include "attn/core/matrix.hpp"
#include "attn/reference/loss.hpp"

namespace attn {

/// The gradient of cross_entropy() by its logits: \f$(p - q) / \mathrm{tokens}\f$ in each row, 0 where the target
/// is padding. Traces dlogits.
/// @param logits     as in cross_entropy(), shape (m, V)
/// @param targets    as in cross_entropy()
/// @param pad        as in cross_entropy()
/// @param smoothing  as in cross_entropy()
/// @return           of the shape of the logits; each row sums to 0
/// @throws std::invalid_argument as cross_entropy()
Matrix cross_entropy_backward(const Matrix& logits, const Tokens& targets, int pad, LabelSmoothing smoothing = {});

/// The way back through softmax: \f$dS_{ij} = A_{ij} (dA_{ij} - \sum_k A_{ik}\,dA_{ik})\f$.
/// @param A   weights, each row what softmax() gave or all 0
/// @param dA  the gradient of a loss by them, of the same shape
/// @return    the gradient by the scores, of the same shape; each row sums to 0
/// @throws std::invalid_argument when the shapes differ
Matrix softmax_backward(const Matrix& A, const Matrix& dA);

/// How a loss changes with what attention was made from.
struct AttentionGradients {
  Matrix dQ;  ///< by the queries, shape (n_q, d_k)
  Matrix dK;  ///< by the keys, shape (n_k, d_k)
  Matrix dV;  ///< by the values, shape (n_k, d_v)
};

/// The way back through attention(). Traces weights, dV, dA, dS, dQ, dK.
/// @param Q   as in attention(), shape (n_q, d_k)
/// @param K   as in attention(), shape (n_k, d_k)
/// @param V   as in attention(), shape (n_k, d_v)
/// @param dO  the gradient of a loss by the output, shape (n_q, d_v)
/// @return    the gradients by Q, K and V
/// @throws std::invalid_argument when a shape does not fit
AttentionGradients attention_backward(const Matrix& Q, const Matrix& K, const Matrix& V, const Matrix& dO);

/// The way back through masked_attention(): nothing comes back from where nobody may look, even if it is NaN.
/// Traces as attention_backward().
/// @param Q     as in masked_attention(), shape (n_q, d_k)
/// @param K     as in masked_attention(), shape (n_k, d_k)
/// @param V     as in masked_attention(), shape (n_k, d_v)
/// @param mask  shape (n_q, n_k), true = may look
/// @param dO    the gradient of a loss by the output, shape (n_q, d_v)
/// @return      the gradients by Q, K and V; zeros for a query that may look at nothing
/// @throws std::invalid_argument when a shape does not fit
AttentionGradients masked_attention_backward(const Matrix& Q, const Matrix& K, const Matrix& V, const Mask& mask,
                                             const Matrix& dO);

}  // namespace attn
