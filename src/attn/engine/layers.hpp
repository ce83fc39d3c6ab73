/// @file
/// @brief The parts of a layer, each with the way forward and the way back side by side.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attn/core/config.hpp"
#include "attn/engine/arena.hpp"
#include "attn/engine/backend/backend.hpp"
#include "attn/engine/batch.hpp"
#include "attn/engine/parameters.hpp"

namespace attn::engine {

struct Pass;

/// Whoever makes what a part gets, a norm or the embedding. What was made is not kept for the way back: there it
/// is made again, which costs far less than a matrix product.
class Maker {
 public:
  /// Makes what came out once more, where it was.
  /// @param pass  the pass
  virtual void again(Pass& pass) const = 0;

 protected:
  ~Maker() = default;
};

/// Where the makers of a stack, encoder or decoder, put what they make, each over the one before. (With the norms
/// before the parts the embedding has memory of its own, for it also goes on past the first norm.)
struct Made {
  View place;                 ///< where
  const Maker* by = nullptr;  ///< who made what the next part gets
};

/// One pass through a model: where it gets its memory, and what it drops.
struct Pass {
  Backend& backend;                  ///< who computes
  Arena& arena;                      ///< where what is kept for the way back lies
  double dropout = 0.0;              ///< the share that is dropped; 0 while evaluating
  std::uint64_t seed = 0;            ///< of dropout
  std::uint32_t step = 0;            ///< of the training
  std::uint32_t first_sequence = 0;  ///< the number of the first sentence of the batch
  std::uint32_t next_site = 0;       ///< places are numbered in the order in which a sentence passes them
  Made made{};                       ///< of the stack that is passed now

  /// Takes the next places where something may be dropped.
  /// @param segments  the rows of each sentence
  /// @param active    whether something is dropped there
  /// @param sites     how many places
  /// @return          dropout there
  DropoutAt take_sites(std::span<const Segment> segments, bool active = true, std::uint32_t sites = 1);
};

/// A linear map of every row, with or without a bias: \f$y = xW + b\f$.
class Linear {
 public:
  /// @param parameters  where the matrices lie
  /// @param weights     the name of W, or of the first of several side by side
  /// @param bias        the name of b; a name that no parameter has stands for none
  /// @param parts       how many lie side by side
  Linear(const Parameters& parameters, const std::string& weights, const std::string& bias, std::size_t parts = 1);

  /// y = xW, without the bias, for whoever adds it together with something else.
  /// @param pass  the pass
  /// @param x     shape (n, d_in)
  /// @param y     shape (n, d_out)
  void product(Pass& pass, View x, View y) const;

  /// The same in new memory.
  /// @param pass  the pass
  /// @param x     shape (n, d_in)
  /// @return      shape (n, d_out)
  View product(Pass& pass, View x) const;

  /// y = xW + b
  /// @param pass  the pass
  /// @param x     shape (n, d_in)
  /// @return      shape (n, d_out)
  View forward(Pass& pass, View x) const;

  /// Adds to the gradients of W and b.
  /// @param pass  the pass
  /// @param x     as before
  /// @param dy    the gradient of y
  void add_gradients(Pass& pass, View x, View dy) const;

  /// The gradient of x.
  /// @param pass  the pass
  /// @param dy    the gradient of y
  /// @param dx    where to; may be where x was, when that is not needed any more
  /// @param add   whether dx keeps what it has
  void backward(Pass& pass, View dy, View dx, bool add) const;

  /// @return b, or nullptr
  const float* bias() const { return bias_.data; }

 private:
  View weights_, gradient_, bias_, bias_gradient_;
};

/// Tokens to rows: embeddings and positions, and dropout on their sum.
class Embedding final : public Maker {
 public:
  /// @param parameters  where the matrices lie
  /// @param config      the order of the norms, and whether embeddings are scaled
  /// @param table       the name of the embeddings
  /// @param positions   the name of the positions; one that no parameter has stands for sines and cosines
  Embedding(const Parameters& parameters, const Config& config, const std::string& table,
            const std::string& positions);

  /// @param pass   the pass
  /// @param side   tokens and sentences
  /// @param sines  a row for each place of a sentence; not read where positions are learned
  /// @return       a row for each token
  View forward(Pass& pass, const Packed& side, View sines);

  void again(Pass& pass) const override;

  /// Adds to the gradients of embeddings and positions.
  /// @param pass  the pass
  /// @param dx    the gradient of what forward() gave; it is spent
  void backward(Pass& pass, View dx) const;

 private:
  View table_, table_gradient_, learned_, learned_gradient_;
  float scale_;
  bool pre_norm_;
  std::span<const int> tokens_;
  DropoutAt dropout_;
  View positions_, x_;
};

/// Multi-head attention, of a sequence to itself or to a memory.
class Attention {
 public:
  /// @param parameters  where the matrices lie
  /// @param config      heads, and whether there is dropout on the weights
  /// @param name        such as "decoder.0.cross"
  /// @param cross       whether it asks a memory
  Attention(const Parameters& parameters, const Config& config, const std::string& name, bool cross);

