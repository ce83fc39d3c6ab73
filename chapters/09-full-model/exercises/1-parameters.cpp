// Exercise 9.1: how many numbers does a Transformer learn?
// Count them: one tied embedding of V rows; N encoder layers and N decoder layers. No biases in attention, but in
// the feed-forward layer; a norm has gamma and beta, and there is one after every sub-layer. Where is h?
#include "attn/core/config.hpp"
#include "exercise.hpp"

// [task]
std::size_t parameters(std::size_t V, std::size_t d, [[maybe_unused]] std::size_t d_ff,
                       [[maybe_unused]] std::size_t N) {
  return V * d;  // your code here
}
// [task]

void expect_count(std::size_t got, std::size_t wanted, const std::string& what) {
  exercise::expect(got == wanted, what + " has " + std::to_string(wanted) + " numbers to learn, and you count " +
                                      std::to_string(got));
}

void checks() {
  // by hand: 11 rows of 2
  expect_count(parameters(11, 2, 3, 0), 22, "a model of no layers, V = 11 and d_model = 2,");
  // by hand, d = 1 and d_ff = 1: an attention has 4, a feed-forward layer 4, a norm 2; 12 and 18 a layer, and V
  expect_count(parameters(3, 1, 1, 1), 33, "a model of one layer a side, V = 3 and d_model = d_ff = 1,");
  // by hand: 11 × 16 and 2 × (2,160 + 3,216)
  expect_count(parameters(11, 16, 32, 2), 10928, "the toy of this chapter");
  // by hand: 37,000 × 512 and 6 × (3,150,336 + 4,199,936)
  expect_count(parameters(37000, 512, 2048, 6), 63045632, "the paper's base model with 37,000 tokens");
  attn::Config big;
  big.d_model = 1024, big.d_ff = 4096, big.h = 16;
  expect_count(parameters(37000, 1024, 4096, 6), attn::parameter_count(big), "the paper's big model");
}

int main() { return exercise::run(checks); }
