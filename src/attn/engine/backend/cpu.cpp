#include "attn/engine/backend/cpu.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attn/core/blas.hpp"
#include "attn/core/errors.hpp"
#include "attn/engine/backend/gemm.hpp"
#include "attn/engine/backend/kernels.hpp"
#include "attn/engine/backend/memory.hpp"
#include "attn/engine/backend/parallel.hpp"
#include "attn/engine/backend/wide_norm.hpp"

namespace attn::engine {
namespace {

float* row(View x, std::size_t i) { return x.data + i * x.stride; }

/// A row whose memory holds bytes.
unsigned char* bytes_of(View x, std::size_t i) { return reinterpret_cast<unsigned char*>(row(x, i)); }

// Where rows are cut: vectors hold the same numbers whatever the number of threads.
constexpr std::size_t lane_grain = 64, lone_row_grain = 1024;

/// The rows of a matrix, or the numbers of a lone row such as all gradients, on all threads:
/// f(row, first column, how many).
template <class F>
void parallel_rows(View x, const F& f) {
  if (x.rows == 1) {
    parallel_for(x.columns, lone_row_grain,
                 [&](std::size_t first, std::size_t last, std::size_t) { f(0, first, last - first); });
  } else {
    parallel_for(x.rows, 1, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t i = first; i < last; ++i) f(i, 0, x.columns);
    });
  }
}

/// Room to work in for each thread. It is made before the threads set out: if one of them ran out of memory,
/// nobody could be told.
class Room {
 public:
  Room() = default;
  ~Room() { release_floats(memory_, size_); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  /// So many floats for each thread, with whatever is in them.
  void make(std::size_t count) {
    constexpr std::size_t line = 16;  // floats: no two threads in one cache line
    each_ = (count + line - 1) / line * line;
    std::size_t size = each_ * most_threads();
    if (size <= size_) return;
    size = std::max(size, size_ + size_ / 2);  // who asks for a bit more will ask again
    release_floats(memory_, size_);
    memory_ = nullptr, size_ = 0;  // true even if there is not enough for the new one
    memory_ = allocate_floats(size), size_ = size;
  }

  float* of(std::size_t thread) { return memory_ + thread * each_; }

 private:
  float* memory_ = nullptr;
  std::size_t size_ = 0, each_ = 0;
};

/// What dropout multiplies a row of a sentence with.
void dropout_factors(const DropoutAt& dropout, std::size_t segment, std::size_t row_of_it, std::uint32_t site,
                     float* factors, std::size_t width) {
  const std::uint32_t key[2] = {static_cast<std::uint32_t>(dropout.seed) ^ dropout_key,
                                static_cast<std::uint32_t>(dropout.seed >> 32)};
  const std::uint32_t counter[3] = {site, dropout.step,
                                    dropout.first_sequence + static_cast<std::uint32_t>(segment)};
  kernels::dropout_factors(factors, width, dropout.p, key, counter, static_cast<std::uint32_t>(row_of_it * width));
}

/// The same for one row of the batch after the other, which must come in order.
class DropoutRows {
 public:
  DropoutRows(const DropoutAt& dropout, float* room, std::size_t width)
      : dropout_(dropout), room_(room), width_(width) {}

  /// For row i of the batch; nullptr where nothing is dropped.
  const float* factors(std::size_t i) {
    if (dropout_.p <= 0.0) return nullptr;
    const auto& segments = dropout_.segments;
    while (i >= segments[segment_].start + segments[segment_].length) ++segment_;
    dropout_factors(dropout_, segment_, i - segments[segment_].start, dropout_.site, room_, width_);
    return room_;
  }

