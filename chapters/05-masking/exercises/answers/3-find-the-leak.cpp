// Exercise 5.3: find the leak.
// Somebody hands you a model of which you can see nothing but what comes out: from X, one token a row, it makes
// one output a row. Does it look ahead? Count the pairs i < j for which output i changes when token j does. The
// count is 0 for a causal model. You will want it again, for every model that you write.
#include <functional>

#include "attn/core/random.hpp"
#include "attn/reference/masking.hpp"
#include "attn/reference/similarity.hpp"
#include "exercise.hpp"

using attn::Mask;
using attn::Matrix;
using Model = std::function<Matrix(const Matrix& X)>;

// [answer]
std::size_t leaks(const Model& model, const Matrix& X) {
  const Matrix before = model(X);
  std::size_t count = 0;
  for (std::size_t j = 0; j < X.shape(0); ++j) {
    Matrix changed = X;
    xt::row(changed, j) += 1.0;
    const Matrix after = model(changed);
    for (std::size_t i = 0; i < j; ++i) {
      if (xt::row(after, i) != xt::row(before, i)) ++count;  // not "nearly": a causal model gives the same bits
    }
  }
  return count;
}
// [answer]

/// Self-attention of four tokens in which softmax and mask are put together by `weigh`.
Model attention_with(const std::function<Matrix(const Matrix& scores)>& weigh) {
  return [weigh](const Matrix& X) {
    const Matrix scores = attn::similarity_scores(X);
    return attn::weighted_sum(weigh(scores), X);
  };
}

void checks() {
  attn::Random random(6);
  const Matrix X = random.normal_matrix(4, 3);
  const Mask causal = attn::causal_mask(4);
  const Matrix ones = xt::cast<double>(causal);
  const Model no_mask = attention_with(attn::softmax);
  exercise::expect_near(static_cast<double>(leaks(no_mask, X)), 6, "the leaks of attention without a mask");
  const Model right = attention_with(
      [&](const Matrix& scores) { return attn::masked_softmax(attn::masked_scores(scores, causal)); });
  exercise::expect_near(static_cast<double>(leaks(right, X)), 0, "the leaks of causal attention");
  const Model one_ahead = attention_with([](const Matrix& scores) {
    Mask mask({4, 4});
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 4; ++j) mask(i, j) = j <= i + 1;
    }
    return attn::masked_softmax(attn::masked_scores(scores, mask));
  });
  exercise::expect_near(static_cast<double>(leaks(one_ahead, X)), 3, "the leaks of a mask that is off by one");
  const Model late = attention_with([&](const Matrix& scores) { return Matrix(attn::softmax(scores) * ones); });
  exercise::expect_near(static_cast<double>(leaks(late, X)), 6, "the leaks of a mask applied after softmax");
  const Model down_the_columns = attention_with([&](const Matrix& scores) {
    const Matrix masked = attn::masked_scores(scores, causal);
    return attn::transpose(attn::softmax(attn::transpose(masked)));
  });
  exercise::expect_near(static_cast<double>(leaks(down_the_columns, X)), 6,
                        "the leaks of softmax over the queries");
}

int main() { return exercise::run(checks); }
