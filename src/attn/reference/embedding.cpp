// Chapter 09.
#include "attn/reference/embedding.hpp"

#include <cmath>

#include "attn/core/errors.hpp"
#include "attn/core/shape.hpp"

namespace attn {

void expect_token(int token, std::size_t V, const std::string& name) {
  const bool is_there = token >= 0 && static_cast<std::size_t>(token) < V;
  if (!is_there) refuse(name, "one of " + std::to_string(V) + " tokens, counted from 0", std::to_string(token));
}

// [embed]
Matrix embed(const Tokens& tokens, const Matrix& table, const Dialect& dialect) {
  const auto [V, d_model] = shape(table);
  const double scale = dialect.scale_embeddings ? std::sqrt(static_cast<double>(d_model)) : 1.0;
  Matrix X = xt::zeros<double>({tokens.size(), d_model});
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i == 0 && tokens[i] == no_token) continue;
    expect_token(tokens[i], V, "token " + std::to_string(i));
    xt::row(X, i) = scale * xt::row(table, tokens[i]);
  }
  return X;
}
// [embed]

}  // namespace attn
