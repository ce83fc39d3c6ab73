// Chapter 09.
#include "attn/reference/embedding.hpp"

#include <cmath>
#include <string>

#include "attn/core/errors.hpp"

namespace attn {

// [embed]
Matrix embed(const Tokens& tokens, const Matrix& table, const Dialect& dialect) {
  const auto V = static_cast<int>(table.shape(0));
  const double scale = dialect.scale_embeddings ? std::sqrt(static_cast<double>(table.shape(1))) : 1.0;
  Matrix X = xt::zeros<double>({tokens.size(), table.shape(1)});
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == no_token) continue;
    if (tokens[i] < 0 || tokens[i] >= V) {
      refuse("token " + std::to_string(i), "a number from 0 to " + std::to_string(V - 1),
             std::to_string(tokens[i]));
    }
    xt::row(X, i) = scale * xt::row(table, tokens[i]);
  }
  return X;
}
// [embed]

}  // namespace attn
