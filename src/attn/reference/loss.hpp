/// @file
/// @brief Chapter 09: how wrong the logits are.
#pragma once

#include "attn/core/dialect.hpp"
#include "attn/core/matrix.hpp"
#include "attn/reference/embedding.hpp"

namespace attn {

/// The logarithm of softmax, row by row: \f$s_j - \log \sum_k e^{s_k}\f$.
/// @param logits  shape (m, V)
/// @return        of the same shape
Matrix log_softmax(const Matrix& logits);

/// Label smoothing: how much of the right answer is given away, and to whom.
struct LabelSmoothing {
  double epsilon = 0.0;                     ///< 0 <= epsilon < 1; 0.1 in the paper
  Smoothing form = Smoothing::all_classes;  ///< to whom
};

/// How much of the truth a class has: what the probabilities are held against.
/// @param c          the class
/// @param y          the right one
/// @param pad        the token that does not count
/// @param V          how many classes there are
/// @param smoothing  to whom it is given
/// @return           \f$q_c\f$; over all classes they sum to 1
/// @see Szegedy et al. 2016, section 7
double share(int c, int y, int pad, std::size_t V, const LabelSmoothing& smoothing);

/// Refuses what no loss can be taken of.
/// @param logits     one position a row, shape (m, V)
/// @param targets    m tokens
/// @param smoothing  of the targets
/// @throws std::invalid_argument when there are more or fewer targets, too few classes, or epsilon is no share
void expect_loss(const Matrix& logits, const Tokens& targets, const LabelSmoothing& smoothing);

/// The loss of each position: \f$-\sum_c q_c \log p_c\f$, q being all on the target, or smoothed. 0 for padding.
/// @param logits     one position a row, shape (m, V)
/// @param targets    m tokens
/// @param pad        the token that does not count
/// @param smoothing  none by default
/// @return           shape (1, m); infinite where a class that has a share of the truth, the right one or another,
///                   has probability 0
/// @throws std::invalid_argument when a target is no class, epsilon no share, or there are too few classes
/// @see Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4
Matrix cross_entropies(const Matrix& logits, const Tokens& targets, int pad, LabelSmoothing smoothing = {});

/// The loss of a sentence: the mean of cross_entropies() over the targets that are not padding; 0 if there are
/// none.
/// @param logits     as in cross_entropies()
/// @param targets    as in cross_entropies()
/// @param pad        as in cross_entropies()
/// @param smoothing  as in cross_entropies()
/// @return           a number >= 0
double cross_entropy(const Matrix& logits, const Tokens& targets, int pad, LabelSmoothing smoothing = {});

}  // namespace attn
