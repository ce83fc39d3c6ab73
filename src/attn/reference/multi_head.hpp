/// @file
/// @brief Chapter 04: several heads side by side, each with an attention of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "attn/core/matrix.hpp"
#include "attn/reference/scaling.hpp"

namespace attn {

/// How one head attends: from Q, K, V to mixtures of the values. attention() is one; later chapters bring others.
using Attend = std::function<Matrix(const Matrix& Q, const Matrix& K, const Matrix& V)>;

/// The matrices of all heads, side by side: head i has the i-th part of the columns of W_Q, W_K, W_V.
struct MultiHead {
  std::size_t h = 1;  ///< how many heads
  Matrix W_Q;         ///< shape (d_model, h·d_k)
  Matrix W_K;         ///< shape (d_memory, h·d_k); d_memory is d_model in the Transformer
  Matrix W_V;         ///< shape (d_memory, h·d_v)
  Matrix W_O;         ///< shape (h·d_v, d_model)
  Matrix b_Q = {};    ///< shape (1, h·d_k), or empty: the paper has none
  Matrix b_K = {};    ///< shape (1, h·d_k), or empty
  Matrix b_V = {};    ///< shape (1, h·d_v), or empty
  Matrix b_O = {};    ///< shape (1, d_model), or empty
};

/// A linear map of every row, and a bias where there is one: \f$XW + b\f$.
/// @param X  one token a row, shape (n, d_in)
/// @param W  shape (d_in, d_out)
/// @param b  shape (1, d_out), or empty for none
/// @return   shape (n, d_out)
/// @throws std::invalid_argument when a shape does not fit
Matrix linear(const Matrix& X, const Matrix& W, const Matrix& b);

/// Cuts the columns into h equal parts: head i gets columns i·d to (i+1)·d.
/// @param Q  shape (n, h·d)
/// @param h  how many heads
/// @return   h matrices of shape (n, d)
/// @throws std::invalid_argument when h does not divide the number of columns
std::vector<Matrix> split_heads(const Matrix& Q, std::size_t h);

/// Sets the heads side by side again: \f$[\mathrm{head}_1, \ldots, \mathrm{head}_h]\f$.
/// @param heads  at least one; all of one shape (n, d)
/// @return       shape (n, h·d)
/// @throws std::invalid_argument when there is none or the shapes differ
Matrix concat(const std::vector<Matrix>& heads);

/// Multi-head attention: \f$[\mathrm{head}_1, \ldots, \mathrm{head}_h] W^O\f$ with
/// \f$\mathrm{head}_i = \mathrm{Attention}(xW_i^Q, yW_i^K, yW_i^V)\f$, y being the memory. Traces Q, K, V, what
/// each head traces under head.i, concat, output.
/// @param x        what asks, shape (n_q, d_model)
/// @param memory   what is looked at, shape (n_k, d_memory); x itself in self-attention
/// @param weights  the matrices of the heads
/// @param attend   what each head does
/// @return         shape (n_q, d_model)
/// @throws std::invalid_argument when a shape does not fit
/// @see Vaswani et al. 2017, section 3.2.2
Matrix multi_head_attention(const Matrix& x, const Matrix& memory, const MultiHead& weights,
                            const Attend& attend = attention);

}  // namespace attn
