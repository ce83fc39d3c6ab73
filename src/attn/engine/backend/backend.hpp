/// @file
/// @brief What a machine must be able to do to run a Transformer: some twenty operations, forward and backward.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attn/core/dialect.hpp"
#include "attn/core/dropout.hpp"
#include "attn/engine/backend/view.hpp"

namespace attn::engine {

/// A sentence among the rows of a batch. Batches are packed: sentence after sentence, no padding.
struct Segment {
  std::size_t start = 0;   ///< its first row
  std::size_t length = 0;  ///< how many rows it has
};

/// Whether a matrix is taken as it is.
enum class Turned {
  no,  ///< as it is
  yes  ///< transposed
};

/// Dropout at one place of the model, for all sentences of a batch. Nothing is dropped when p is 0.
struct DropoutAt {
  double p = 0.0;                       ///< the share that is dropped
  std::uint64_t seed = 0;               ///< of the training
  std::uint32_t step = 0;               ///< of the training
  std::uint32_t site = 0;               ///< the number of the place
  std::uint32_t first_sequence = 0;     ///< the number of the first sentence
  std::span<const Segment> segments{};  ///< which rows belong to which sentence
};

/// Which queries look at which keys: sentence by sentence, head by head.
struct AttentionPlan {
  std::span<const Segment> queries;              ///< the rows of Q of each sentence
  std::span<const Segment> keys;                 ///< the rows of K and V of the same sentence
  std::size_t h = 1;                             ///< how many heads
  bool causal = false;                           ///< query i sees the keys up to i only
  DropoutAt dropout;                             ///< on the weights; head i has the site `dropout.site + i`
  std::span<const unsigned char> hidden_keys{};  ///< for each row of K, 1 where nobody looks at it; empty for none
};

/// How a norm is taken.
struct NormForm {
  attn::NormForm form = attn::NormForm::standard;  ///< what it divides by
  float epsilon = 1e-6f;                           ///< and what is added to that
};

/// What label smoothing does with each target.
struct LossForm {
  double label_smoothing = 0.0;                  ///< the share that is given away
  Smoothing smoothing = Smoothing::all_classes;  ///< to whom; it is not taken from a dialect
  int pad = 0;                                   ///< targets that do not count; a model fills in its own
};

/// What Adam does in one update.
struct AdamStep {
  double rate = 0.0;            ///< the learning rate of this update
  double beta_1 = 0.9;          ///< how much of the mean gradient is kept
  double beta_2 = 0.98;         ///< how much of the mean square is kept
  double epsilon = 1e-9;        ///< added to the root
  std::uint64_t t = 1;          ///< the number of the update, from 1
  double gradient_scale = 1.0;  ///< what the gradients are multiplied with first
};

/// The operations. Numbers live in the backend's memory; what says where they lie (segments, tokens) lives with
/// the caller. `add` in a name or a flag means that the result is added to what is there. Shapes are checked where
/// a matrix product is taken, and are the caller's business elsewhere. A backend serves one caller at a time.
class Backend {
 public:
  Backend() = default;
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  /// @return such as "OpenBLAS, 2 threads"
  virtual std::string name() const = 0;

  /// While a backend pretends, its operations return at once and do nothing; only memory is still given. A pass
  /// then shows how much memory it takes, and takes no time.
  /// @param on  whether to
  virtual void pretend(bool on) = 0;

  /// Memory for floats, all 0, at an address divisible by 2 MiB.
  /// @param count  how many
  /// @return       where
  /// @throws std::bad_alloc when there is not enough
  virtual float* allocate(std::size_t count) = 0;

  /// Gives memory back.
  /// @param memory  what allocate() gave, or nullptr
  /// @param count   how many floats it was asked for
  virtual void release(float* memory, std::size_t count) = 0;

  /// Copies from the caller's memory.
  /// @param to    in the backend's memory
  /// @param from  as many numbers
  virtual void upload(View to, std::span<const float> from) = 0;

  /// Copies to the caller's memory.
  /// @param from  in the backend's memory
  /// @param to    as many numbers
  virtual void download(View from, std::span<float> to) = 0;

  /// Copies inside the backend's memory.
  /// @param from  any view
  /// @param to    of the same shape
  virtual void copy(View from, View to) = 0;

  /// Sets every number to 0.
  /// @param x  any view
  virtual void zero(View x) = 0;

