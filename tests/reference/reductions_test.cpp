// Later chapters contain the earlier ones: what each becomes when its own idea is switched off.
#include "attn/core/random.hpp"
#include "attn/reference/projections.hpp"
#include "attn/reference/scaling.hpp"
#include "attn/reference/similarity.hpp"
#include "matrices.hpp"

using namespace attn;
using namespace attn::tests;

TEST_CASE("identity projections give chapter 01 back, bit for bit", "[chapter-02][reduction]") {
  Random random(1);
  for (std::size_t n = 1; n <= 6; ++n) {
    for (std::size_t d = 1; d <= 6; ++d) {
      const Matrix X = random.normal_matrix(n, d);
      check_same(projected_attention(X, {identity(d), identity(d), identity(d)}), similarity_attention(X));
    }
  }
}

TEST_CASE("scale 1 gives chapter 02 back, bit for bit", "[chapter-03][reduction]") {
  Random random(2);
  for (std::size_t n = 1; n <= 5; ++n) {
    const Matrix Q = random.normal_matrix(n, 3), K = random.normal_matrix(n + 1, 3),
                 V = random.normal_matrix(n + 1, 4);
    check_same(scaled_attention(Q, K, V, 1.0), dot_product_attention(Q, K, V));
  }
}

TEST_CASE("attention at d_k = 1 is not scaled at all", "[chapter-03][reduction]") {
  Random random(3);
  const Matrix Q = random.normal_matrix(2, 1), K = random.normal_matrix(3, 1), V = random.normal_matrix(3, 4);
  check_same(attention(Q, K, V), dot_product_attention(Q, K, V));
}

TEST_CASE("scaling the queries is scaling the scores", "[chapter-03][reduction]") {
  Random random(4);
  const Matrix Q = random.normal_matrix(3, 16), K = random.normal_matrix(5, 16), V = random.normal_matrix(5, 2);
  check_near(attention(Q, K, V), dot_product_attention(Matrix(Q / 4.0), K, V), 1e-14);
}

TEST_CASE("self-attention is attention of the projections", "[chapter-03][reduction]") {
  Random random(5);
  const Matrix X = random.normal_matrix(4, 3);
  const Projections w = {random.normal_matrix(3, 2), random.normal_matrix(3, 2), random.normal_matrix(3, 5)};
  check_same(self_attention(X, w), attention(project(X, w.W_Q), project(X, w.W_K), project(X, w.W_V)));
}
