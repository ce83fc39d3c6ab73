/// @file
/// @brief The table of positions, in floats.
#pragma once

#include <cstddef>
#include <vector>

#include "attn/core/dialect.hpp"

namespace attn::engine {

/// Sines and cosines for the first n places of a sentence, computed in double.
/// @param n        how many places
/// @param d_model  how many channels
/// @param dialect  layout and first position
/// @return         n d_model numbers, row by row
/// @see Vaswani et al. 2017, section 3.5
std::vector<float> position_table(std::size_t n, std::size_t d_model, const Dialect& dialect);

}  // namespace attn::engine
