/// @file
/// @brief Chapter 06: one sequence asks, another answers.
#pragma once

#include "attn/core/matrix.hpp"
#include "attn/reference/multi_head.hpp"
#include "attn/reference/projections.hpp"

namespace attn {

/// Cross-attention: queries from one sequence, keys and values from another,
/// \f$\mathrm{Attention}(xW_Q, yW_K, yW_V)\f$ with y the memory. Traces x, memory, then as the head traces.
/// @param x        what asks, shape (n_q, d_x)
/// @param memory   what is looked at, shape (n_k, d_memory); neither size needs to be that of x
/// @param weights  W_Q of shape (d_x, d_k), W_K of shape (d_memory, d_k), W_V of shape (d_memory, d_v)
/// @param attend   what is done with Q, K and V
/// @return         for each row of x a mixture of what the memory holds, shape (n_q, d_v)
/// @throws std::invalid_argument when a shape does not fit
/// @see Vaswani et al. 2017, section 3.2.3, first use: "encoder-decoder attention"
Matrix cross_attention(const Matrix& x, const Matrix& memory, const Projections& weights,
                       const Attend& attend = attention);

}  // namespace attn
