// Exercise 5.2: a window.
// Long texts are dear: every token looks at every other. A cheaper kind of attention lets each token see only
// itself and the w - 1 tokens before it. Make the mask; true means: may look. Padding is hidden too: is_token says
// for each key whether it is a token.
#include <vector>

#include "attn/reference/masking.hpp"
#include "exercise.hpp"

using attn::Mask;

// [task]
Mask window_mask(const std::vector<bool>& is_token, [[maybe_unused]] std::size_t w) {
  return attn::causal_mask(is_token.size());  // your code here
}
// [task]

void expect_mask(const Mask& got, const Mask& wanted, const std::string& what) {
  exercise::expect(attn::shape(got) == attn::shape(wanted),
                   what + " should have the shape " + attn::shape_text(attn::shape(wanted)));
  for (std::size_t i = 0; i < wanted.shape(0); ++i) {
    for (std::size_t j = 0; j < wanted.shape(1); ++j) {
      exercise::expect(got(i, j) == wanted(i, j), what + ": token " + std::to_string(i) +
                                                      (wanted(i, j) ? " may look" : " may not look") +
                                                      " at token " + std::to_string(j));
    }
  }
}

void checks() {
  const bool o = false, x = true;
  // by hand
  expect_mask(window_mask({x, x, x, x}, 2), {{x, o, o, o}, {x, x, o, o}, {o, x, x, o}, {o, o, x, x}},
              "a window of 2 over four tokens");
  expect_mask(window_mask({x, x, x}, 1), {{x, o, o}, {o, x, o}, {o, o, x}}, "a window of 1");
  expect_mask(window_mask({x, x, x}, 9), attn::causal_mask(3), "a window wider than the text");
  expect_mask(window_mask({x, x, x, o}, 2), {{x, o, o, o}, {x, x, o, o}, {o, x, x, o}, {o, o, x, o}},
              "a window of 2 with one place of padding");
  // by hand: rows 0 to 9 see 1 + 2 + ... + 10 = 55 keys, the other 90 rows 10 each
  const Mask large = window_mask(std::vector<bool>(100, true), 10);
  const auto looks = static_cast<double>(xt::sum(xt::cast<std::size_t>(large))());
  exercise::expect_near(looks, 955.0, "the number of looks for 100 tokens and a window of 10");
}

int main() { return exercise::run(checks); }
