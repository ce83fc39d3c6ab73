// Exercise 6.3: read once, ask often.
// A translator writes one word at a time, and each new word asks the same memory. Below, every question reads the
// memory anew. Make the reader do that work once, when it gets the memory, so that a question costs only what
// depends on the question. The answers must stay the same.
#include "attn/core/cost.hpp"
#include "attn/core/random.hpp"
#include "attn/reference/cross_attention.hpp"
#include "exercise.hpp"

using attn::Matrix;
using attn::Projections;

// [answer]
class Reader {
 public:
  Reader(const Matrix& memory, const Projections& weights)
      : W_Q_(weights.W_Q), K_(attn::project(memory, weights.W_K)), V_(attn::project(memory, weights.W_V)) {}
  Matrix answer(const Matrix& x) const { return attn::attention(attn::project(x, W_Q_), K_, V_); }

 private:
  Matrix W_Q_, K_, V_;
};
// [answer]

void checks() {
  const std::size_t n_k = 20, d = 8;
  attn::Random random(12);
  const Matrix memory = random.normal_matrix(n_k, d), x = random.normal_matrix(5, d);
  const Projections weights = {random.normal_matrix(d, d), random.normal_matrix(d, d), random.normal_matrix(d, d)};
  const Matrix together = attn::cross_attention(x, memory, weights);

  const attn::MultiplyAdds cost;
  const Reader reader(memory, weights);
  for (std::size_t i = 0; i < 5; ++i) {
    const Matrix question = xt::view(x, xt::range(i, i + 1), xt::all());
    const Matrix wanted = xt::view(together, xt::range(i, i + 1), xt::all());
    exercise::expect_near(reader.answer(question), wanted, "the answer to question " + std::to_string(i));
  }
  // by hand: K and V take 2 n_k d² multiplications, once; a question takes d² for q, n_k d for its scores, n_k d
  // for its mixture
  const std::size_t enough = 2 * n_k * d * d + 5 * (d * d + 2 * n_k * d);
  exercise::expect(cost.count() <= enough, "five questions should take " + std::to_string(enough) +
                                               " multiplications, and take " + std::to_string(cost.count()));
}

int main() { return exercise::run(checks); }
