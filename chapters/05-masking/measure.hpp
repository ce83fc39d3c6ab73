// What this chapter tries and measures: wrong ways to hide, and whether the future shows through.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "attn/core/table.hpp"
#include "attn/reference/masking.hpp"
#include "attn/reference/projections.hpp"
#include "attn/reference/similarity.hpp"

namespace attn {

/// A mask as numbers: 1 where it is true.
inline Matrix as_numbers(const Mask& mask) { return xt::cast<double>(mask); }

/// The first row of a matrix in a line: "0.7870 0.1065 0.1065".
inline std::string in_a_line(const Matrix& A) {
  std::string text;
  for (std::size_t j = 0; j < A.shape(1); ++j) text += (j == 0 ? "" : " ") + fixed(A(0, j));
  return text;
}

/// Self-attention under a mask.
inline Matrix masked_self_attention(const Matrix& X, const Projections& weights, const Mask& mask) {
  return masked_attention(project(X, weights.W_Q), project(X, weights.W_K), project(X, weights.W_V), mask);
}

// [same_bits]
/// Whether row i of both matrices holds the very same bits.
inline bool same_bits(const Matrix& A, const Matrix& B, std::size_t i) {
  return std::memcmp(&A(i, 0), &B(i, 0), A.shape(1) * sizeof(double)) == 0;
}
// [same_bits]

inline double largest_difference(const Matrix& A, const Matrix& B) { return xt::amax(xt::abs(A - B))(); }

/// The first rows of a matrix.
inline Matrix first_rows(const Matrix& A, std::size_t count) {
  return xt::view(A, xt::range(std::size_t{0}, count), xt::all());
}

/// A sentence with rows of one number behind it.
inline Matrix padded(const Matrix& X, std::size_t length, double filling) {
  Matrix Y({length, X.shape(1)}, filling);
  xt::view(Y, xt::range(std::size_t{0}, X.shape(0)), xt::all()) = X;
  return Y;
}

/// What the positions of a decoder can see. Position i has to say word i of the target.
struct Sight {
  std::size_t answers = 0;  // positions that see the word they have to say
  std::size_t pasts = 0;    // positions that see all words before it
  std::size_t blind = 0;    // positions that see nothing at all
};

/// @param mask     which position may look at which, shape (n, n)
/// @param shifted  whether the input begins with a start symbol, so that word i stands at position i + 1
inline Sight sight(const Mask& mask, bool shifted) {
  const std::size_t n = mask.shape(0), shift = shifted ? 1 : 0;
  Sight seen;
  for (std::size_t i = 0; i < n; ++i) {
    if (i + shift < n && mask(i, i + shift)) ++seen.answers;
    bool past = true, anything = false;
    for (std::size_t word = 0; word < i; ++word) past = past && mask(i, word + shift);
    for (std::size_t j = 0; j < n; ++j) anything = anything || mask(i, j);
    if (past) ++seen.pasts;
    if (!anything) ++seen.blind;
  }
  return seen;
}

}  // namespace attn