  /// Adds one matrix to another: \f$y \mathrel{+}= x\f$.
  /// @param x  any view
  /// @param y  of the same shape
  virtual void add(View x, View y) = 0;

  /// Moves one matrix towards another: \f$y \mathrel{+}= s\,(x - y)\f$. Step by step, y is a moving average of x.
  /// @param share  s
  /// @param x      any view
  /// @param y      of the same shape
  virtual void blend(double share, View x, View y) = 0;

  /// A matrix product: \f$C = \mathrm{op}(A)\,\mathrm{op}(B)\f$, or added to C.
  /// @param A         the first factor
  /// @param A_turned  whether it is transposed
  /// @param B         the second factor
  /// @param B_turned  whether it is transposed
  /// @param C         the result
  /// @param add       whether C keeps what it has
  /// @throws std::invalid_argument when the shapes do not fit
  virtual void product(View A, Turned A_turned, View B, Turned B_turned, View C, bool add) = 0;

  /// Adds a row to every row: \f$x_i \mathrel{+}= b\f$.
  /// @param x     shape (n, d)
  /// @param bias  d numbers
  virtual void add_bias(View x, const float* bias) = 0;

  /// The gradient of a bias: \f$db \mathrel{+}= \sum_i dy_i\f$.
  /// @param dy     shape (n, d)
  /// @param dbias  d numbers
  virtual void add_column_sums(View dy, float* dbias) = 0;

  /// The middle of the feed-forward layer: \f$y = \mathrm{drop}(\mathrm{act}(x + b))\f$.
  /// @param x           shape (n, d_ff); becomes x + b, but for relu
  /// @param bias        d_ff numbers
  /// @param activation  which
  /// @param dropout     on the result
  /// @param y           of the shape of x; for relu x itself, whose way back needs no more than note_open()
  virtual void activate(View x, const float* bias, Activation activation, const DropoutAt& dropout, View y) = 0;

  /// Notes which numbers relu, and dropout after it, let through. Then y may be overwritten by its gradient.
  /// @param y     what activate() left in y
  /// @param open  room for a byte for each number: shape (n, d_ff / 4), rounded up
  virtual void note_open(View y, View open) = 0;

  /// The gradient of activate(), in place: dy becomes dx.
  /// @param x           what activate() left in x; for relu, what note_open() left in open
  /// @param activation  which
  /// @param dropout     as before
  /// @param dy          the gradient of y
  virtual void activate_backward(View x, Activation activation, const DropoutAt& dropout, View dy) = 0;

  /// A residual: \f$f = x + \mathrm{drop}(f + b)\f$.
  /// @param x        shape (n, d)
  /// @param bias     d numbers, or nullptr for none
  /// @param dropout  on f + b
  /// @param f        of the same shape; becomes the sum
  virtual void residual(View x, const float* bias, const DropoutAt& dropout, View f) = 0;

  /// Dropout alone, forward and backward alike: \f$y = \mathrm{drop}(x)\f$.
  /// @param x        shape (n, d)
  /// @param dropout  which
  /// @param y        of the same shape; may be x itself
  virtual void dropout(View x, const DropoutAt& dropout, View y) = 0;

  /// Layer norm of every row.
  /// @param x      shape (n, d)
  /// @param gamma  d numbers
  /// @param beta   d numbers
  /// @param form   what it divides by
  /// @param y      of the same shape; may be x itself where nothing goes back
  /// @param stats  2 n numbers: mean and inverse divisor of each row, for the way back
  virtual void norm(View x, const float* gamma, const float* beta, NormForm form, View y, float* stats) = 0;

  /// The residual and the norm after it in one pass: residual(), then norm().
  /// @param x        shape (n, d)
  /// @param bias     d numbers, or nullptr for none
  /// @param dropout  on f + b
  /// @param f        becomes the sum
  /// @param gamma    d numbers
  /// @param beta     d numbers
  /// @param form     what the norm divides by
  /// @param y        of the same shape; may be x itself
  /// @param stats    2 n numbers, for the way back
  virtual void residual_norm(View x, const float* bias, const DropoutAt& dropout, View f, const float* gamma,
                             const float* beta, NormForm form, View y, float* stats) = 0;

