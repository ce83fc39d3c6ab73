// Chapter 09.
#include "attn/reference/loss.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/errors.hpp"
#include "attn/core/shape.hpp"

namespace attn {

// [share]
double share(int c, int y, int pad, std::size_t V, const LabelSmoothing& smoothing) {
  const double epsilon = smoothing.epsilon, classes = static_cast<double>(V);
  const double right = c == y ? 1.0 - epsilon : 0.0;
  if (smoothing.form == Smoothing::all_classes) return right + epsilon / classes;
  if (c == y) return right;
  if (smoothing.form == Smoothing::other_classes) return epsilon / (classes - 1.0);
  return c == pad ? 0.0 : epsilon / (classes - (pad >= 0 && pad < static_cast<int>(V) ? 2.0 : 1.0));
}
// [share]

void expect_loss(const Matrix& logits, const Tokens& targets, const LabelSmoothing& smoothing) {
  const auto [m, V] = shape(logits);
  const std::size_t fewest = smoothing.form == Smoothing::other_classes_but_pad ? 3 : 2;
  const bool is_share = smoothing.epsilon >= 0.0 && smoothing.epsilon < 1.0;
  if (targets.size() != m)
    refuse("targets", std::to_string(m) + ", one for each row", std::to_string(targets.size()));
  if (V < fewest) refuse("logits", "at least " + std::to_string(fewest) + " classes", shape_text(logits));
  if (!is_share) refuse("label smoothing", "at least 0 and less than 1", std::to_string(smoothing.epsilon));
}

// [log_softmax]
Matrix log_softmax(const Matrix& logits) {
  Matrix log_p(logits.shape());
  for (std::size_t i = 0; i < logits.shape(0); ++i) {
    const auto row = xt::row(logits, i);
    const double largest = xt::amax(row)();
    xt::row(log_p, i) = row - largest - std::log(xt::sum(xt::exp(row - largest))());
  }
  return log_p;
}
// [log_softmax]

// [cross_entropy]
Matrix cross_entropies(const Matrix& logits, const Tokens& targets, int pad, LabelSmoothing smoothing) {
  const auto [m, V] = shape(logits);
  expect_loss(logits, targets, smoothing);
  const Matrix log_p = log_softmax(logits);
  Matrix losses = xt::zeros<double>({std::size_t{1}, m});
  for (std::size_t i = 0; i < m; ++i) {
    if (targets[i] == pad) continue;
    expect_token(targets[i], V, "target " + std::to_string(i));
    for (std::size_t c = 0; c < V; ++c) {
      const double q = share(static_cast<int>(c), targets[i], pad, V, smoothing);
      if (q > 0.0) losses(0, i) -= q * log_p(i, c);
    }
  }
  return losses;
}

double cross_entropy(const Matrix& logits, const Tokens& targets, int pad, LabelSmoothing smoothing) {
  const auto counted = targets.size() - static_cast<std::size_t>(std::count(targets.begin(), targets.end(), pad));
  const Matrix losses = cross_entropies(logits, targets, pad, smoothing);
  return counted == 0 ? 0.0 : xt::sum(losses)() / static_cast<double>(counted);
}
// [cross_entropy]

}  // namespace attn
