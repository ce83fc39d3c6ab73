// Exercise 10.3: where a smoothed loss comes to rest.
// A position has V classes. The right one has the logit z, all others have 0. The truth is smoothed: each class
// gets epsilon/V, and the right one 1 - epsilon on top. Training moves z until the gradient is 0. Which z is that?
// (Without smoothing there is none: the loss always asks for more.) The gradient by z is p - q; write down p of
// the right class, set it equal to q, and solve for z.
#include "attn/reference/backward.hpp"
#include "exercise.hpp"

// [answer]
double resting_logit(double V, double epsilon) {
  // p/(1 - p) = e^z/(V - 1), so p = q means e^z = (V - 1) q/(1 - q), with q = 1 - epsilon + epsilon/V.
  return std::log(1.0 + V * (1.0 - epsilon) / epsilon);
}
// [answer]

void checks() {
  // by hand: q is 10/11 for the right one of 11 classes and 1/110 for each other, 100 times less
  exercise::expect_near(resting_logit(11, 0.1), std::log(100.0), "the logit for V = 11 and epsilon = 0.1");
  // by hand: 0.75 and 0.25
  exercise::expect_near(resting_logit(2, 0.5), std::log(3.0), "the logit for V = 2 and epsilon = 0.5");
  for (const std::size_t V : {5, 100, 37000}) {
    attn::Matrix logits = xt::zeros<double>({std::size_t{1}, V});
    logits(0, 3) = resting_logit(static_cast<double>(V), 0.1);
    const attn::Matrix gradient = attn::cross_entropy_backward(logits, {3}, -1, {0.1});
    exercise::expect_near(xt::amax(xt::abs(gradient))(), 0.0,
                          "for V = " + std::to_string(V) + ", the largest gradient there", 1e-12);
  }
}

int main() { return exercise::run(checks); }