  /// The gradient of norm().
  /// @param x       what was normed
  /// @param gamma   d numbers
  /// @param form    as before
  /// @param stats   as norm() left them
  /// @param dy      the gradient of y
  /// @param dx      its gradient; may be dy itself
  /// @param add     whether dx keeps what it has
  /// @param dgamma  gets what gamma's gradient is added to
  /// @param dbeta   the same for beta
  virtual void norm_backward(View x, const float* gamma, NormForm form, const float* stats, View dy, View dx,
                             bool add, float* dgamma, float* dbeta) = 0;

  /// Scaled dot-product attention of every sentence and head: \f$A = \mathrm{softmax}(QK^\top/\sqrt{d_k})\f$,
  /// \f$\mathrm{out} = \mathrm{drop}(A) V\f$. A row that may look at nothing, or whose scores are all
  /// \f$-\infty\f$, gives zeros. What stands behind the causal mask is multiplied by 0: it must be finite.
  /// @param plan  which queries look at which keys
  /// @param Q     all heads side by side, shape (queries, h·d_k)
  /// @param K     shape (keys, h·d_k)
  /// @param V     shape (keys, h·d_k)
  /// @param out   shape (queries, h·d_k)
  virtual void attention(const AttentionPlan& plan, View Q, View K, View V, View out) = 0;

  /// Its gradients, in place. A was not kept and is computed again, one head at a time.
  /// @param plan  as before; no two sentences may have rows in common
  /// @param Q     as before; becomes its gradient
  /// @param K     as before; becomes its gradient
  /// @param V     as before; becomes its gradient
  /// @param dout  the gradient of out; becomes out once more, which the gradient of W_O needs
  /// @see Dao et al. 2022, "FlashAttention", section 3.1: recomputation
  virtual void attention_backward(const AttentionPlan& plan, View Q, View K, View V, View dout) = 0;

  /// Tokens to rows: \f$x_i = s E_{t_i} + P_{p_i}\f$, then dropout; a token below 0 has no embedding.
  /// @param tokens     n of them
  /// @param table      E, shape (V, d)
  /// @param scale      s
  /// @param positions  P, a row for each place in a sentence
  /// @param dropout    on the sum; its segments say where sentences begin
  /// @param x          shape (n, d)
  virtual void embed(std::span<const int> tokens, View table, float scale, View positions,
                     const DropoutAt& dropout, View x) = 0;

  /// Its gradients: \f$dE_{t_i} \mathrel{+}= s \, \mathrm{drop}(dx_i)\f$, \f$dP_{p_i} \mathrel{+}=
  /// \mathrm{drop}(dx_i)\f$.
  /// @param tokens      as before
  /// @param scale       as before
  /// @param dropout     as before
  /// @param dx          the gradient of x; it is spent
  /// @param dtable      of the shape of the table
  /// @param dpositions  of the shape of the positions, or without data where they are not learned
  virtual void embed_backward(std::span<const int> tokens, float scale, const DropoutAt& dropout, View dx,
                              View dtable, View dpositions) = 0;

  /// The loss of some rows, and its gradient in place: logits become \f$s\,(\mathrm{softmax}(z) - q)\f$.
  /// @param logits   shape (n, V)
  /// @param targets  n tokens
  /// @param form     how targets are smoothed
  /// @param scale    s; 0 leaves the gradient away, and the logits as they are
  /// @param nll      gets the sum of \f$-\log p\f$ of the targets, not smoothed, added
  /// @return         the sum of the losses of the rows that are not padding
  virtual double cross_entropy(View logits, std::span<const int> targets, const LossForm& form, double scale,
                               double& nll) = 0;

  /// The sum of the squares of all numbers.
  /// @param x  any view
  /// @return   the sum, in double
  virtual double sum_of_squares(View x) = 0;

  /// One update of Adam: \f$\theta \mathrel{-}= \eta\,\hat m / (\sqrt{\hat v} + \varepsilon)\f$. The gradients
  /// become 0.
  /// @param step        rate, betas, epsilon, t
  /// @param parameters  one row
  /// @param gradients   one row
  /// @param mean        of the gradients, one row
  /// @param square      of the gradients, one row
  virtual void adam(const AdamStep& step, View parameters, View gradients, View mean, View square) = 0;

  /// The largest numbers of each row, the first of equals before the others; NaN counts as the lowest.
  /// @param x       shape (n, V)
  /// @param k       how many, at most V
  /// @param values  n k numbers, the largest first
  /// @param places  their columns
  /// @throws std::invalid_argument when k is larger
  virtual void top_k(View x, std::size_t k, std::span<float> values, std::span<int> places) = 0;
};

}  // namespace attn::engine
