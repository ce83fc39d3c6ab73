// Chapter 08.
#include "attn/reference/layer.hpp"

#include "attn/core/shape.hpp"
#include "attn/core/trace.hpp"

namespace attn {
namespace {

/// Masked attention for the heads of a layer, with dropout on its weights where the dialect has it.
Attend attend_under(const Mask& mask, const Dialect& dialect, Dropout* dropout) {
  if (!dialect.attention_dropout) return under(mask);
  return under(mask, [dropout](const Matrix& weights) { return apply_dropout(weights, dropout); });
}

}  // namespace

// [sublayer]
Matrix sublayer(const std::string& name, const Matrix& x, const LayerNorm& norm, const Dialect& dialect,
                Dropout* dropout, const std::function<Matrix(const Matrix&)>& F) {
  const TraceScope scope(name);
  const auto normed = [&](const Matrix& y) { return trace("norm", layer_norm(y, norm, dialect)); };
  const Matrix f = F(dialect.pre_norm ? normed(x) : x);
  expect_shape(f, shape(x), name + ".output");
  const Matrix sum = trace("sum", x + apply_dropout(f, dropout));
  return dialect.pre_norm ? sum : normed(sum);
}
// [sublayer]

// [encoder_layer]
Matrix encoder_layer(const Matrix& x, const EncoderLayer& weights, const Mask& mask, const Dialect& dialect,
                     Dropout* dropout) {
  const Attend attend = attend_under(mask, dialect, dropout);
  const Matrix seen = sublayer("self", x, weights.self_norm, dialect, dropout,
                               [&](const Matrix& z) { return multi_head_attention(z, z, weights.self, attend); });
  return trace("output",
               sublayer("feed_forward", seen, weights.feed_forward_norm, dialect, dropout,
                        [&](const Matrix& z) { return feed_forward(z, weights.feed_forward, dialect, dropout); }));
}
// [encoder_layer]

// [decoder_layer]
Matrix decoder_layer(const Matrix& x, const Matrix& memory, const DecoderLayer& weights, const Mask& self_mask,
                     const Mask& cross_mask, const Dialect& dialect, Dropout* dropout) {
  const Attend attend_self = attend_under(self_mask, dialect, dropout);
  const Attend attend_cross = attend_under(cross_mask, dialect, dropout);
  const Matrix seen = sublayer("self", x, weights.self_norm, dialect, dropout, [&](const Matrix& z) {
    return multi_head_attention(z, z, weights.self, attend_self);
  });
  const Matrix asked = sublayer("cross", seen, weights.cross_norm, dialect, dropout, [&](const Matrix& z) {
    return multi_head_attention(z, memory, weights.cross, attend_cross);
  });
  return trace("output",
               sublayer("feed_forward", asked, weights.feed_forward_norm, dialect, dropout,
                        [&](const Matrix& z) { return feed_forward(z, weights.feed_forward, dialect, dropout); }));
}
// [decoder_layer]

}  // namespace attn
