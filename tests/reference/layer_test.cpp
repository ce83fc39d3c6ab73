// Numbers by hand, from NumPy or from the reports named, to the digits shown.
#include "attn/reference/layer.hpp"

#include <cmath>

#include "attn/core/random.hpp"
#include "attn/core/trace.hpp"
#include "matrices.hpp"

using namespace attn;
using namespace attn::tests;

namespace {

LayerNorm plain(std::size_t d) {
  return {Matrix(xt::ones<double>({std::size_t{1}, d})), Matrix(xt::zeros<double>({std::size_t{1}, d}))};
}

LayerNorm random_norm(Random& random, std::size_t d) {
  return {random.normal_matrix(1, d), random.normal_matrix(1, d)};
}

MultiHead random_heads(Random& random, std::size_t d, std::size_t h) {
  return {h, random.normal_matrix(d, d, 0.5), random.normal_matrix(d, d, 0.5), random.normal_matrix(d, d, 0.5),
          random.normal_matrix(d, d, 0.5)};
}

FeedForward random_feed_forward(Random& random, std::size_t d, std::size_t d_ff) {
  return {random.normal_matrix(d, d_ff, 0.5), random.normal_matrix(1, d_ff), random.normal_matrix(d_ff, d, 0.5),
          random.normal_matrix(1, d)};
}

EncoderLayer random_encoder_layer(Random& random, std::size_t d) {
  return {random_heads(random, d, 2), random_norm(random, d), random_feed_forward(random, d, 2 * d),
          random_norm(random, d)};
}

DecoderLayer random_decoder_layer(Random& random, std::size_t d) {
  return {random_heads(random, d, 2),
          random_norm(random, d),
          random_heads(random, d, 2),
          random_norm(random, d),
          random_feed_forward(random, d, 2 * d),
          random_norm(random, d)};
}

Dialect with_epsilon(double epsilon) {
  Dialect d;
  d.epsilon = epsilon;
  return d;
}

}  // namespace

TEST_CASE("layer norm by hand, and how epsilon and the form show", "[chapter-08]") {
  const Matrix x = {{1, 0, 0, 0}};
  check_near(layer_norm(x, plain(4)), {{1.732046, -.577349, -.577349, -.577349}}, 5e-7);
  check_near(layer_norm(x, plain(4), with_epsilon(1e-5)), {{1.732005, -.577335, -.577335, -.577335}}, 5e-7);
  check_near(layer_norm(x, plain(4), dialect("annotated")), {{1.499997, -.499999, -.499999, -.499999}}, 5e-7);
  check_near(layer_norm({{1, 2, 3, 4}}, plain(4)), {{-1.341640, -.447213, .447213, 1.341640}}, 1e-6);
  check_near(layer_norm({{1, 2, 3, 4}}, plain(4), with_epsilon(1e-5)), {{-1.341635, -.447212, .447212, 1.341635}},
             1e-6);
  check_near(layer_norm({{1e-3, -1e-3}}, plain(2)), {{.707107, -.707107}}, 5e-7);
  check_near(layer_norm({{1e-3, -1e-3}}, plain(2), with_epsilon(1e-5)), {{.301511, -.301511}}, 5e-7);
}

// udlbook issue 237, equinox PR 471, addons PR 2142: not over the whole sequence.
TEST_CASE("every token is normed by itself", "[chapter-08]") {
  const Matrix y = layer_norm({{1, 2, 3, 4}, {10, 20, 30, 40}}, plain(4));
  check_near(y, {{-1.34164, -.44721, .44721, 1.34164}, {-1.34164, -.44721, .44721, 1.34164}}, 5e-6);
}

