// Exercise 10.2: Adam.
// Adam keeps two means for each parameter: m of the gradients and v of their squares, both 0 at first. In update
// t, counted from 1, with the gradient g:
//   m becomes 0.9 m + 0.1 g, and v becomes 0.98 v + 0.02 g²
//   the parameter moves by -rate m̂ / (√v̂ + 1e-9), where m̂ = m / (1 - 0.9^t) and v̂ = v / (1 - 0.98^t)
#include "exercise.hpp"

/// A parameter of one number, and what Adam remembers of it.
struct Number {
  double value = 0.0;
  double m = 0.0, v = 0.0;
  int t = 0;  // updates so far
};

// [task]
void update(Number& x, double g, double rate) {
  x.value -= rate * g;  // your code here
}
// [task]

void checks() {
  // by hand: at first the correction undoes 0.1 and 0.02, and the step is the rate, whatever the gradient is
  for (const double g : {0.5, 100.0, 1e-5}) {
    Number x = {1.0};
    update(x, g, 0.1);
    exercise::expect_near(x.value, 0.9,
                          "1, after one update at rate 0.1 with the gradient " + attn::fixed(g, 5) + ",", 1e-4);
  }
  // by hand: m = .055, v = .0051, m̂ = .055/.19, v̂ = .0051/.0396, so the second step is .080663
  Number x = {1.0};
  update(x, 0.5, 0.1), update(x, 0.1, 0.1);
  exercise::expect_near(x.value, 0.819338, "1, after the gradients 0.5 and 0.1,");
  // by PyTorch 1.13: m = .0495, v = .004998, m̂ = .0495/.271, v̂ = .004998/.058808
  update(x, 0.0, 0.1);
  exercise::expect_near(x.value, 0.756682, "the same, after one more update without a gradient,", 1e-5);
  // by hand: epsilon stands outside the root, and is as large as this gradient
  Number tiny = {1.0};
  update(tiny, 1e-9, 0.1);
  exercise::expect_near(tiny.value, 0.95, "1, after one update with the gradient 0.000000001,");
}

int main() { return exercise::run(checks); }
