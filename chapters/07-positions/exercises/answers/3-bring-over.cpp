// Exercise 7.3: bring a model over.
// A model was trained with the layout `halves`: first all sines, then all cosines. You run it with the paper's
// layout: sine, cosine, sine, cosine. The numbers are the same, in other channels. So its matrices need their
// channels in another order, too: columns of the embeddings, rows of what multiplies them. In which channel of
// `halves` does each channel of the paper's layout stand? With an odd d there is one more sine than cosines.
#include <vector>

#include "attn/core/random.hpp"
#include "attn/reference/positions.hpp"
#include "exercise.hpp"

using attn::Matrix;
using attn::PositionLayout;

// [answer]
std::vector<std::size_t> channels_in_halves(std::size_t d) {
  std::vector<std::size_t> channels(d);
  const std::size_t sines = (d + 1) / 2;
  for (std::size_t c = 0; c < d; ++c) channels[c] = c % 2 == 0 ? c / 2 : sines + c / 2;
  return channels;
}
// [answer]

Matrix columns(const Matrix& A, const std::vector<std::size_t>& order) {
  Matrix B({A.shape(0), order.size()});
  for (std::size_t c = 0; c < order.size(); ++c) xt::col(B, c) = xt::col(A, order[c]);
  return B;
}

void expect_same_model(std::size_t d) {
  const std::vector<std::size_t> order = channels_in_halves(d);
  exercise::expect(order.size() == d, "there should be " + std::to_string(d) + " channels");
  for (const std::size_t c : order) exercise::expect(c < d, "no channel is beyond " + std::to_string(d - 1));
  const std::string with = ", d = " + std::to_string(d);
  exercise::expect_near(columns(attn::positional_encoding(5, d, PositionLayout::halves), order),
                        attn::positional_encoding(5, d), "the table in the paper's order" + with, 1e-12);
  attn::Random random(13);
  const Matrix embeddings = random.normal_matrix(5, d), W = random.normal_matrix(d, 3);
  const Matrix W_moved = attn::transpose(columns(attn::transpose(W), order));
  const Matrix trained = attn::product(attn::add_positions(embeddings, PositionLayout::halves), W);
  const Matrix run = attn::product(attn::add_positions(columns(embeddings, order)), W_moved);
  exercise::expect_near(run, trained, "what the model computes" + with, 1e-12);
}

void checks() {
  expect_same_model(6);
  expect_same_model(5);
}

int main() { return exercise::run(checks); }
