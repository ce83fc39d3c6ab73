// Later chapters contain the earlier ones: what each becomes when its own idea is switched off.
#include "attn/core/random.hpp"
#include "attn/reference/cross_attention.hpp"
#include "attn/reference/layer.hpp"
#include "attn/reference/masking.hpp"
#include "attn/reference/multi_head.hpp"
#include "attn/reference/positions.hpp"
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

TEST_CASE("one head with W_O = I is chapter 03, bit for bit", "[chapter-04][reduction]") {
  Random random(6);
  const Matrix X = random.normal_matrix(5, 6);
  const Projections w = {random.normal_matrix(6, 3), random.normal_matrix(6, 3), random.normal_matrix(6, 4)};
  check_same(multi_head_attention(X, X, {1, w.W_Q, w.W_K, w.W_V, identity(4)}), self_attention(X, w));
}

TEST_CASE("a mask that lets everything through changes nothing, bit for bit", "[chapter-05][reduction]") {
  Random random(7);
  for (std::size_t n = 1; n <= 6; ++n) {
    const Matrix Q = random.normal_matrix(n, 3), K = random.normal_matrix(n + 1, 3),
                 V = random.normal_matrix(n + 1, 4);
    check_same(masked_attention(Q, K, V, full_mask(n, n + 1)), attention(Q, K, V));
    const Matrix X = random.normal_matrix(n, 4);
    const MultiHead w{2, random.normal_matrix(4, 4), random.normal_matrix(4, 4), random.normal_matrix(4, 4),
                      random.normal_matrix(4, 4)};
    check_same(multi_head_attention(X, X, w, under(full_mask(n, n))), multi_head_attention(X, X, w));
  }
}

TEST_CASE("a sequence that is its own memory is self-attention, bit for bit", "[chapter-06][reduction]") {
  Random random(8);
  for (std::size_t n = 1; n <= 6; ++n) {
    const Matrix X = random.normal_matrix(n, 5);
    const Projections w = {random.normal_matrix(5, 3), random.normal_matrix(5, 3), random.normal_matrix(5, 4)};
    check_same(cross_attention(X, X, w), self_attention(X, w));
  }
}

TEST_CASE("tokens of zeros with positions are the positions", "[chapter-07][reduction]") {
  check_same(add_positions(Matrix(xt::zeros<double>({5, 6}))), positional_encoding(5, 6));
}

TEST_CASE("a layer whose parts give nothing is a norm, twice", "[chapter-08][reduction]") {
  Random random(9);
  const Matrix x = random.normal_matrix(3, 4), none = xt::zeros<double>({4, 4}),
               no_row = xt::zeros<double>({1, 4});
  const LayerNorm norm = {random.normal_matrix(1, 4), random.normal_matrix(1, 4)};
  const EncoderLayer w = {{2, none, none, none, none}, norm, {none, no_row, none, no_row}, norm};
  check_same(encoder_layer(x, w, full_mask(3, 3)), layer_norm(layer_norm(x, norm), norm));
}

TEST_CASE("a decoder layer whose cross-attention gives nothing is an encoder layer and a norm",
          "[chapter-08][reduction]") {
  Random random(10);
  const auto matrix = [&] { return random.normal_matrix(4, 4); };
  const auto row = [&] { return random.normal_matrix(1, 4); };
  const MultiHead self{2, matrix(), matrix(), matrix(), matrix()};
  const MultiHead nothing{2, matrix(), matrix(), matrix(), Matrix(xt::zeros<double>({4, 4}))};
  const FeedForward feed_forward{matrix(), row(), matrix(), row()};
  const LayerNorm a{row(), row()}, b{row(), row()};
  Dialect pre;
  pre.pre_norm = true;  // there a part that gives nothing leaves no trace at all
  const Matrix x = random.normal_matrix(3, 4), memory = random.normal_matrix(2, 4);
  check_same(
      decoder_layer(x, memory, {self, a, nothing, b, feed_forward, b}, causal_mask(3), full_mask(3, 2), pre),
      encoder_layer(x, {self, a, feed_forward, b}, causal_mask(3), pre));
}
