// Each operation of a backend against plain loops in double; the same test for every backend there is.
#include "attn/engine/backend/backend.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>

#include "attn/core/random.hpp"
#include "attn/core/tokens.hpp"
#include "attn/engine/backend/cpu.hpp"
#include "matrices.hpp"

using namespace attn;
using namespace attn::engine;

namespace {

/// All backends that this machine can run.
std::vector<std::unique_ptr<Backend>> backends() {
  std::vector<std::unique_ptr<Backend>> all;
  all.push_back(make_cpu_backend());
  return all;
}

/// A matrix in a backend's memory, in rows that are longer than they need to be.
class Held {
 public:
  Held(Backend& backend, const Matrix& A, std::size_t gap = 3) : backend_(backend) {
    const std::size_t stride = A.shape(1) + gap;
    size_ = std::max<std::size_t>(A.shape(0) * stride, 1);
    view_ = {backend.allocate(size_), A.shape(0), A.shape(1), stride};
    std::vector<float> numbers(A.begin(), A.end());
    backend.upload(view_, numbers);
  }
  ~Held() { backend_.release(view_.data, size_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  View view() const { return view_; }
  float* data() const { return view_.data; }

  Matrix matrix() const {
    std::vector<float> numbers(view_.rows * view_.columns);
    backend_.download(view_, numbers);
    Matrix A({view_.rows, view_.columns});
    std::copy(numbers.begin(), numbers.end(), A.begin());
    return A;
  }

 private:
  Backend& backend_;
  View view_;
  std::size_t size_ = 0;
};

Matrix in_float(Matrix A) {
  for (double& a : A) a = static_cast<float>(a);
  return A;
}

Matrix each(const Matrix& A, const std::function<double(double)>& f) {
  Matrix B = A;
  for (double& b : B) b = f(b);
  return B;
}

Matrix turned_if(const Matrix& A, bool turned) { return turned ? transpose(A) : A; }

Matrix column_sums(const Matrix& A) {
  Matrix sums = xt::zeros<double>({std::size_t{1}, A.shape(1)});
  for (std::size_t i = 0; i < A.shape(0); ++i) xt::row(sums, 0) += xt::row(A, i);
  return sums;
}

const std::vector<Segment> two_sentences = {{0, 3}, {3, 2}};

/// The factors that attn::Dropout says for two sentences of 3 and 2 rows.
Matrix factors(double p, std::size_t width, std::uint32_t site) {
  Matrix F({5, width});
  for (std::size_t s = 0; s < 2; ++s) {
    const Dropout dropout{p, 12345678901234567U, 9, 4 + static_cast<std::uint32_t>(s), 0};
    for (std::size_t i = 0; i < two_sentences[s].length; ++i) {
      for (std::size_t c = 0; c < width; ++c) {
        F(two_sentences[s].start + i, c) = dropout.factor(site, static_cast<std::uint32_t>(i * width + c));
      }
    }
  }
  return F;
}

DropoutAt dropout_at(double p, std::uint32_t site) { return {p, 12345678901234567U, 9, site, 4, two_sentences}; }

}  // namespace

TEST_CASE(
    "products: each factor as it is or turned, added or not, of all kinds of shapes, by two threads and three") {
  const int threads_before = omp_get_max_threads();
  for (const int threads : {2, 3}) {
    const auto backend = make_cpu_backend();
    omp_set_num_threads(threads);
    Random random(1);
    for (const std::size_t n : {1, 2, 5, 33, 70}) {
      for (const std::size_t k : {1, 4, 40}) {
        for (const std::size_t m : {1, 3, 35, 130}) {
          for (int variant = 0; variant < 8; ++variant) {
            const bool a = (variant & 1) != 0, b = (variant & 2) != 0, add = (variant & 4) != 0;
            const Matrix A = in_float(random.normal_matrix(n, k)), B = in_float(random.normal_matrix(k, m));
            const Matrix C = in_float(random.normal_matrix(n, m));
            const Held A_held(*backend, turned_if(A, a)), B_held(*backend, turned_if(B, b)), C_held(*backend, C);
            backend->product(A_held.view(), a ? Turned::yes : Turned::no, B_held.view(),
                             b ? Turned::yes : Turned::no, C_held.view(), add);
            const Matrix wanted = add ? Matrix(C + product(A, B)) : product(A, B);
            INFO(n << "x" << k << "x" << m << ", variant " << variant);
            CHECK(xt::amax(xt::abs(C_held.matrix() - wanted))() < 1e-4);
          }
        }
      }
    }
  }
  omp_set_num_threads(threads_before);
}

// nvml_examples 2, fast.cu 14: what fits for squares fails for rectangles, and squares hide what is swapped.
TEST_CASE("products by hand, and shapes that do not fit") {
  for (const auto& backend : backends()) {
    const Held A(*backend, {{1, 2, 3}, {4, 5, 6}}), B(*backend, {{1, 0}, {0, 1}, {1, 1}}),
        C(*backend, identity(2));
    backend->product(A.view(), Turned::no, B.view(), Turned::no, C.view(), false);
    tests::check_same(C.matrix(), {{4, 5}, {10, 11}});
    const Held D(*backend, {{1, 2}, {3, 4}}), E(*backend, {{5, 6}, {7, 8}});
    backend->product(D.view(), Turned::no, E.view(), Turned::no, C.view(), false);
    tests::check_same(C.matrix(), {{19, 22}, {43, 50}});
    CHECK(tests::complaint([&] {
            backend->product(A.view(), Turned::no, A.view(), Turned::no, C.view(), false);
          }) == "product: wanted shapes that fit, got 2x3 times 2x3 into 2x2");
    const Held none(*backend, Matrix({2, 0})), no_row(*backend, Matrix({0, 2}));
    backend->product(none.view(), Turned::no, no_row.view(), Turned::no, C.view(), false);
    tests::check_same(C.matrix(), {{0, 0}, {0, 0}});
  }
}

TEST_CASE("what was asked for as NaN is not read when a product is written anew") {
  for (const auto& backend : backends()) {
    for (const std::size_t n : {1, 4}) {
      const Held A(*backend, Matrix(xt::ones<double>({n, std::size_t{2}}))), B(*backend, identity(2));
      const Held C(*backend, Matrix(std::nan("") * xt::ones<double>({n, std::size_t{2}})));
      backend->product(A.view(), Turned::no, B.view(), Turned::no, C.view(), false);
      tests::check_same(C.matrix(), Matrix(xt::ones<double>({n, std::size_t{2}})));
    }
  }
}

TEST_CASE("copies, zeros, sums and biases") {
  for (const auto& backend : backends()) {
    Random random(2);
    const Matrix A = in_float(random.normal_matrix(7, 5)), B = in_float(random.normal_matrix(7, 5)),
                 b = in_float(random.normal_matrix(1, 5));
    const Held x(*backend, A), y(*backend, B), bias(*backend, b);
    backend->add(x.view(), y.view());
    tests::check_near(y.matrix(), Matrix(A + B), 1e-6);
    backend->blend(0.25, x.view(), y.view());
    tests::check_near(y.matrix(), Matrix(0.75 * (A + B) + 0.25 * A), 1e-6);
    backend->copy(x.view(), y.view());
    tests::check_same(y.matrix(), A);
    backend->add_bias(y.view(), bias.data());
    tests::check_near(y.matrix(), Matrix(A + b), 1e-6);
    backend->add_column_sums(x.view(), bias.data());
    tests::check_near(bias.matrix(), Matrix(b + column_sums(A)), 1e-5);
    CHECK(std::abs(backend->sum_of_squares(x.view()) - xt::sum(A * A)()) < 1e-5);
    backend->zero(y.view());
    CHECK(backend->sum_of_squares(y.view()) == 0.0);
  }
}

TEST_CASE("a lone row, such as all gradients, is worked on like many") {
  for (const auto& backend : backends()) {
    const Held x(*backend, {{4, 8, -2, 0, 1}}), y(*backend, {{8, 0, 2, 4, 1}});
    backend->blend(0.25, x.view(), y.view());
    tests::check_same(y.matrix(), {{7, 2, 1, 3, 1}});
    backend->add(x.view(), y.view());
    tests::check_same(y.matrix(), {{11, 10, -1, 3, 2}});
    CHECK(backend->sum_of_squares(y.view()) == 235.0);
    backend->copy(x.view(), y.view());
    tests::check_same(y.matrix(), x.matrix());
    backend->zero(y.view());
    CHECK(backend->sum_of_squares(y.view()) == 0.0);
  }
}

TEST_CASE("dropout drops what attn::Dropout says, and the same on the way back") {
  for (const auto& backend : backends()) {
    Random random(3);
    for (const std::size_t width : {1, 3, 4, 6, 64, 70}) {
      for (const double p : {0.0, 0.1, 0.5, 0.9, 1 - 1e-11}) {
        const Matrix A = in_float(random.normal_matrix(5, width));
        const Held x(*backend, A), y(*backend, A);
        backend->dropout(x.view(), dropout_at(p, 6), y.view());
        tests::check_near(y.matrix(), Matrix(A * factors(p, width, 6)), 1e-5);
      }
    }
  }
}

TEST_CASE("activations and their gradients, with dropout and without") {
  for (const auto& backend : backends()) {
    Random random(4);
    for (const Activation activation : {Activation::relu, Activation::swish}) {
      for (const double p : {0.0, 0.4}) {
        const Matrix A = in_float(random.normal_matrix(5, 9, 3.0)), b = in_float(random.normal_matrix(1, 9));
        const Matrix dY = in_float(random.normal_matrix(5, 9)), F = factors(p, 9, 2), sum = A + b;
        const bool relu = activation == Activation::relu;
        const auto act = [&](double x) { return relu ? std::max(0.0, x) : x / (1 + std::exp(-x)); };
        const auto slope = [&](double x) {
          const double s = 1 / (1 + std::exp(-x));
          return relu ? (x > 0 ? 1.0 : 0.0) : s * (1 + x * (1 - s));
        };
        const Held x(*backend, A), other(*backend, A), bias(*backend, b), dy(*backend, dY);
        const View y = relu ? x.view() : other.view();
        backend->activate(x.view(), bias.data(), activation, dropout_at(p, 2), y);
        tests::check_near((relu ? x : other).matrix(), Matrix(each(sum, act) * F), 2e-5);
        const Held open(*backend, Matrix(xt::zeros<double>({5, 3})), 0);  // 9 bytes
        if (relu) backend->note_open(y, open.view());
        backend->copy(dy.view(), y);
        backend->activate_backward(relu ? open.view() : x.view(), activation, dropout_at(p, 2), y);
        tests::check_near((relu ? x : other).matrix(), Matrix(dY * F * each(sum, slope)), 2e-5);
      }
    }
  }
}

TEST_CASE("a gradient that is too large stays so where relu lets it through, and is 0 where it does not") {
  for (const auto& backend : backends()) {
    const Held x(*backend, {{2, -2}}), open(*backend, {{0}});
    for (const float large : {INFINITY, -INFINITY, NAN}) {
      const Held dy(*backend, {{large, large}});
      backend->note_open(x.view(), open.view());
      backend->activate_backward(open.view(), Activation::relu, dropout_at(0.0, 2), dy.view());
      CHECK_FALSE(std::isfinite(dy.matrix()(0, 0)));
      CHECK(dy.matrix()(0, 1) == 0.0);
    }
  }
}

TEST_CASE("residual and norm, apart and in one") {
  for (const auto& backend : backends()) {
    Random random(5);
    const Matrix X = in_float(random.normal_matrix(5, 6)), F = in_float(random.normal_matrix(5, 6)),
                 b = in_float(random.normal_matrix(1, 6)), g = in_float(random.normal_matrix(1, 6));
    const Matrix sum = X + (F + b) * factors(0.3, 6, 1);
    for (const engine::NormForm form :
         {engine::NormForm{attn::NormForm::standard, 1e-5f}, engine::NormForm{attn::NormForm::annotated, 1e-2f}}) {
      Matrix wanted = sum;
      for (std::size_t i = 0; i < 5; ++i) {
        const Vector apart = xt::row(sum, i) - xt::mean(xt::row(sum, i))();
        const double squares = dot(apart, apart);
        const double divisor = form.form == attn::NormForm::standard ? std::sqrt(squares / 6 + form.epsilon)
                                                                     : std::sqrt(squares / 5) + form.epsilon;
        xt::row(wanted, i) = apart / divisor * xt::row(g, 0) + xt::row(b, 0);
      }
      const Held x(*backend, X), f(*backend, F), f_too(*backend, F), bias(*backend, b), gamma(*backend, g);
      const Held y(*backend, X), y_too(*backend, X), stats(*backend, Matrix({5, 2}), 0);
      backend->residual(x.view(), bias.data(), dropout_at(0.3, 1), f.view());
      tests::check_near(f.matrix(), sum, 1e-5);
      backend->norm(f.view(), gamma.data(), bias.data(), form, y.view(), stats.data());
      tests::check_near(y.matrix(), wanted, 1e-5);
      backend->residual_norm(x.view(), bias.data(), dropout_at(0.3, 1), f_too.view(), gamma.data(), bias.data(),
                             form, y_too.view(), stats.data());
      tests::check_same(y_too.matrix(), y.matrix());
    }
  }
}

TEST_CASE("the variance is taken in two passes") {
  for (const auto& backend : backends()) {
    const Held x(*backend, {{10000, 10001, 10002, 10003}}, 0), y(*backend, Matrix({1, 4}), 0),
        stats(*backend, Matrix({1, 2}), 0);
    const Held gamma(*backend, {{1, 1, 1, 1}}, 0), beta(*backend, {{0, 0, 0, 0}}, 0);
    backend->norm(x.view(), gamma.data(), beta.data(), {attn::NormForm::standard, 1e-6f}, y.view(), stats.data());
    tests::check_near(y.matrix(), {{-1.341640, -.447213, .447213, 1.341640}}, 1e-5);
  }
}

// The formula in long double, which holds every square of a float.
TEST_CASE("layer norm of rows from the smallest to the largest floats, and its gradient") {
  using Number = long double;
  const std::vector<Matrix> rows = {{{1e30, 2e30, 3e30, 4e30}},      {{-3.4e38, 3.4e38, 1e38, -2e38}},
                                    {{1e19, -2e19, 3e19, 5e19}},     {{3e38, 3.1e38, 3.2e38, 3.3e38}},
                                    {{1e-12, 2e-12, -3e-12, 4e-12}}, {{1e-30, 2e-30, -3e-30, 4e-30}}};
  for (const auto& backend : backends()) {
    for (const auto form : {attn::NormForm::standard, attn::NormForm::annotated}) {
      for (const float epsilon : {1e-6f, 0.0f}) {
        for (const Matrix& row : rows) {
          const Matrix X = in_float(row), g = in_float({{.5, -2, 1, 3}}), b = in_float({{1, 2, -3, .5}}),
                       dY = in_float({{1, -.5, 2, .25}});
          Number mean = 0, squares = 0, plain = 0, normed = 0;
          for (std::size_t i = 0; i < 4; ++i) mean += X(0, i) / Number(4);
          for (std::size_t i = 0; i < 4; ++i) squares += (X(0, i) - mean) * (X(0, i) - mean);
          const bool standard = form == attn::NormForm::standard;
          const Number deviation = std::sqrt(squares / (standard ? 4 : 3));
          const Number divisor = standard ? std::sqrt(squares / 4 + Number(epsilon)) : deviation + Number(epsilon);
          for (std::size_t i = 0; i < 4; ++i) {
            plain += dY(0, i) * g(0, i), normed += dY(0, i) * g(0, i) * (X(0, i) - mean) / divisor;
          }
          Matrix Y = X, dX = X, dG = X;
          for (std::size_t i = 0; i < 4; ++i) {
            const Number z = (X(0, i) - mean) / divisor;
            const Number slope = standard ? normed / (4 * divisor) : normed / (3 * deviation);
            Y(0, i) = static_cast<double>(z * g(0, i) + b(0, i));
            dG(0, i) = static_cast<double>(z * dY(0, i));
            dX(0, i) = static_cast<double>((dY(0, i) * g(0, i) - plain / 4) / divisor - slope * z);
          }
          INFO("a row that begins with " << X(0, 0) << ", epsilon " << epsilon);
          const Held x(*backend, X, 0), gamma(*backend, g, 0), beta(*backend, b, 0), y(*backend, X, 0),
              stats(*backend, Matrix({1, 2}), 0), dy(*backend, dY, 0), dx(*backend, X, 0),
              dgamma(*backend, Matrix({{0, 0, 0, 0}}), 0), dbeta(*backend, Matrix({{0, 0, 0, 0}}), 0);
          backend->norm(x.view(), gamma.data(), beta.data(), {form, epsilon}, y.view(), stats.data());
          tests::check_near(y.matrix(), Y, 1e-5);
          backend->norm_backward(x.view(), gamma.data(), {form, epsilon}, stats.data(), dy.view(), dx.view(),
                                 false, dgamma.data(), dbeta.data());
          tests::check_near(dgamma.matrix(), dG, 1e-5);
          tests::check_near(dbeta.matrix(), dY, 1e-7);
          const double largest = std::max(2e-34, xt::amax(xt::abs(dX))());  // denormal numbers count as 0
          tests::check_near(Matrix(dx.matrix() / largest), Matrix(dX / largest), 1e-4);
        }
      }
    }
  }
}

// The bits of a product may depend on how many threads share it, and on where it is cut.
TEST_CASE("a product has the same bits for any number of threads") {
  const int before = omp_get_max_threads();
  Random random(21);
  const std::size_t shapes[][3] = {{1024, 64, 512}, {515, 300, 129}, {259, 700, 200},
                                   {100, 64, 1100}, {32, 512, 2048}, {1, 256, 5000},
                                   {12500, 8, 96},  {2, 40, 700},    {97, 100, 97}};
  for (const auto& backend : backends()) {
    for (const auto& [n, k, m] : shapes) {
      for (const bool turned : {false, true}) {
        const Matrix A = random.normal_matrix(turned ? k : n, turned ? n : k), B = random.normal_matrix(k, m);
        const Held a(*backend, A), b(*backend, B), c(*backend, Matrix(xt::zeros<double>({n, m})));
        std::vector<float> one;
        for (const int threads : {1, 2, 3, 5, 16}) {
          omp_set_num_threads(threads);
          backend->product(a.view(), turned ? Turned::yes : Turned::no, b.view(), Turned::no, c.view(), false);
          std::vector<float> got(n * m);
          backend->download(c.view(), got);
          if (threads == 1) one = got;
          INFO(n << " x " << k << " x " << m << ", " << threads << " threads");
          CHECK(got == one);
        }
      }
    }
  }
  omp_set_num_threads(before);
}

TEST_CASE("denormal numbers count as 0 in a backend, and the caller's own arithmetic keeps them") {
  const double tiny = 1e-39;
  volatile float denormal = 1e-39f;
  for (const auto& backend : backends()) {
    const Held x(*backend, {{tiny, 1.0}}), y(*backend, {{0.0, 0.0}}), ones(*backend, {{1.0}, {1.0}});
    backend->add(x.view(), y.view());
    CHECK(y.matrix()(0, 0) == 0.0);
    CHECK(y.matrix()(0, 1) == 1.0);
    const Held identity(*backend, {{1.0, 0.0}, {0.0, 1.0}}), z(*backend, {{5.0, 5.0}, {5.0, 5.0}}),
        two(*backend, {{tiny, 1.0}, {1.0, tiny}});
    backend->product(two.view(), Turned::no, identity.view(), Turned::no, z.view(), false);
    tests::check_same(z.matrix(), {{0.0, 1.0}, {1.0, 0.0}});
    // A gradient that has become 0: the mean decays to 0 and does not stay denormal.
    const Held theta(*backend, {{1.0}}), gradient(*backend, {{0.0}}), mean(*backend, {{1.2e-38}}),
        square(*backend, {{1.19e-38}});
    for (unsigned t = 1; t <= 3; ++t) {
      backend->adam({1e-3, 0.9, 0.98, 1e-9, t, 1.0}, theta.view(), gradient.view(), mean.view(), square.view());
    }
    CHECK(mean.matrix()(0, 0) == 0.0);
    CHECK(square.matrix()(0, 0) == 0.0);
    CHECK(denormal / 2.0f > 0.0f);
  }
}

// By loops: dV = D^T dO, dA = (dO V^T) F, dS = A (dA - rowsum(dA A)) / sqrt(d_k), dQ = dS K, dK = dS^T Q.
TEST_CASE("attention and its gradients, of two sentences and two heads, with dropout and without, causal or not") {
  for (const auto& backend : backends()) {
    Random random(11);
    const std::vector<Segment> keys = {{0, 4}, {4, 1}};
    for (const double p : {0.0, 0.4}) {
      for (const bool causal : {false, true}) {
        const std::size_t d = 3;
        const Matrix Q = in_float(random.normal_matrix(5, 2 * d)), K = in_float(random.normal_matrix(5, 2 * d)),
                     V = in_float(random.normal_matrix(5, 2 * d)), dO = in_float(random.normal_matrix(5, 2 * d));
        Matrix O = Q, dQ = Q, dK = K, dV = V;
        for (std::size_t b = 0; b < 2; ++b) {
          for (std::size_t h = 0; h < 2; ++h) {
            const auto queries_of = [&](auto& M) {
              const Segment s = two_sentences[b];
              return xt::view(M, xt::range(s.start, s.start + s.length), xt::range(h * d, h * d + d));
            };
            const auto keys_of = [&](auto& M) {
              return xt::view(M, xt::range(keys[b].start, keys[b].start + keys[b].length),
                              xt::range(h * d, h * d + d));
            };
            const Matrix Qh = queries_of(Q), Kh = keys_of(K), Vh = keys_of(V), dOh = queries_of(dO);
            Matrix A = product(Qh, transpose(Kh)) / std::sqrt(3.0), F = A;
            const Dropout dropout{p, 12345678901234567U, 9, 4 + static_cast<std::uint32_t>(b), 0};
            for (std::size_t i = 0; i < A.shape(0); ++i) {
              double sum = 0.0;
              for (std::size_t j = 0; j < A.shape(1); ++j) {
                A(i, j) = causal && j > i ? 0.0 : std::exp(A(i, j));
                sum += A(i, j);
                F(i, j) = dropout.factor(7 + static_cast<std::uint32_t>(h),
                                         static_cast<std::uint32_t>(i * A.shape(1) + j));
              }
              xt::row(A, i) /= sum;
            }
            const Matrix D = A * F, dA = product(dOh, transpose(Vh)) * F;
            Matrix dS = A;
            for (std::size_t i = 0; i < A.shape(0); ++i) {
              const double both = xt::sum(xt::row(A, i) * xt::row(dA, i))();
              xt::row(dS, i) = xt::row(A, i) * (xt::row(dA, i) - both) / std::sqrt(3.0);
            }
            queries_of(O) = product(D, Vh), keys_of(dV) = product(transpose(D), dOh);
            queries_of(dQ) = product(dS, Kh), keys_of(dK) = product(transpose(dS), Qh);
          }
        }
        const AttentionPlan plan = {two_sentences, keys, 2, causal, dropout_at(p, 7)};
        const Held q(*backend, Q), k(*backend, K), v(*backend, V), out(*backend, Q), dout(*backend, dO);
        backend->attention(plan, q.view(), k.view(), v.view(), out.view());
        tests::check_near(out.matrix(), O, 1e-5);
        backend->attention_backward(plan, q.view(), k.view(), v.view(), dout.view());
        tests::check_near(q.matrix(), dQ, 1e-5);
        tests::check_near(k.matrix(), dK, 1e-5);
        tests::check_near(v.matrix(), dV, 1e-5);
        tests::check_near(dout.matrix(), O, 1e-5);
      }
    }
  }
}

TEST_CASE("attention to nobody is zero, and so is what goes back") {
  for (const auto& backend : backends()) {
    const std::vector<Segment> queries = {{0, 2}, {2, 1}}, keys = {{0, 0}, {0, 2}};
    const AttentionPlan plan = {queries, keys, 1, false, {}};
    const Matrix ones = xt::ones<double>({3, 2});
    const Held Q(*backend, ones), K(*backend, {{1, 2}, {3, 4}}), V(*backend, {{1, 2}, {3, 4}}),
        out(*backend, ones);
    backend->attention(plan, Q.view(), K.view(), V.view(), out.view());
    const Matrix got = out.matrix();
    CHECK(got(0, 0) == 0.0);
    CHECK(got(1, 1) == 0.0);
    CHECK(got(2, 0) > 1.0);
    const Held dout(*backend, ones);
    backend->attention_backward(plan, Q.view(), K.view(), V.view(), dout.view());
    CHECK(xt::amax(xt::abs(xt::view(Q.matrix(), xt::range(0, 2), xt::all())))() == 0.0);
    tests::check_same(dout.matrix(), got);
  }
}

TEST_CASE("large scores do not overflow, low ones are not lost") {
  for (const auto& backend : backends()) {
    const std::vector<Segment> one = {{0, 1}}, two = {{0, 2}};
    for (const float score : {1e4f, -6e4f}) {
      const Held Q(*backend, {{score}}), K(*backend, {{1}, {1}}), V(*backend, {{1}, {3}}), out(*backend, {{0}});
      backend->attention({one, two, 1, false, {}}, Q.view(), K.view(), V.view(), out.view());
      CHECK(std::abs(out.matrix()(0, 0) - 2.0) < 1e-6);
    }
  }
}

TEST_CASE("scores that are all minus infinity are an empty row, as in the reference") {
  for (const auto& backend : backends()) {
    const std::vector<Segment> one = {{0, 1}}, two = {{0, 2}};
    const Held Q(*backend, {{1}}), K(*backend, {{-INFINITY}, {-INFINITY}}), V(*backend, {{1}, {3}}),
        out(*backend, {{5}});
    backend->attention({one, two, 1, false, {}}, Q.view(), K.view(), V.view(), out.view());
    CHECK(out.matrix()(0, 0) == 0.0);
  }
}

TEST_CASE("a constant row is its mean, however large; gradients of shifted logits sum to 0") {
  for (const auto& backend : backends()) {
    const Matrix constant = 1234.567 * xt::ones<double>({1, 512});
    const Held x(*backend, constant, 0), y(*backend, constant, 0), stats(*backend, Matrix({1, 2}), 0);
    const Held gamma(*backend, Matrix(xt::ones<double>({1, 512})), 0),
        beta(*backend, Matrix(xt::zeros<double>({1, 512})), 0);
    backend->norm(x.view(), gamma.data(), beta.data(), {attn::NormForm::standard, 1e-6f}, y.view(), stats.data());
    CHECK(xt::amax(xt::abs(y.matrix()))() < 1e-5);
    const Held logits(*backend, {{1e6, 1e6 + 1, 1e6 + 2}});
    const std::vector<int> target = {1};
    double nll = 0.0;
    backend->cross_entropy(logits.view(), target, {}, 1.0, nll);
    CHECK(std::abs(xt::sum(logits.matrix())()) < 1e-6);
  }
}

TEST_CASE("embeddings: looked up, scaled, placed, and sent back to where they came from") {
  for (const auto& backend : backends()) {
    Random random(6);
    const Matrix E = in_float(random.normal_matrix(4, 6)), P = in_float(random.normal_matrix(3, 6)),
                 dX = in_float(random.normal_matrix(5, 6)), dP = in_float(random.normal_matrix(3, 6));
    const std::vector<int> tokens = {2, no_token, 2, 0, 3};
    const std::size_t place[] = {0, 1, 2, 0, 1};
    Matrix wanted({5, 6}), wanted_back = E, places_back = dP;
    const Matrix F = factors(0.3, 6, 8);
    for (std::size_t i = 0; i < 5; ++i) {
      xt::row(wanted, i) = xt::row(P, place[i]);
      xt::row(places_back, place[i]) += xt::row(dX, i) * xt::row(F, i);
      if (tokens[i] < 0) continue;
      xt::row(wanted, i) += 2.5 * xt::row(E, tokens[i]);
      xt::row(wanted_back, tokens[i]) += 2.5 * xt::row(dX, i) * xt::row(F, i);
    }
    const Held table(*backend, E), positions(*backend, P), x(*backend, dX), dpositions(*backend, dP);
    backend->embed(tokens, table.view(), 2.5f, positions.view(), dropout_at(0.3, 8), x.view());
    tests::check_near(x.matrix(), Matrix(wanted * F), 1e-5);
    for (const View places : {View(), dpositions.view()}) {
      const Held dx(*backend, dX), dtable(*backend, E);
      backend->embed_backward(tokens, 2.5f, dropout_at(0.3, 8), dx.view(), dtable.view(), places);
      tests::check_near(dtable.matrix(), wanted_back, 1e-5);
    }
    tests::check_near(dpositions.matrix(), places_back, 1e-5);
  }
}

// The digits that are known of three forms of label smoothing: logits 0 to 4, target 3.
TEST_CASE("the loss and its gradient, in three forms; padding has none") {
  for (const auto& backend : backends()) {
    const std::pair<LossForm, double> known[] = {
        {{0.0, Smoothing::all_classes, 0}, 1.451914},
        {{0.1, Smoothing::all_classes, 0}, 1.551914},
        {{0.1, Smoothing::other_classes, 0}, 1.576914},
        {{0.1, Smoothing::other_classes_but_pad, 0}, 1.518581},
    };
    for (const auto& [form, wanted] : known) {
      const Matrix Z = {{0, 1, 2, 3, 4}, {5, 5, 5, 5, 5}};
      const std::vector<int> targets = {3, 0};
      const Held logits(*backend, Z);
      double nll = 0.0;
      CHECK(std::abs(backend->cross_entropy(logits.view(), targets, form, 0.0, nll) - wanted) < 2e-6);
      CHECK(std::abs(nll - 1.451914) < 2e-6);
      tests::check_same(logits.matrix(), Z);
      backend->cross_entropy(logits.view(), targets, form, 2.0, nll);
      const Matrix gradient = logits.matrix();
      for (std::size_t c = 0; c < 5; ++c) {
        CHECK(gradient(1, c) == 0.0);
        double slope = 0.0;
        for (const double step : {1e-2, -1e-2}) {
          Matrix moved = Z;
          moved(0, c) += step;
          const Held held(*backend, moved);
          slope += 2.0 * backend->cross_entropy(held.view(), targets, form, 0.0, nll) / (2 * step);
        }
        CHECK(std::abs(gradient(0, c) - slope) < 1e-3);
      }
    }
  }
}

TEST_CASE("a class of probability 0 costs nothing unless it is the answer") {
  for (const auto& backend : backends()) {
    double nll = 0.0;
    const Held logits(*backend, {{0, -INFINITY, 1}, {0, -INFINITY, 1}});
    const std::vector<int> fine = {2, 2}, bad = {2, 1};
    CHECK(std::isfinite(backend->cross_entropy(logits.view(), fine, {}, 0.0, nll)));
    CHECK(backend->cross_entropy(logits.view(), bad, {}, 0.0, nll) == INFINITY);
    // Padding that is hidden, and has no share.
    const LossForm no_share = {0.1, Smoothing::other_classes_but_pad, 0};
    const Held hidden(*backend, {{-INFINITY, 1, 2, 0}});
    const std::vector<int> target = {2};
    // log(e + e^2 + 1) - .9 * 2 - .05 * (1 + 0), by hand
    CHECK(std::abs(backend->cross_entropy(hidden.view(), target, no_share, 0.0, nll) - 0.557606) < 1e-5);
  }
}

// tensorflow issue 9047: where epsilon stands shows when gradients are as small as it is.
TEST_CASE("Adam's first update, with epsilon outside the root") {
  for (const auto& backend : backends()) {
    const std::pair<double, double> known[] = {{1e-9, .5}, {1e-8, .909091}, {1e-3, .999999}};
    for (const auto& [gradient, wanted] : known) {
      const Held theta(*backend, {{0}}), g(*backend, {{gradient}}), m(*backend, {{0}}), v(*backend, {{0}});
      backend->adam({1.0, 0.9, 0.98, 1e-9, 1, 1.0}, theta.view(), g.view(), m.view(), v.view());
      CHECK(std::abs(-theta.matrix()(0, 0) - wanted) < 2e-6);
      CHECK(g.matrix()(0, 0) == 0.0);
    }
  }
}

// fairseq issue 358: more is wanted than there is, up to all.
TEST_CASE("the largest of each row, the first of equals first") {
  for (const auto& backend : backends()) {
    const Held x(*backend, {{1, 7, 7, 3}, {-1, -2, -1, -5}});
    std::vector<float> values(8);
    std::vector<int> places(8);
    backend->top_k(x.view(), 4, values, places);
    CHECK(places == std::vector<int>{1, 2, 3, 0, 0, 2, 1, 3});
    CHECK(values[0] == 7.0f);
    CHECK(values[7] == -5.0f);
    CHECK(tests::complaint([&] { backend->top_k(x.view(), 5, values, places); }) ==
          "top_k: wanted at most 4, as there are, got 5");
  }
}

TEST_CASE("memory is zero, aligned, and given back") {
  for (const auto& backend : backends()) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{3} << 20}) {
      float* memory = backend->allocate(count);
      CHECK(reinterpret_cast<std::uintptr_t>(memory) % (std::size_t{2} << 20) == 0);
      CHECK(backend->sum_of_squares({memory, 1, count, count}) == 0.0);
      backend->release(memory, count);
    }
    CHECK(backend->allocate(0) == nullptr);
    backend->release(nullptr, 0);
    CHECK_THROWS_AS(backend->allocate(SIZE_MAX / 2), std::bad_alloc);
    CHECK_THROWS_AS(backend->allocate(std::size_t{1} << 46), std::bad_alloc);
    CHECK(backend->name().size() > 5);
  }
}
