/// @file
/// @brief Chapter 07: where a token stands, as a vector that is added to it.
#pragma once

#include <cstddef>

#include "attn/core/dialect.hpp"
#include "attn/core/matrix.hpp"

namespace attn {

/// Sines and cosines for positions p = first, first + 1, …: in the paper's layout
/// \f$PE_{p,2i} = \sin(p / 10000^{2i/d})\f$ and \f$PE_{p,2i+1} = \cos(p / 10000^{2i/d})\f$, d being d_model. An
/// odd d ends with a sine; any position is computed when it is asked for.
/// @param n        how many positions
/// @param d_model  how many channels
/// @param layout   which channels are sines, and how fast they turn
/// @param first    the number of the first position
/// @return         one position a row, shape (n, d_model)
/// @see Vaswani et al. 2017, section 3.5
Matrix positional_encoding(std::size_t n, std::size_t d_model, PositionLayout layout = PositionLayout::interleaved,
                           std::size_t first = 0);

/// Tokens with their positions added. Traces positions, output.
/// @param X       one token a row, shape (n, d_model)
/// @param layout  as in positional_encoding()
/// @param first   as in positional_encoding()
/// @return        \f$X + PE\f$
Matrix add_positions(const Matrix& X, PositionLayout layout = PositionLayout::interleaved, std::size_t first = 0);

/// The matrix that moves every position by k: \f$PE_{p+k} = PE_p M_k\f$ for all p, each pair of sine and cosine
/// being turned by an angle of its own.
/// @param k        how far
/// @param d_model  how many channels, an even number
/// @return         shape (d_model, d_model), for the paper's layout
/// @throws std::invalid_argument when d_model is odd: the last sine has no cosine to turn with
Matrix shift_matrix(std::size_t k, std::size_t d_model);

/// Positions that were learned: the first n rows of a table.
/// @param table  one position a row
/// @param n      how many are wanted
/// @return       shape (n, d_model)
/// @throws std::invalid_argument when the table has fewer rows
Matrix learned_positions(const Matrix& table, std::size_t n);

}  // namespace attn
