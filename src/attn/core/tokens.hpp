/// @file
/// @brief Sentences as numbers.
#pragma once

#include <vector>

namespace attn {

/// A sentence, as the numbers of its tokens.
using Tokens = std::vector<int>;

/// Stands for "not a token yet": its embedding is a row of zeros.
constexpr int no_token = -1;

}  // namespace attn