 private:
  const DropoutAt& dropout_;
  float* room_;
  std::size_t width_;
  std::size_t segment_ = 0;
};

/// What the normed row is divided by, as its inverse.
float inverse_divisor(kernels::Moments moments, std::size_t n, NormForm form) {
  const float width = static_cast<float>(n);
  if (form.form == attn::NormForm::annotated) {
    return 1.0f / (std::sqrt(moments.squares / (width - 1.0f)) + form.epsilon);
  }
  return 1.0f / std::sqrt(moments.squares / width + form.epsilon);
}

/// What label smoothing leaves to the target, gives to each other class, and to PAD.
struct Shares {
  double right, other, pad;
};

Shares shares(const LossForm& form, std::size_t classes) {
  const double epsilon = form.label_smoothing, V = static_cast<double>(classes);
  switch (form.smoothing) {
    case Smoothing::all_classes:
      return {1.0 - epsilon + epsilon / V, epsilon / V, epsilon / V};
    case Smoothing::other_classes:
      return {1.0 - epsilon, epsilon / (V - 1.0), epsilon / (V - 1.0)};
    case Smoothing::other_classes_but_pad:
      return {1.0 - epsilon, epsilon / (V - 2.0), 0.0};
  }
  return {};
}

/// One head of one sentence, and room to work on it.
struct Head {
  Head(const AttentionPlan& plan, std::size_t which, View all_Q, View all_K, View all_V, float* room)
      : sentence(which / plan.h), number(which % plan.h), h(plan.h) {
    Q = part(plan.queries, all_Q), K = part(plan.keys, all_K), V = part(plan.keys, all_V);
    const std::size_t n_q = Q.rows, n_k = K.rows, all = n_q * n_k;
    A = {room, n_q, n_k, n_k};
    mixing = {plan.dropout.p > 0.0 ? room + all : room, n_q, n_k, n_k};
    dA = {room + 2 * all, n_q, n_k, n_k};
    result = {room + 3 * all, n_q, Q.columns, Q.columns};
    factors = result.data + n_q * Q.columns;
    scale = 1.0f / std::sqrt(static_cast<float>(Q.columns));
    if (!plan.hidden_keys.empty()) hidden = plan.hidden_keys.subspan(plan.keys[sentence].start, n_k);
  }

  /// How much room that is for the largest.
  static std::size_t room_for(const AttentionPlan& plan, std::size_t d_k) {
    std::size_t most = 0;
    for (std::size_t b = 0; b < plan.queries.size(); ++b) {
      const std::size_t n_q = plan.queries[b].length, n_k = plan.keys[b].length;
      most = std::max(most, 3 * n_q * n_k + n_q * d_k + n_k);
    }
    return most;
  }

  /// Its rows and columns of a matrix of all sentences and heads.
  View part(std::span<const Segment> segments, View all) const {
    const std::size_t d = all.columns / h;
    return all.rows_from(segments[sentence].start, segments[sentence].length).columns_from(number * d, d);
  }

  std::size_t sentence, number, h;
  View Q, K, V;
  View A, mixing;  // the weights, and what dropout leaves of them; without dropout they are one
  View dA;
  View result;     // of the shape of Q: what the head gave, then the gradient of Q
  float* factors;  // of dropout, for a row of A
  float scale;
  std::span<const unsigned char> hidden;  // for each key, whether nobody looks at it; empty if all may be seen
};

class CpuBackend : public Backend {
 public:
  std::string name() const override {
    const BlasInfo blas = blas_info();
    return blas.library + ", " + blas.kernel + " kernels, " + std::to_string(most_threads()) +
           (most_threads() == 1 ? " thread" : " threads");
  }

  void set_work(CpuWork work) {
    products_only_ = work != CpuWork::all;
    cutting_ = work == CpuWork::even_products      ? Cutting::even
               : work == CpuWork::library_products ? Cutting::library
                                                   : Cutting::blocks;
  }

  void pretend(bool on) override { pretends_ = on; }

  float* allocate(std::size_t count) override { return allocate_floats(count); }
  void release(float* memory, std::size_t count) override { release_floats(memory, count); }

  void upload(View to, std::span<const float> from) override {
    for (std::size_t i = 0; i < to.rows; ++i) std::copy_n(from.data() + i * to.columns, to.columns, row(to, i));
  }

  void download(View from, std::span<float> to) override {
    for (std::size_t i = 0; i < from.rows; ++i)
      std::copy_n(row(from, i), from.columns, to.data() + i * from.columns);
  }