  /// @param pass     the pass
  /// @param x        what asks, shape (queries, d), as the pass's maker has just made it
  /// @param queries  its sentences; they must live until the backward pass
  /// @param memory   what is asked, shape (keys, d); x itself in self-attention
  /// @param keys     its sentences; they must live as long
  /// @param causal   whether a token sees only itself and those before it
  /// @return         shape (queries, d), without the last bias
  View forward(Pass& pass, View x, const Packed& queries, View memory, const Packed& keys, bool causal);

  /// The place of x serves for other things first; then x is made again.
  /// @param pass     the pass
  /// @param df       the gradient of what forward() gave, its bias included
  /// @param dx       where the gradient of x goes; may be df, or where x is
  /// @param add      whether dx keeps what it has
  /// @param dmemory  where the gradient of the memory is added; not read in self-attention
  void backward(Pass& pass, View df, View dx, bool add, View dmemory);

  /// @return the last bias, or nullptr
  const float* output_bias() const { return output_.bias(); }

 private:
  bool cross_;
  bool drops_;
  std::size_t h_;
  Linear asking_, answering_, output_;
  AttentionPlan plan_;
  const Maker* made_by_ = nullptr;  // x_
  View x_, memory_, Q_, K_, V_, projected_, answered_;
};

/// The position-wise feed-forward layer.
class FeedForward {
 public:
  /// @param parameters  where the matrices lie
  /// @param config      activation, and whether there is dropout inside
  /// @param name        such as "encoder.0.feed_forward"
  FeedForward(const Parameters& parameters, const Config& config, const std::string& name);

  /// @param pass      the pass
  /// @param x         shape (n, d), as the pass's maker has just made it
  /// @param segments  its sentences
  /// @return          shape (n, d), without the last bias
  View forward(Pass& pass, View x, std::span<const Segment> segments);

  /// Makes x again.
  /// @param pass  the pass
  /// @param df    the gradient of what forward() gave, its bias included
  /// @param dx    where the gradient of x goes; may be df, or where x is
  /// @param add   whether dx keeps what it has
  void backward(Pass& pass, View df, View dx, bool add);

  /// @return the last bias, or nullptr
  const float* output_bias() const { return second_.bias(); }

 private:
  Activation activation_;
  bool drops_;
  Linear first_, second_;
  DropoutAt dropout_;
  const Maker* made_by_ = nullptr;  // x_
  View x_, wide_, hidden_;
};

/// Layer norm of every row.
class Norm final : public Maker {
 public:
  /// @param parameters  where gamma and beta lie
  /// @param config      the form and its epsilon
  /// @param name        such as "encoder.0.self.norm"
  Norm(const Parameters& parameters, const Config& config, const std::string& name);

  /// @param pass  the pass
  /// @param x     shape (n, d)
  /// @return      of the same shape, in the place for it
  View forward(Pass& pass, View x);

  /// residual() and forward() in one.
  /// @param pass     the pass
  /// @param x        shape (n, d)
  /// @param bias     what is added to f, or nullptr
  /// @param dropout  on f
  /// @param f        becomes the sum
  /// @return         its norm, in the place for it
  View forward_after_residual(Pass& pass, View x, const float* bias, const DropoutAt& dropout, View f);

  void again(Pass& pass) const override;

  /// @param pass  the pass
  /// @param dy    the gradient of what came out
  /// @param dx    where the gradient of x goes; may be dy itself
  /// @param add   whether dx keeps what it has
  void backward(Pass& pass, View dy, View dx, bool add);

 private:
  void take_place(Pass& pass, View x);

  View gamma_, beta_, gamma_gradient_, beta_gradient_;
  NormForm form_;
  View x_, y_, stats_;
};

/// What stands around a part: dropout, the residual, and the norm after it or before the part.
class Residual {
 public:
  /// @param parameters  where gamma and beta lie
  /// @param config      which order
  /// @param name        of the part, such as "encoder.0.self"
  Residual(const Parameters& parameters, const Config& config, const std::string& name);

  /// @param pass  the pass
  /// @param x     what comes into the sub-layer
  /// @return      what the part gets: x, or its norm
  View before(Pass& pass, View x);

  /// @param pass      the pass
  /// @param x         what came into the sub-layer
  /// @param f         what the part gave, without its bias
  /// @param bias      that bias, or nullptr
  /// @param segments  the sentences
  /// @return          what comes out of the sub-layer
  View after(Pass& pass, View x, View f, const float* bias, std::span<const Segment> segments);

  /// How the part gets its gradient, and where its own goes.
  struct Gradient {
    View df;           ///< the gradient of f
    View dx;           ///< where the part's gradient goes
    bool add = false;  ///< whether it is added there
  };

  /// @param pass  the pass
  /// @param dy    the gradient of what came out; becomes what the residual carries back
  /// @return      what the part's backward() is to be given
  Gradient backward_after(Pass& pass, View dy);

  /// @param pass  the pass
  /// @param part  what backward_after() gave
  /// @param dy    becomes the gradient of x
  void backward_before(Pass& pass, const Gradient& part, View dy);

 private:
  bool pre_norm_;
  Norm norm_;
  DropoutAt dropout_;
  View part_input_, f_;
};

}  // namespace attn::engine
