// Exercise 8.2: the encoder layer of the paper.
// You have attn::multi_head_attention(z, z, w.self), attn::feed_forward(z, w.feed_forward) and
// attn::layer_norm(z, norm). Put them together: attention with its residual and its norm w.self_norm, then the
// feed-forward layer with its residual and its norm w.feed_forward_norm. Each norm comes after the sum. No mask,
// no dropout. (There is attn::encoder_layer, too, but that would be no exercise.)
#include "attn/reference/layer.hpp"
#include "exercise.hpp"

using attn::EncoderLayer;
using attn::Matrix;

// [task]
Matrix layer(const Matrix& x, [[maybe_unused]] const EncoderLayer& w) {
  return x;  // your code here
}
// [task]

/// Numbers from -0.5 to 0.5 without much of a pattern.
Matrix weights(std::size_t rows, std::size_t columns, std::size_t start) {
  Matrix W({rows, columns});
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      W(i, j) = (static_cast<double>((7 * i + 3 * j + start) % 5) - 2.0) / 4.0;
    }
  }
  return W;
}

void checks() {
  const Matrix x = {{1, 0, 2, -1}, {0, 1, 1, 0}, {2, -1, 0, 1}};
  const EncoderLayer w = {{2, weights(4, 4, 0), weights(4, 4, 1), weights(4, 4, 2), weights(4, 4, 3)},
                          {{{1, 2, 1, 0.5}}, {{0, 0.5, 0, -0.5}}},
                          {weights(4, 6, 4), weights(1, 6, 0), weights(6, 4, 1), weights(1, 4, 2)},
                          {{{0.5, 1, 2, 1}}, {{0.25, 0, 0, 0}}}};
  const Matrix got = layer(x, w);
  attn::Dialect pre_norm;
  pre_norm.pre_norm = true;
  const Matrix before = attn::encoder_layer(x, w, attn::full_mask(3, 3), pre_norm);
  const bool is_pre_norm = attn::shape(got) == attn::shape(x) && xt::amax(xt::abs(got - before))() < 1e-6;
  exercise::expect(!is_pre_norm, "this is x + F(LN(x)); the paper norms the sum, LN(x + F(x))");
  // by NumPy 1.24
  exercise::expect_near(got,
                        {{0.016771549, 0.219722520, 2.968387485, -1.237459360},
                         {-0.408260985, 0.938383489, 1.999686863, -0.621704951},
                         {0.786208012, -1.461015223, 1.519839338, -0.371320470}},
                        "the output");
}

int main() { return exercise::run(checks); }