  void copy(View from, View to) override {
    if (idle()) return;
    parallel_rows(from, [&](std::size_t i, std::size_t first, std::size_t count) {
      std::copy_n(row(from, i) + first, count, row(to, i) + first);
    });
  }

  void zero(View x) override {
    if (idle()) return;
    parallel_rows(x, [&](std::size_t i, std::size_t first, std::size_t count) {
      std::fill_n(row(x, i) + first, count, 0.0f);
    });
  }

  void add(View x, View y) override {
    if (idle()) return;
    parallel_rows(x, [&](std::size_t i, std::size_t first, std::size_t count) {
      kernels::add(row(x, i) + first, row(y, i) + first, count);
    });
  }

  void blend(double share, View x, View y) override {
    if (idle()) return;
    parallel_rows(x, [&](std::size_t i, std::size_t first, std::size_t count) {
      kernels::blend(static_cast<float>(share), row(x, i) + first, row(y, i) + first, count);
    });
  }

  void product(View A, Turned A_turned, View B, Turned B_turned, View C, bool add) override {
    const bool a = A_turned == Turned::yes, b = B_turned == Turned::yes;
    const std::size_t n = a ? A.columns : A.rows, k = a ? A.rows : A.columns;
    const std::size_t k_too = b ? B.columns : B.rows, m = b ? B.rows : B.columns;
    if (k != k_too || C.rows != n || C.columns != m) {
      refuse("product", "shapes that fit",
             std::to_string(n) + "x" + std::to_string(k) + " times " + std::to_string(k_too) + "x" +
                 std::to_string(m) + " into " + std::to_string(C.rows) + "x" + std::to_string(C.columns));
    }
    if (!pretends_) parallel_gemm(A, a, B, b, C, add, cutting_);
  }

