// Chapter 09.
#include "attn/reference/greedy.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/errors.hpp"
#include "attn/reference/loss.hpp"

namespace attn {

// [greedy]
Decoded greedy(const Transformer& model, const Tokens& source, std::size_t most_tokens, const Tokens& prefix) {
  const Matrix memory = encode(model, source);
  Decoded decoded;
  while (!decoded.finished && decoded.tokens.size() < most_tokens) {
    const std::size_t i = decoded.tokens.size();
    decoded.tokens.push_back(model.config.eos);  // a place for the next token; shifting takes it away again
    const Matrix log_p = log_softmax(decode(model, shift_right(model, decoded.tokens), memory, source));
    const auto row = xt::row(log_p, i);
    const auto likeliest = std::max_element(row.begin(), row.end());
    if (std::isnan(*likeliest)) refuse("greedy", "logits that are numbers", "NaN");
    const int next = i < prefix.size() ? prefix[i] : static_cast<int>(likeliest - row.begin());
    expect_token(next, log_p.shape(1), "token " + std::to_string(i) + " of the prefix");
    decoded.tokens.back() = next;
    decoded.log_probability += row(static_cast<std::size_t>(next));
    decoded.finished = next == model.config.eos;
  }
  return decoded;
}
// [greedy]

}  // namespace attn