TEST_CASE("a constant row gives beta; a large offset takes nothing from the variance", "[chapter-08]") {
  const LayerNorm w = {{{2, 2, 2}}, {{.5, -1, 3}}};
  check_near(layer_norm({{7, 7, 7}, {.1, .1, .1}}, w), {{.5, -1, 3}, {.5, -1, 3}}, 1e-12);
  check_near(layer_norm({{10000, 10001, 10002, 10003}}, plain(4)), layer_norm({{0, 1, 2, 3}}, plain(4)), 1e-9);
  check_near(layer_norm({{5}}, {{{2}}, {{3}}}), {{3}}, 0.0);
  CHECK(complaint([] {
          layer_norm(Matrix({2, 1}), plain(1), dialect("annotated"));
        }) == "x: wanted at least two columns to take an unbiased deviation of, got (2, 1)");
  CHECK(complaint([] { layer_norm(Matrix({2, 3}), plain(4)); }) == "gamma: wanted shape (1, 3), got (1, 4)");
}

TEST_CASE("relu and swish", "[chapter-08]") {
  check_same(relu({{-1, 0, 2}}), {{0, 0, 2}});
  CHECK(std::isnan(relu({{std::nan("")}})(0, 0)));
  check_near(swish({{-1, 0, 2}}), {{-.268941, 0, 1.761594}}, 5e-7);
}

TEST_CASE("the feed-forward layer does the same at every position", "[chapter-08]") {
  Random random(1);
  const FeedForward w = random_feed_forward(random, 4, 9);
  const Matrix x = random.normal_matrix(3, 4), y = feed_forward(x, w);
  for (std::size_t i = 0; i < 3; ++i) {
    const Matrix one = xt::view(x, xt::range(i, i + 1), xt::all());
    check_near(feed_forward(one, w), Matrix(xt::view(y, xt::range(i, i + 1), xt::all())), 1e-13);
  }
}

TEST_CASE("the feed-forward layer is two convolutions with a kernel of one token", "[chapter-08]") {
  Random random(2);
  const FeedForward w = random_feed_forward(random, 3, 5);
  const Matrix x = random.normal_matrix(4, 3);
  const auto convolve = [](const Matrix& in, const Matrix& kernel, const Matrix& bias) {
    Matrix out({in.shape(0), kernel.shape(1)});
    for (std::size_t t = 0; t < in.shape(0); ++t) {
      for (std::size_t o = 0; o < kernel.shape(1); ++o) {
        double sum = bias(0, o);
        for (std::size_t c = 0; c < in.shape(1); ++c) sum += in(t, c) * kernel(c, o);
        out(t, o) = sum;
      }
    }
    return out;
  };
  check_near(feed_forward(x, w), convolve(relu(convolve(x, w.W_1, w.b_1)), w.W_2, w.b_2), 1e-12);
}

// annotated-transformer issues 1, 13, 92, 110: the text says one order, the code does the other.
TEST_CASE("post-norm and pre-norm, told apart by numbers", "[chapter-08]") {
  const Matrix x = {{1, 2, 3, 4}};
  const auto same = [](const Matrix& z) { return z; };
  Dialect pre;
  pre.pre_norm = true;
  check_near(sublayer("F", x, plain(4), Dialect(), nullptr, same), {{-1.3416, -.4472, .4472, 1.3416}}, 5e-5);
  check_near(sublayer("F", x, plain(4), pre, nullptr, same), {{-.3416, 1.5528, 3.4472, 5.3416}}, 5e-5);
}

TEST_CASE("a part that gives another width than it got is refused, not spread out", "[chapter-08]") {
  Random random(11);
  for (const std::size_t width : {1, 3}) {
    EncoderLayer w = random_encoder_layer(random, 4);
    w.feed_forward.W_2 = random.normal_matrix(8, width);
    w.feed_forward.b_2 = random.normal_matrix(1, width);
    const std::string got = ", got (2, " + std::to_string(width) + ")";
    CHECK(complaint([&] {
            encoder_layer(Matrix(xt::ones<double>({2, 4})), w, full_mask(2, 2));
          }) == "feed_forward.output: wanted shape (2, 4)" + got);
  }
}

