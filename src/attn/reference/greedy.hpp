/// @file
/// @brief Chapter 09: one token after the other, always the likeliest.
#pragma once

#include <cstddef>

#include "attn/reference/transformer.hpp"

namespace attn {

/// A target that was made word by word.
struct Decoded {
  Tokens tokens;                 ///< EOS at the end, if it came to that
  double log_probability = 0.0;  ///< the sum over its tokens, EOS and a forced beginning included
  bool finished = false;         ///< whether EOS came before the length ran out
};

/// Greedy decoding: at each step the decoder reads all it has written so far, and the likeliest next token is
/// taken; of equals, the one with the lowest number.
/// @param model        the model
/// @param source       the source tokens
/// @param most_tokens  how many tokens to make at most, EOS among them
/// @param prefix       tokens that the target must begin with; their probabilities count too
/// @return             the target
/// @throws std::invalid_argument when a token is not in the vocabulary, or the logits are NaN
Decoded greedy(const Transformer& model, const Tokens& source, std::size_t most_tokens, const Tokens& prefix = {});

}  // namespace attn
