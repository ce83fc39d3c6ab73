// The way back, and Adam. The numbers were computed by PyTorch in double, to the digits shown, unless it says by
// hand.
#include "attn/reference/backward.hpp"

#include <cmath>
#include <functional>

#include "attn/core/random.hpp"
#include "attn/core/trace.hpp"
#include "attn/engine/backend/cpu.hpp"
#include "attn/reference/adam.hpp"
#include "attn/reference/masking.hpp"
#include "attn/reference/scaling.hpp"
#include "attn/reference/similarity.hpp"
#include "matrices.hpp"

using namespace attn;
using namespace attn::tests;

namespace {

/// How f answers to each entry of x: half the difference between a little above and a little below.
Matrix central_differences(const Matrix& x, const std::function<double(const Matrix&)>& f) {
  const double step = 1e-6;
  Matrix slope(x.shape());
  for (std::size_t i = 0; i < x.size(); ++i) {
    Matrix above = x, below = x;
    above.flat(i) += step, below.flat(i) -= step;
    slope.flat(i) = (f(above) - f(below)) / (2 * step);
  }
  return slope;
}

/// A loss whose gradient by the output is dO.
double weighed(const Matrix& output, const Matrix& dO) { return xt::sum(output * dO)(); }

struct Inputs {
  Matrix Q, K, V, dO;
};

Inputs random_inputs(std::uint64_t seed, std::size_t n_q, std::size_t n_k, std::size_t d_k, std::size_t d_v) {
  Random random(seed);
  const Matrix Q = random.normal_matrix(n_q, d_k), K = random.normal_matrix(n_k, d_k);
  const Matrix V = random.normal_matrix(n_k, d_v), dO = random.normal_matrix(n_q, d_v);
  return {Q, K, V, dO};
}

const Matrix Q = {{1, 0}, {0, 2}}, K = {{1, 1}, {0, 1}, {2, 0}}, V = {{1, 2}, {0, -1}, {3, 1}};
const Matrix dO = {{1, 0}, {-1, 2}};

}  // namespace

TEST_CASE("the gradient by a logit is its probability, less its share of the truth", "[chapter-10]") {
  // by hand: p is (1/4, 1/2, 1/4)
  const Matrix logits = {{0, std::log(2), 0}};
  check_near(cross_entropy_backward(logits, {1}, -1), {{.25, -.5, .25}}, 1e-15);
  check_near(cross_entropy_backward(logits, {1}, -1, {0.3}), {{.15, -.3, .15}}, 1e-15);  // q = (.1, .8, .1)
  const Matrix three = {{0, 1, 2, 3, 4}, {1, 0, 0, 2, -1}, {.5, .5, 0, 0, 3}};
  const Tokens targets = {3, 0, 4};
  check_near(cross_entropy_backward(three, targets, 0),
             {{.005828, .015842, .043064, -.382939, .318204},
              {0, 0, 0, 0, 0},
              {.032477, .032477, .019698, .019698, -.10435}},
             5e-7);
  check_near(cross_entropy_backward(three, targets, 0, {0.1}),
             {{-.004172, .005842, .033064, -.342939, .308204},
              {0, 0, 0, 0, 0},
              {.022477, .022477, .009698, .009698, -.06435}},
             5e-7);
}

TEST_CASE("the gradient by the logits equals central differences, however they are smoothed", "[chapter-10]") {
  Random random(1);
  const Matrix logits = random.normal_matrix(5, 7);
  const Tokens targets = {3, 0, 6, 1, 0};
  for (const Smoothing form :
       {Smoothing::all_classes, Smoothing::other_classes, Smoothing::other_classes_but_pad}) {
    for (const double epsilon : {0.0, 0.1, 0.6}) {
      const LabelSmoothing smoothing = {epsilon, form};
      const auto loss = [&](const Matrix& z) { return cross_entropy(z, targets, 0, smoothing); };
      const Matrix gradient = cross_entropy_backward(logits, targets, 0, smoothing);
      check_near(gradient, central_differences(logits, loss), 1e-8);
      check_near(Matrix(xt::sum(gradient, {1}, xt::keep_dims)), Matrix(xt::zeros<double>({5, 1})), 1e-15);
    }
  }
}

TEST_CASE("where the probabilities are the smoothed truth, the gradient is 0", "[chapter-10]") {
  // by hand: epsilon .2 over 4 classes leaves .85 to the right one and .05 to each other
  const Matrix logits = {{std::log(.05), std::log(.85), std::log(.05), std::log(.05)}};
  check_near(cross_entropy_backward(logits, {1}, -1, {0.2}), Matrix(xt::zeros<double>({1, 4})), 1e-15);
}

TEST_CASE("padding alone has a loss of 0 and no gradient; what has no loss is refused", "[chapter-10]") {
  check_same(cross_entropy_backward({{1, 2, 3}, {3, 2, 1}}, {0, 0}, 0, {0.1}), {{0, 0, 0}, {0, 0, 0}});
  CHECK(complaint([] {
          cross_entropy_backward({{1, 2}}, {1, 1}, 0);
        }) == "targets: wanted 1, one for each row, got 2");
  CHECK(complaint([] {
          cross_entropy_backward({{1, 2}}, {2}, 0);
        }) == "target 0: wanted one of 2 tokens, counted from 0, got 2");
}

