/// @file
/// @brief Chapter 05: masks, which say who may look at whom.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "attn/core/matrix.hpp"
#include "attn/reference/multi_head.hpp"

namespace attn {

/// Everybody may look at everybody.
/// @param n_q  how many queries
/// @param n_k  how many keys
/// @return     a mask of shape (n_q, n_k), true everywhere
Mask full_mask(std::size_t n_q, std::size_t n_k);

/// A token may look at itself and at what came before: \f$M_{ij} = (j \le i)\f$.
/// @param n  how many tokens
/// @return   a mask of shape (n, n), true on and below the diagonal
/// @see Vaswani et al. 2017, section 3.2.3
Mask causal_mask(std::size_t n);

/// Nobody may look at padding: \f$M_{ij}\f$ is true where key j is a token.
/// @param n_q       how many queries
/// @param is_token  for each key, whether it is a token; false for padding
/// @return          a mask of shape (n_q, n_k), all rows alike
Mask padding_mask(std::size_t n_q, const std::vector<bool>& is_token);

/// Looking is allowed where both masks allow it.
/// @param a  any mask
/// @param b  a mask of the same shape
/// @return   \f$a \wedge b\f$
/// @throws std::invalid_argument when the shapes differ
Mask both(const Mask& a, const Mask& b);

/// Scores with \f$-\infty\f$ in every place where the mask forbids looking.
/// @param scores  shape (n_q, n_k)
/// @param mask    of the same shape
/// @return        the masked scores; what stood in a forbidden place, NaN included, is gone
/// @throws std::invalid_argument when the shapes differ
Matrix masked_scores(const Matrix& scores, const Mask& mask);

/// Numbers are no mask: 0 and 1, or 0 and \f$-\infty\f$, mean different things to different people.
Matrix masked_scores(const Matrix& scores, const Matrix& numbers) = delete;

/// softmax() of masked scores: exactly 0 where a score is \f$-\infty\f$, and a row with nothing left is all 0.
/// @param scores  shape (n_q, n_k)
/// @return        weights of the same shape; each row sums to 1 or is all 0
Matrix masked_softmax(const Matrix& scores);

/// weighted_sum() in which a value that must not be looked at cannot do harm, even if it is NaN or infinite.
/// @param weights  shape (n_q, n_k), 0 where the mask is false
/// @param V        one value a row, shape (n_k, d_v)
/// @param mask     shape (n_q, n_k)
/// @return         \f$\sum_{j: M_{ij}} A_{ij} v_j\f$, shape (n_q, d_v)
/// @throws std::invalid_argument when a shape does not fit
Matrix masked_sum(const Matrix& weights, const Matrix& V, const Mask& mask);

/// Scaled dot-product attention under a mask. Traces Q, K, V, scores, scaled_scores, masked_scores, weights,
/// output.
/// @param Q           one query a row, shape (n_q, d_k), d_k >= 1
/// @param K           one key a row, shape (n_k, d_k)
/// @param V           one value a row, shape (n_k, d_v)
/// @param mask        shape (n_q, n_k), true = may look; full_mask() gives attention()
/// @param on_weights  what is done to the weights before they mix; nothing, if there is none (chapter 08 drops
/// some)
/// @return            shape (n_q, d_v); zeros for a query that may look at nothing
/// @throws std::invalid_argument when a shape does not fit
/// @see Vaswani et al. 2017, section 3.2.3, third use
Matrix masked_attention(const Matrix& Q, const Matrix& K, const Matrix& V, const Mask& mask,
                        const std::function<Matrix(const Matrix&)>& on_weights = {});

/// Numbers are no mask.
Matrix masked_attention(const Matrix& Q, const Matrix& K, const Matrix& V, const Matrix& numbers,
                        const std::function<Matrix(const Matrix&)>& on_weights = {}) = delete;

/// masked_attention() for multi_head_attention(): every head under the same mask.
/// @param mask        shape (n_q, n_k)
/// @param on_weights  as in masked_attention()
/// @return            what each head does
Attend under(const Mask& mask, const std::function<Matrix(const Matrix&)>& on_weights = {});

/// Numbers are no mask.
Attend under(const Matrix& numbers, const std::function<Matrix(const Matrix&)>& on_weights = {}) = delete;

}  // namespace attn