  void add_bias(View x, const float* bias) override {
    if (idle()) return;
    parallel_for(x.rows, 1, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t i = first; i < last; ++i) kernels::add(bias, row(x, i), x.columns);
    });
  }

  void add_column_sums(View dy, float* dbias) override {
    if (idle()) return;
    parallel_for(dy.columns, lane_grain, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t i = 0; i < dy.rows; ++i) kernels::add(row(dy, i) + first, dbias + first, last - first);
    });
  }

  void activate(View x, const float* bias, Activation activation, const DropoutAt& dropout, View y) override {
    each_row(x, dropout, [&](std::size_t i, const float* factors) {
      if (activation == Activation::relu) {
        kernels::bias_relu(row(x, i), bias, x.columns);
      } else {
        kernels::bias_swish(row(x, i), bias, row(y, i), x.columns);
      }
      if (factors != nullptr) kernels::multiply(row(y, i), factors, row(y, i), x.columns);
    });
  }

  void note_open(View y, View open) override {
    if (idle()) return;
    parallel_rows(y, [&](std::size_t i, std::size_t first, std::size_t count) {
      kernels::note_positive(row(y, i) + first, bytes_of(open, i) + first, count);
    });
  }

  void activate_backward(View x, Activation activation, const DropoutAt& dropout, View dy) override {
    if (activation == Activation::relu) {
      if (idle()) return;
      const auto kept = static_cast<float>(1.0 / (1.0 - dropout.p));
      parallel_rows(dy, [&](std::size_t i, std::size_t first, std::size_t count) {
        kernels::relu_backward(kept, bytes_of(x, i) + first, row(dy, i) + first, count);
      });
      return;
    }
    each_row(x, dropout, [&](std::size_t i, const float* factors) {
      if (factors != nullptr) kernels::multiply(row(dy, i), factors, row(dy, i), x.columns);
      kernels::swish_backward(row(x, i), row(dy, i), x.columns);
    });
  }

  void residual(View x, const float* bias, const DropoutAt& dropout, View f) override {
    each_row(x, dropout, [&](std::size_t i, const float* factors) {
      kernels::residual(row(x, i), bias, factors, row(f, i), x.columns);
    });
  }

  void dropout(View x, const DropoutAt& dropout, View y) override {
    each_row(x, dropout, [&](std::size_t i, const float* factors) {
      if (factors != nullptr) {
        kernels::multiply(row(x, i), factors, row(y, i), x.columns);
      } else if (y.data != x.data) {
        std::copy_n(row(x, i), x.columns, row(y, i));
      }
    });
  }

  void norm(View x, const float* gamma, const float* beta, NormForm form, View y, float* stats) override {
    if (idle()) return;
    parallel_for(x.rows, 1, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t i = first; i < last; ++i) norm_row(x, i, gamma, beta, form, y, stats);
    });
  }

  void residual_norm(View x, const float* bias, const DropoutAt& dropout, View f, const float* gamma,
                     const float* beta, NormForm form, View y, float* stats) override {
    each_row(x, dropout, [&](std::size_t i, const float* factors) {
      kernels::residual(row(x, i), bias, factors, row(f, i), x.columns);
      norm_row(f, i, gamma, beta, form, y, stats);
    });
  }

  void norm_backward(View x, const float* gamma, NormForm form, const float* stats, View dy, View dx, bool add,
                     float* dgamma, float* dbeta) override {
    if (idle()) return;
    const std::size_t d = x.columns;
    const Pieces pieces(x.rows, 16);
    float* partial = partial_sums(pieces.size() * 2 * d);
    parallel_for(pieces.size(), 1, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t piece = first; piece < last; ++piece) {
        float* own = partial + piece * 2 * d;
        for (std::size_t i = pieces.first(piece); i < pieces.last(piece); ++i) {
          norm_row_backward(x, i, gamma, form, stats + 2 * i, dy, dx, add, own, own + d);
        }
      }
    });
    parallel_for(d, lane_grain, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
        kernels::add(partial + piece * 2 * d + first, dgamma + first, last - first);
        kernels::add(partial + piece * 2 * d + d + first, dbeta + first, last - first);
      }
    });
  }

  void attention(const AttentionPlan& plan, View Q, View K, View V, View out) override {
    room_.make(Head::room_for(plan, Q.columns / plan.h));
    if (pretends_) return;
    each_head(plan, Q, K, V, [&](const Head& head) {
      weigh(plan, head);
      gemm(1.0f, head.mixing, false, head.V, false, head.part(plan.queries, out), false);
    });
  }

  void attention_backward(const AttentionPlan& plan, View Q, View K, View V, View dout) override {
    room_.make(Head::room_for(plan, Q.columns / plan.h));
    if (pretends_) return;
    each_head(plan, Q, K, V, [&](const Head& head) {
      const View dout_h = head.part(plan.queries, dout);
      weigh(plan, head);
      gemm(1.0f, dout_h, false, head.V, true, head.dA, false);
      gemm(1.0f, head.mixing, false, head.V, false, head.result, false);
      gemm(1.0f, head.mixing, true, dout_h, false, head.V, false);
      copy_here(head.result, dout_h);
      if (!products_only_) weights_backward(plan, head);
      gemm(1.0f, head.dA, false, head.K, false, head.result, false);
      gemm(1.0f, head.dA, true, head.Q, false, head.K, false);
      copy_here(head.result, head.Q);
    });
  }

  void embed(std::span<const int> tokens, View table, float scale, View positions, const DropoutAt& dropout,
             View x) override {
    if (idle()) return;
    parallel_for(dropout.segments.size(), 1, [&](std::size_t first, std::size_t last, std::size_t) {
      for (const Segment& segment : dropout.segments.subspan(first, last - first)) {
        for (std::size_t p = 0; p < segment.length; ++p) {
          float* to = row(x, segment.start + p);
          std::copy_n(row(positions, p), x.columns, to);
          const int token = tokens[segment.start + p];
          if (token >= 0) kernels::add_scaled(scale, row(table, static_cast<std::size_t>(token)), to, x.columns);
        }
      }
    });
    this->dropout(x, dropout, x);
  }

  void embed_backward(std::span<const int> tokens, float scale, const DropoutAt& dropped, View dx, View dtable,
                      View dpositions) override {
    if (idle()) return;
    dropout(dx, dropped, dx);
    parallel_for(dx.columns, lane_grain,
                 [&](std::size_t first, std::size_t last, std::size_t) {  // so that no two meet in a row
                   const std::size_t count = last - first;
                   for (const Segment& segment : dropped.segments) {
                     for (std::size_t p = 0; p < segment.length; ++p) {
                       const float* from = row(dx, segment.start + p) + first;
                       const int token = tokens[segment.start + p];
                       if (token >= 0) {
                         kernels::add_scaled(scale, from, row(dtable, static_cast<std::size_t>(token)) + first,
                                             count);
                       }
                       if (dpositions.data != nullptr) kernels::add(from, row(dpositions, p) + first, count);
                     }
                   }
                 });
  }

  double cross_entropy(View logits, std::span<const int> targets, const LossForm& form, double scale,
                       double& nll) override {
    if (idle()) return 0.0;
    const Shares share = shares(form, logits.columns);
    const Pieces pieces(logits.rows, 1);
    sums_.assign(2 * pieces.size(), 0.0);
    parallel_for(pieces.size(), 1, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t piece = first; piece < last; ++piece) {
        double loss = 0.0, plain = 0.0;
        for (std::size_t i = pieces.first(piece); i < pieces.last(piece); ++i)
          loss_of_row(logits, i, targets[i], form.pad, share, scale, loss, plain);
        sums_[2 * piece] = loss, sums_[2 * piece + 1] = plain;
      }
    });
    double loss = 0.0;
    for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
      loss += sums_[2 * piece], nll += sums_[2 * piece + 1];
    }
    return loss;
  }

  double sum_of_squares(View x) override {
    if (idle()) return 0.0;
    const bool lone = x.rows == 1;
    const Pieces pieces(lone ? x.columns : x.rows, lone ? lone_row_grain : 1);
    sums_.assign(pieces.size(), 0.0);
    parallel_for(pieces.size(), 1, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t piece = first; piece < last; ++piece) {
        const std::size_t begin = pieces.first(piece), end = pieces.last(piece);
        double sum = lone ? kernels::sum_of_squares(x.data + begin, end - begin) : 0.0;
        for (std::size_t i = begin; i < end && !lone; ++i) sum += kernels::sum_of_squares(row(x, i), x.columns);
        sums_[piece] = sum;
      }
    });
    return std::accumulate(sums_.begin(), sums_.end(), 0.0);
  }

  void adam(const AdamStep& step, View parameters, View gradients, View mean, View square) override {
    if (idle()) return;
    const auto t = static_cast<double>(step.t);
    const double correction_1 = 1.0 - std::pow(step.beta_1, t), correction_2 = 1.0 - std::pow(step.beta_2, t);
    const kernels::Adam each = {static_cast<float>(step.gradient_scale),
                                static_cast<float>(step.beta_1),
                                static_cast<float>(1.0 - step.beta_1),
                                static_cast<float>(step.beta_2),
                                static_cast<float>(1.0 - step.beta_2),
                                static_cast<float>(step.rate / correction_1),
                                static_cast<float>(1.0 / std::sqrt(correction_2)),
                                static_cast<float>(step.epsilon)};
    parallel_for(parameters.columns, lone_row_grain, [&](std::size_t first, std::size_t last, std::size_t) {
      kernels::adam(each, parameters.data + first, gradients.data + first, mean.data + first, square.data + first,
                    last - first);
    });
  }

  void top_k(View x, std::size_t k, std::span<float> values, std::span<int> places) override {
    if (k > x.columns)
      refuse("top_k", "at most " + std::to_string(x.columns) + ", as there are", std::to_string(k));
    order_.resize(x.columns * most_threads());
    parallel_for(x.rows, 1, [&](std::size_t first, std::size_t last, std::size_t thread) {
      const std::span order = std::span(order_).subspan(thread * x.columns, x.columns);
      for (std::size_t i = first; i < last; ++i) {
        const float* numbers = row(x, i);
        std::iota(order.begin(), order.end(), 0);
        const auto key = [&](int c) { return std::isnan(numbers[c]) ? -INFINITY : numbers[c]; };
        const auto before = [&](int a, int b) { return key(a) != key(b) ? key(a) > key(b) : a < b; };
        std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(), before);
        for (std::size_t j = 0; j < k; ++j) {
          values[i * k + j] = numbers[order[j]];
          places[i * k + j] = order[j];
        }
      }
    });
  }

 private:
  /// Whether everything but products is left out.
  bool idle() const { return products_only_ || pretends_; }

  static void norm_row(View x, std::size_t i, const float* gamma, const float* beta, NormForm form, View y,
                       float* stats) {
    const kernels::Moments moments = kernels::moments(row(x, i), x.columns);
    if (needs_wide_norm(moments, form)) {
      return wide_norm(row(x, i), gamma, beta, form, row(y, i), stats + 2 * i, x.columns);
    }
    const float inverse = inverse_divisor(moments, x.columns, form);
    kernels::norm(row(x, i), moments.mean, inverse, gamma, beta, row(y, i), x.columns);
    stats[2 * i] = moments.mean;
    stats[2 * i + 1] = inverse;
  }

  static void norm_row_backward(View x, std::size_t i, const float* gamma, NormForm form, const float* stats,
                                View dy, View dx, bool add, float* dgamma, float* dbeta) {
    const std::size_t d = x.columns;
    const float mean = stats[0], inverse = stats[1];
    if (needs_wide_norm_backward(inverse)) {
      return wide_norm_backward(row(x, i), gamma, form, row(dy, i), add, row(dx, i), dgamma, dbeta, d);
    }
    const auto sums = kernels::norm_backward_sums(row(x, i), mean, inverse, gamma, row(dy, i), dgamma, dbeta, d);
    kernels::norm_backward(row(x, i), mean, inverse, gamma, row(dy, i), sums.plain / static_cast<float>(d),
                           slope_of_divisor(sums.normed, inverse, d, form), add, row(dx, i), d);
  }

  /// How much of the normed row is taken off because the divisor moves with x.
  static float slope_of_divisor(float sum, float inverse, std::size_t n, NormForm form) {
    const float width = static_cast<float>(n);
    if (form.form == attn::NormForm::standard) return sum * inverse / width;
    const float deviation = 1.0f / inverse - form.epsilon;
    return deviation > 0.0f ? sum / (deviation * (width - 1.0f)) : 0.0f;
  }

  /// f(row, what dropout multiplies it with) for each row; where nothing is dropped, with nullptr.
  template <class F>
  void each_row(View x, const DropoutAt& dropout, const F& f) {
    room_.make(x.columns);
    if (idle()) return;
    parallel_for(x.rows, 1, [&](std::size_t first, std::size_t last, std::size_t thread) {
      DropoutRows dropped(dropout, room_.of(thread), x.columns);
      for (std::size_t i = first; i < last; ++i) f(i, dropped.factors(i));
    });
  }

  /// f(head) for every head of every sentence, shared out among the threads.
  template <class F>
  void each_head(const AttentionPlan& plan, View Q, View K, View V, const F& f) {
    parallel_for(plan.queries.size() * plan.h, 1, [&](std::size_t first, std::size_t last, std::size_t thread) {
      for (std::size_t i = first; i < last; ++i) f(Head(plan, i, Q, K, V, room_.of(thread)));
    });
  }

  /// What dropout multiplies row i of the weights with.
  static const float* weight_factors(const AttentionPlan& plan, const Head& head, std::size_t i) {
    const std::uint32_t site = plan.dropout.site + static_cast<std::uint32_t>(head.number);
    dropout_factors(plan.dropout, head.sentence, i, site, head.factors, head.A.columns);
    return head.factors;
  }

  /// The weights of a head, and what dropout leaves of them.
  void weigh(const AttentionPlan& plan, const Head& head) const {
    gemm(head.scale, head.Q, false, head.K, true, head.A, false);
    if (products_only_) return;
    const std::size_t n_k = head.A.columns;
    for (std::size_t i = 0; i < head.A.rows && n_k > 0; ++i) {
      fill_hidden(head, i, -INFINITY);
      kernels::softmax(row(head.A, i), plan.causal ? std::min(i + 1, n_k) : n_k, n_k);
      fill_hidden(head, i, 0.0f);  // the exponential leaves a trace of minus infinity
      if (plan.dropout.p <= 0.0) continue;
      kernels::multiply(row(head.A, i), weight_factors(plan, head, i), row(head.mixing, i), n_k);
    }
  }

  /// Gives what row i of the weights has for hidden keys a value.
  static void fill_hidden(const Head& head, std::size_t i, float value) {
    for (std::size_t j = 0; j < head.hidden.size(); ++j) {
      if (head.hidden[j] != 0) row(head.A, i)[j] = value;
    }
  }

  /// dA, the gradient of the weights that mix, becomes that of the scores before they are scaled.
  static void weights_backward(const AttentionPlan& plan, const Head& head) {
    const std::size_t n_k = head.A.columns;
    for (std::size_t i = 0; i < head.A.rows; ++i) {
      float* dA = row(head.dA, i);
      if (plan.dropout.p > 0.0) kernels::multiply(dA, weight_factors(plan, head, i), dA, n_k);
      kernels::softmax_backward(row(head.A, i), dA, head.scale, n_k);
    }
  }

  /// Copies on this thread alone.
  void copy_here(View from, View to) const {
    for (std::size_t i = 0; i < from.rows && !products_only_; ++i)
      std::copy_n(row(from, i), from.columns, row(to, i));
  }

  /// The sum of all logits but that of y and, unless it is -1, that of pad.
  static double sum_of_others(const float* z, std::size_t V, std::size_t y, int pad, float total) {
    const double rest = static_cast<double>(total) - z[y] - (pad < 0 ? 0.0 : z[pad]);
    if (std::isfinite(rest)) return rest;
    double sum = 0.0;
    for (std::size_t c = 0; c < V; ++c) {
      if (c != y && static_cast<int>(c) != pad) sum += z[c];
    }
    return sum;
  }

  /// Adds to the loss of a row, smoothed and plain, and makes its gradient.
  static void loss_of_row(View logits, std::size_t i, int target, int pad, const Shares& share, double scale,
                          double& loss, double& plain) {
    float* z = row(logits, i);
    const std::size_t V = logits.columns;
    if (target == pad) {
      if (scale != 0.0) std::fill_n(z, V, 0.0f);
      return;
    }
    const auto y = static_cast<std::size_t>(target);
    const bool pad_is_class = pad >= 0 && static_cast<std::size_t>(pad) < V;
    const kernels::Extent extent = kernels::extent(z, V);
    const float z_y = z[y];
    // The logits weighted by their shares; what has none is left out, so that its infinity does no harm.
    double mean = share.right * z_y;
    if (share.other > 0.0) {
      const bool without_pad = pad_is_class && share.pad == 0.0 && static_cast<std::size_t>(pad) != y;
      mean += share.other * (sum_of_others(z, V, y, without_pad ? pad : -1, extent.total));
    }
    const float sum = scale == 0.0 ? kernels::sum_of_exponentials(z, extent.largest, V)
                                   : kernels::exponentials(z, extent.largest, V);
    const double log_sum = extent.largest + std::log(static_cast<double>(sum));
    loss += log_sum - mean;
    plain += log_sum - z_y;
    if (scale == 0.0) return;
    kernels::scale_and_shift(z, static_cast<float>(scale / sum), static_cast<float>(scale * share.other), V);
    z[y] -= static_cast<float>(scale * (share.right - share.other));
    if (pad_is_class) z[pad] -= static_cast<float>(scale * (share.pad - share.other));
  }

  float* partial_sums(std::size_t count) {
    partial_.assign(count, 0.0f);
    return partial_.data();
  }

  bool products_only_ = false, pretends_ = false;
  Cutting cutting_ = Cutting::blocks;
  Room room_;
  std::vector<float> partial_;
  std::vector<double> sums_;
  std::vector<int> order_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() {
  leave_threads_to_callers();
  reserve_blas_memory();
  return std::make_unique<CpuBackend>();
}

void set_cpu_work(Backend& backend, CpuWork work) { dynamic_cast<CpuBackend&>(backend).set_work(work); }

}  // namespace attn::engine