// pytorch issue 61165: the residual is x, not the normed x.
TEST_CASE("in pre-norm a part that gives nothing leaves x as it was", "[chapter-08]") {
  Dialect pre;
  pre.pre_norm = true;
  const Matrix x = {{1, -2, 3, 4}};
  const auto nothing = [](const Matrix& z) { return Matrix(xt::zeros_like(z)); };
  check_same(sublayer("F", x, plain(4), pre, nullptr, nothing), x);
}

TEST_CASE("dropout: none at evaluation, twice the same, and the mean kept while training", "[chapter-08]") {
  const Matrix X = xt::ones<double>({200, 50});
  check_same(apply_dropout(X, nullptr), X);
  Dropout a{0.1, 5, 0, 0, 0}, b{0.1, 5, 0, 0, 0};
  const Matrix Y = apply_dropout(X, &a);
  check_same(apply_dropout(X, &b), Y);
  CHECK(a.next_site == 1);
  CHECK(xt::amax(xt::abs(apply_dropout(X, &a) - Y))() > 0.0);  // the next place has another pattern
  CHECK(std::abs(xt::mean(Y)() - 1) < 0.02);
  CHECK(std::abs(xt::mean(xt::equal(Y, 0.0))() - 0.1) < 0.02);
  Dropout none{0.0, 5, 0, 0, 0};
  check_same(apply_dropout(X, &none), X);
}

TEST_CASE("dropout stands where the dialect has it", "[chapter-08]") {
  Random random(3);
  const EncoderLayer w = random_encoder_layer(random, 4);
  const Matrix x = random.normal_matrix(3, 4);
  const auto places = [&](const std::string& name) {
    Dropout dropout{0.1, 1, 0, 0, 0};
    encoder_layer(x, w, full_mask(3, 3), dialect(name), &dropout);
    return dropout.next_site;
  };
  CHECK(places("paper") == 2);      // after each of the two sub-layers
  CHECK(places("annotated") == 5);  // and on the weights of two heads, and in the feed-forward layer
  CHECK(places("tensor2tensor") == 2);
}

TEST_CASE("an encoder layer without masks does not care for the order of its tokens", "[chapter-08]") {
  Random random(4);
  const EncoderLayer w = random_encoder_layer(random, 6);
  const Matrix x = random.normal_matrix(4, 6);
  const std::size_t order[] = {2, 0, 3, 1};
  const auto moved = [&](const Matrix& A) {
    Matrix B = A;
    for (std::size_t i = 0; i < 4; ++i) xt::row(B, i) = xt::row(A, order[i]);
    return B;
  };
  for (const char* name : {"paper", "annotated", "huggingface"}) {
    const Matrix y = encoder_layer(x, w, full_mask(4, 4), dialect(name));
    check_near(encoder_layer(moved(x), w, full_mask(4, 4), dialect(name)), moved(y), 1e-12);
  }
}

// mlx issue 1636 and PR 3382, Practical_NLP_in_PyTorch issue 1.
TEST_CASE("a decoder layer looks at the memory, and backwards only", "[chapter-08]") {
  Random random(5);
  const DecoderLayer w = random_decoder_layer(random, 6);
  const Matrix x = random.normal_matrix(4, 6), memory = random.normal_matrix(5, 6);
  const auto run = [&](const Matrix& a, const Matrix& b) {
    return decoder_layer(a, b, w, causal_mask(4), full_mask(4, 5));
  };
  const Matrix y = run(x, memory);
  CHECK(xt::amax(xt::abs(run(x, Matrix(xt::zeros_like(memory))) - y))() > 1e-3);
  Matrix changed = x;
  xt::row(changed, 2) = xt::row(random.normal_matrix(1, 6), 0);
  const Matrix apart = xt::abs(run(changed, memory) - y);
  CHECK(xt::amax(xt::view(apart, xt::range(0, 2), xt::all()))() == 0.0);
  CHECK(xt::amax(xt::row(apart, 2))() > 1e-3);
  Trace trace;
  run(x, memory);
  CHECK(shape_text(trace["cross.head.0.weights"]) == "(4, 5)");
}