TEST_CASE("the way back through softmax is a product with its Jacobian", "[chapter-10]") {
  Random random(2);
  const Matrix A = softmax(random.normal_matrix(1, 6)), dA = random.normal_matrix(1, 6);
  check_near(softmax_backward(A, dA), product(dA, softmax_jacobian(xt::row(A, 0))), 1e-15);
  check_near(softmax_backward(A, Matrix(xt::ones_like(A))), Matrix(xt::zeros_like(A)), 1e-15);
  CHECK(complaint([&] { softmax_backward(A, Matrix({1, 5})); }) == "dA: wanted shape (1, 6), got (1, 5)");
}

TEST_CASE("the way back through attention, step by step", "[chapter-10]") {
  Trace trace;
  const AttentionGradients d = attention_backward(Q, K, V, dO);
  check_near(trace["weights"], {{.283995, .140029, .575975}, {.445808, .445808, .108383}}, 6e-7);
  check_near(trace["dA"], {{1, 0, 3}, {3, -2, -1}}, 1e-15);
  check_near(trace["dS"], {{-.287381, -.281728, .569109}, {1.186998, -1.042043, -.144955}}, 6e-7);
  check_near(d.dV, {{-.161813, .891617}, {-.305779, .891617}, {.467592, .216767}}, 6e-7);
  check_near(d.dQ, {{.601632, -.402421}, {.634337, .102498}}, 6e-7);
  check_near(d.dK, {{-.203209, 1.678669}, {-.199212, -1.473672}, {.402421, -.204997}}, 6e-7);
}

TEST_CASE("the way back through attention equals central differences", "[chapter-10]") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Inputs x = random_inputs(seed, 3 + seed % 2, 4, 2 + seed % 3, 5);
    const AttentionGradients d = attention_backward(x.Q, x.K, x.V, x.dO);
    const auto by = [&](const Matrix& start, auto output) {
      return central_differences(start, [&](const Matrix& at) { return weighed(output(at), x.dO); });
    };
    check_near(d.dQ, by(x.Q, [&](const Matrix& at) { return attention(at, x.K, x.V); }), 1e-8);
    check_near(d.dK, by(x.K, [&](const Matrix& at) { return attention(x.Q, at, x.V); }), 1e-8);
    check_near(d.dV, by(x.V, [&](const Matrix& at) { return attention(x.Q, x.K, at); }), 1e-8);
  }
}

TEST_CASE("a mask that lets everything through changes nothing on the way back", "[chapter-10]") {
  const Inputs x = random_inputs(6, 3, 4, 2, 5);
  const AttentionGradients all = masked_attention_backward(x.Q, x.K, x.V, full_mask(3, 4), x.dO);
  const AttentionGradients none = attention_backward(x.Q, x.K, x.V, x.dO);
  check_same(all.dQ, none.dQ), check_same(all.dK, none.dK), check_same(all.dV, none.dV);
}

TEST_CASE("under a mask too, and a query that may look at nothing gives nothing back", "[chapter-10]") {
  const Inputs x = random_inputs(7, 4, 5, 3, 2);
  const Mask mask = {{true, false, true, true, false},
                     {false, false, false, false, false},
                     {true, false, false, false, false},
                     {true, false, true, false, true}};
  const AttentionGradients d = masked_attention_backward(x.Q, x.K, x.V, mask, x.dO);
  const auto by = [&](const Matrix& start, auto output) {
    return central_differences(start, [&](const Matrix& at) { return weighed(output(at), x.dO); });
  };
  check_near(d.dQ, by(x.Q, [&](const Matrix& at) { return masked_attention(at, x.K, x.V, mask); }), 1e-8);
  check_near(d.dK, by(x.K, [&](const Matrix& at) { return masked_attention(x.Q, at, x.V, mask); }), 1e-8);
  check_near(d.dV, by(x.V, [&](const Matrix& at) { return masked_attention(x.Q, x.K, at, mask); }), 1e-8);
  CHECK(norm(xt::row(d.dQ, 1)) == 0.0);
  CHECK(norm(xt::row(d.dK, 1)) == 0.0);  // a key that nobody sees
  CHECK(norm(xt::row(d.dV, 1)) == 0.0);
}

// pytorch issue 41508: NaN in the gradients.
TEST_CASE("what nobody sees does no harm on the way back, even as NaN", "[chapter-10]") {
  Inputs x = random_inputs(8, 3, 4, 3, 2);
  const Mask mask = {{true, true, false, true}, {false, false, false, false}, {true, true, false, false}};
  const AttentionGradients clean = masked_attention_backward(x.Q, x.K, x.V, mask, x.dO);
  xt::row(x.K, 2) = NAN, xt::row(x.V, 2) = NAN, xt::row(x.Q, 1) = NAN;
  const AttentionGradients d = masked_attention_backward(x.Q, x.K, x.V, mask, x.dO);
  check_near(d.dQ, clean.dQ, 1e-15);
  check_near(d.dK, clean.dK, 1e-15);
  check_near(d.dV, clean.dV, 1e-15);
}

