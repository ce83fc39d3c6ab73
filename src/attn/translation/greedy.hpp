/// @file
/// @brief One token at a time, always the likeliest.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attn/core/tokens.hpp"
#include "attn/engine/transformer.hpp"

namespace attn::translation {

/// Writes a target for each source: always the likeliest token next, the first of equals, until EOS. The whole
/// target so far is computed again for each token. The other sources of a batch change the logits of a sentence by
/// rounding, at most 1e-5: the same tokens are written wherever the candidates' logits differ by more than 1e-4.
/// @param model    any
/// @param sources  the sentences it reads
/// @param longest  how many tokens a target may have, EOS included
/// @return         as many targets, with their EOS if they came to it
/// @throws std::invalid_argument when a source has a token that is not in the vocabulary, or the logits are NaN
std::vector<Tokens> greedy(engine::Transformer& model, std::span<const Tokens> sources, std::size_t longest);

/// Which sentences come out exactly as they should.
/// @param model    any
/// @param sources  what it reads
/// @param targets  what it should write, ending with EOS
/// @return         for each sentence, whether it writes the target, token for token
/// @throws std::invalid_argument when there are none, or not as many of one as of the other
std::vector<bool> exact_matches(engine::Transformer& model, std::span<const Tokens> sources,
                                std::span<const Tokens> targets);

/// The share of sentences that come out exactly as they should.
/// @param model    any
/// @param sources  what it reads
/// @param targets  what it should write, ending with EOS
/// @return         between 0 and 1: the share of the targets it writes, token for token
/// @throws std::invalid_argument when there are none, or not as many of one as of the other
double exact_match(engine::Transformer& model, std::span<const Tokens> sources, std::span<const Tokens> targets);

}  // namespace attn::translation
