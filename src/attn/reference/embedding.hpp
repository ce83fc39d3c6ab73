/// @file
/// @brief Chapter 09: tokens to vectors.
#pragma once

#include <cstddef>
#include <string>

#include "attn/core/dialect.hpp"
#include "attn/core/matrix.hpp"
#include "attn/core/tokens.hpp"

namespace attn {

/// Demands that a token is in a vocabulary.
/// @param token  the token
/// @param V      how many there are
/// @param name   what to call it, such as "token 3"
/// @throws std::invalid_argument "token 3: wanted one of 11 tokens, counted from 0, got 11"
void expect_token(int token, std::size_t V, const std::string& name);

/// Looks each token up in a table, times \f$\sqrt{d_{model}}\f$ where the dialect says so (the paper does).
/// @param tokens   each a row of the table; the first may be no_token
/// @param table    one token a row, shape (V, d_model)
/// @param dialect  whether to scale
/// @return         one token a row, shape (n, d_model)
/// @throws std::invalid_argument naming the token that is in no row
/// @see Vaswani et al. 2017, section 3.4
Matrix embed(const Tokens& tokens, const Matrix& table, const Dialect& dialect = Dialect());

}  // namespace attn