TEST_CASE("the way back refuses shapes that do not fit, by name", "[chapter-10]") {
  CHECK(complaint([] { attention_backward(Q, K, V, V); }) == "dO: wanted shape (2, 2), got (3, 2)");
  CHECK(complaint([] { attention_backward(Q, V, Q, dO); }) == "V: wanted shape (3, 2), got (2, 2)");
  CHECK(complaint([] { attention_backward(Q, Matrix({3, 1}), V, dO); }) == "K: wanted shape (3, 2), got (3, 1)");
  CHECK(complaint([] { masked_attention_backward(Q, K, V, full_mask(3, 2), dO); }) ==
        "mask: wanted shape (2, 3), got (3, 2)");
}

namespace {

/// A matrix in the memory of a backend, for as long as it lives.
class OnBackend {
 public:
  OnBackend(engine::Backend& backend, const Matrix& A)
      : backend_(backend), view_{backend.allocate(A.size()), A.shape(0), A.shape(1), A.shape(1)} {
    const std::vector<float> numbers(A.begin(), A.end());
    backend.upload(view_, numbers);
  }
  ~OnBackend() { backend_.release(view_.data, view_.rows * view_.columns); }
  OnBackend(const OnBackend&) = delete;
  OnBackend& operator=(const OnBackend&) = delete;

  operator engine::View() const { return view_; }

  Matrix matrix() const {
    std::vector<float> numbers(view_.rows * view_.columns);
    backend_.download(view_, numbers);
    Matrix A({view_.rows, view_.columns});
    std::copy(numbers.begin(), numbers.end(), A.begin());
    return A;
  }

 private:
  engine::Backend& backend_;
  engine::View view_;
};

}  // namespace

TEST_CASE("the engine's way back through attention is the same", "[chapter-10]") {
  const auto backend = engine::make_cpu_backend();
  for (const bool causal : {false, true}) {
    const std::size_t n_q = 5, n_k = causal ? 5 : 4;
    const Inputs x = random_inputs(9, n_q, n_k, 3, 3);
    const AttentionGradients d =
        masked_attention_backward(x.Q, x.K, x.V, causal ? causal_mask(n_q) : full_mask(n_q, n_k), x.dO);
    const engine::Segment queries = {0, n_q}, keys = {0, n_k};
    engine::AttentionPlan plan;
    plan.queries = {&queries, 1}, plan.keys = {&keys, 1}, plan.causal = causal;
    const OnBackend q(*backend, x.Q), k(*backend, x.K), v(*backend, x.V), dout(*backend, x.dO);
    backend->attention_backward(plan, q, k, v, dout);
    check_near(q.matrix(), d.dQ, 1e-5);
    check_near(k.matrix(), d.dK, 1e-5);
    check_near(v.matrix(), d.dV, 1e-5);
  }
}

TEST_CASE("two updates of Adam, as PyTorch makes them", "[chapter-10]") {
  Adam adam;
  // by hand: at first each number with a gradient moves by the whole rate
  Matrix theta = adam_update({{1, -2, .5}}, {{.5, -2, 0}}, 0.1, adam);
  check_near(theta, {{.9, -1.9, .5}}, 1e-9);
  theta = adam_update(theta, {{.1, -2, 1e-9}}, 0.1, adam);
  check_near(theta, {{.81933752, -1.8, .46923334}}, 6e-9);
  CHECK(adam.t == 2);
  CHECK(complaint([&] { adam_update({{1, 2}}, {{1, 2}}, 0.1, adam); }) == "m: wanted shape (1, 2), got (1, 3)");
  CHECK(complaint([&] { adam_update({{1, 2, 3}}, {{1, 2}}, 0.1, adam); }) == "g: wanted shape (1, 3), got (1, 2)");
}

TEST_CASE("the engine's Adam makes the same updates", "[chapter-10]") {
  Random random(10);
  const auto backend = engine::make_cpu_backend();
  Matrix theta = random.normal_matrix(1, 9);
  const OnBackend values(*backend, theta);
  const OnBackend mean(*backend, Matrix(xt::zeros_like(theta))), square(*backend, Matrix(xt::zeros_like(theta)));
  Adam adam;
  for (std::uint64_t t = 1; t <= 8; ++t) {
    const Matrix g = random.normal_matrix(1, 9, std::pow(10.0, -static_cast<double>(t)));
    theta = adam_update(theta, g, 0.05, adam);
    const OnBackend gradient(*backend, g);
    backend->adam({0.05, adam.beta_1, adam.beta_2, adam.epsilon, t, 1.0}, values, gradient, mean, square);
    check_near(values.matrix(), theta, 1e-5);
  }
}
