/// @file
/// @brief Words as vectors of letter n-grams: an honest embedding that needs no training.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attn/core/matrix.hpp"

namespace attn {

/// Turns words into vectors that know how words are written, and nothing of what they mean. A word, with a mark at
/// each end, is cut into all runs of 1, 2 and 3 letters; each run adds +1 or -1 to one of the d_model features,
/// both chosen by a hash of the run; then each row is brought to the same length. Words that share letters get
/// vectors that point the same way.
/// @param words    UTF-8, one token each
/// @param d_model  how many features, at least 1
/// @param length   the length of every row
/// @return         one word a row, shape (words, d_model)
/// @throws std::invalid_argument when d_model is 0
/// @throws InputError when a word is not UTF-8
/// @see Weinberger et al. 2009 (feature hashing); Bojanowski et al. 2017 (letter n-grams)
Matrix letter_ngrams(const std::vector<std::string>& words, std::size_t d_model, double length = 1.0);

}  // namespace attn
