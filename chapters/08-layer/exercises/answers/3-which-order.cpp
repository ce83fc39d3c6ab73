// Exercise 8.3: which order is it?
// Somebody hands you a layer as a black box: tokens of eight features go in, as many come out. You cannot look
// inside, but you can put in what you like, as often as you like. Does it norm the sum, LN(x + F(x)), as the paper
// does, or what goes into F, x + F(LN(x))?
#include <functional>

#include "08-layer/measure.hpp"
#include "exercise.hpp"

using attn::Matrix;
using Layer = std::function<Matrix(const Matrix& x)>;

// [answer]
bool norms_the_sum(const Layer& layer) {
  // A norm forgets how large its row was. If it comes last, the output cannot grow with the input; if the sum
  // comes last, x stands in the output as it came.
  attn::Random random(1);
  const Matrix x = random.normal_matrix(4, 8), huge = 1000.0 * x;
  return attn::size_of(layer(huge)) < 10.0 * attn::size_of(layer(x));
}
// [answer]

/// A layer with random weights, gains and biases.
Layer black_box(std::uint64_t seed, bool pre_norm) {
  attn::Random random(seed);
  attn::EncoderLayer weights = attn::random_encoder_layer(random, 2, 8, 16);
  for (attn::LayerNorm* norm : {&weights.self_norm, &weights.feed_forward_norm}) {
    *norm = {1.0 + random.normal_matrix(1, 8, 0.3), random.normal_matrix(1, 8, 0.3)};
  }
  attn::Dialect dialect;
  dialect.pre_norm = pre_norm;
  return [weights, dialect](const Matrix& x) {
    return attn::encoder_layer(x, weights, attn::full_mask(x.shape(0), x.shape(0)), dialect);
  };
}

void checks() {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::string which = "black box " + std::to_string(seed);
    exercise::expect(norms_the_sum(black_box(seed, false)),
                     which + " norms the sum, and you say that it does not");
    exercise::expect(!norms_the_sum(black_box(seed, true)),
                     which + ", the second, norms what goes into F, and you say that it norms the sum");
  }
}

int main() { return exercise::run(checks); }
