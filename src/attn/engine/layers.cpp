#include "attn/engine/layers.hpp"

#include <cmath>

namespace attn::engine {

DropoutAt Pass::take_sites(std::span<const Segment> segments, bool active, std::uint32_t sites) {
  const std::uint32_t site = next_site;
  next_site += active ? sites : 0;
  return {active ? dropout : 0.0, seed, step, site, first_sequence, segments};
}

// ---- Linear -----------------------------------------------------------------------------------------------

Linear::Linear(const Parameters& parameters, const std::string& weights, const std::string& bias,
               std::size_t parts)
    : weights_(parameters.at(weights, parts)), gradient_(parameters.gradient_at(weights, parts)) {
  if (!parameters.has(bias)) return;
  bias_ = parameters.at(bias, parts);
  bias_gradient_ = parameters.gradient_at(bias, parts);
}

void Linear::product(Pass& pass, View x, View y) const {
  pass.backend.product(x, Turned::no, weights_, Turned::no, y, false);
}

View Linear::product(Pass& pass, View x) const {
  const View y = pass.arena.matrix(x.rows, weights_.columns);
  product(pass, x, y);
  return y;
}

View Linear::forward(Pass& pass, View x) const {
  const View y = product(pass, x);
  if (bias_.data != nullptr) pass.backend.add_bias(y, bias_.data);
  return y;
}

void Linear::add_gradients(Pass& pass, View x, View dy) const {
  pass.backend.product(x, Turned::yes, dy, Turned::no, gradient_, true);
  if (bias_.data != nullptr) pass.backend.add_column_sums(dy, bias_gradient_.data);
}

void Linear::backward(Pass& pass, View dy, View dx, bool add) const {
  pass.backend.product(dy, Turned::no, weights_, Turned::yes, dx, add);
}

// ---- Embedding --------------------------------------------------------------------------------------------

Embedding::Embedding(const Parameters& parameters, const Config& config, const std::string& table,
                     const std::string& positions)
    : table_(parameters.at(table)),
      table_gradient_(parameters.gradient_at(table)),
      scale_(config.dialect.scale_embeddings ? std::sqrt(static_cast<float>(config.d_model)) : 1.0f),
      pre_norm_(config.dialect.pre_norm) {
  if (!parameters.has(positions)) return;
  learned_ = parameters.at(positions);
  learned_gradient_ = parameters.gradient_at(positions);
}

View Embedding::forward(Pass& pass, const Packed& side, View sines) {
  tokens_ = side.tokens;
  positions_ = learned_.data != nullptr ? learned_ : sines;
  dropout_ = pass.take_sites(side.segments);
  // With the norms before the parts, the rows also go on past the first norm: they are kept.
  x_ = pre_norm_ ? pass.arena.matrix(tokens_.size(), table_.columns) : pass.made.place;
  pass.made.by = this;
  again(pass);
  return x_;
}

void Embedding::again(Pass& pass) const { pass.backend.embed(tokens_, table_, scale_, positions_, dropout_, x_); }

void Embedding::backward(Pass& pass, View dx) const {
  pass.backend.embed_backward(tokens_, scale_, dropout_, dx, table_gradient_, learned_gradient_);
}

// ---- Attention --------------------------------------------------------------------------------------------

Attention::Attention(const Parameters& parameters, const Config& config, const std::string& name, bool cross)
    : cross_(cross),
      drops_(config.dialect.attention_dropout),
      h_(config.h),
      asking_(parameters, name + ".W_Q", name + ".b_Q", cross ? 1 : 3),
      answering_(parameters, name + ".W_K", name + ".b_K", cross ? 2 : 1),
      output_(parameters, name + ".W_O", name + ".b_O") {}

View Attention::forward(Pass& pass, View x, const Packed& queries, View memory, const Packed& keys, bool causal) {
  x_ = x, made_by_ = pass.made.by, memory_ = memory;
  projected_ = asking_.forward(pass, x);  // Q, or Q|K|V
  answered_ = cross_ ? answering_.forward(pass, memory) : View();
  const std::size_t d = cross_ ? projected_.columns : projected_.columns / 3;
  Q_ = projected_.columns_from(0, d);
  K_ = cross_ ? answered_.columns_from(0, d) : projected_.columns_from(d, d);
  V_ = cross_ ? answered_.columns_from(d, d) : projected_.columns_from(2 * d, d);
  const DropoutAt dropout = pass.take_sites(queries.segments, drops_, static_cast<std::uint32_t>(h_));
  plan_ = {queries.segments, keys.segments, h_, causal, dropout, keys.hidden};
  const View f = pass.arena.matrix(x.rows, d);
  const Arena::Mark mark = pass.arena.mark();
  const View concat = pass.arena.matrix(x.rows, d);
  pass.backend.attention(plan_, Q_, K_, V_, concat);
  output_.product(pass, concat, f);
  pass.arena.rewind(mark);
  return f;
}

void Attention::backward(Pass& pass, View df, View dx, bool add, View dmemory) {
  // Until x is made again, its place serves for what the heads gave: its gradient first, then itself.
  const View concat = x_;
  output_.backward(pass, df, concat, false);
  pass.backend.attention_backward(plan_, Q_, K_, V_, concat);
  output_.add_gradients(pass, concat, df);
  if (cross_) {
    answering_.add_gradients(pass, memory_, answered_);
    answering_.backward(pass, answered_, dmemory, true);
  }
  made_by_->again(pass);
  asking_.add_gradients(pass, x_, projected_);
  asking_.backward(pass, projected_, dx, add);
}

// ---- Feed-forward -----------------------------------------------------------------------------------------

FeedForward::FeedForward(const Parameters& parameters, const Config& config, const std::string& name)
    : activation_(config.dialect.activation),
      drops_(config.dialect.feed_forward_dropout),
      first_(parameters, name + ".W_1", name + ".b_1"),
      second_(parameters, name + ".W_2", name + ".b_2") {}

View FeedForward::forward(Pass& pass, View x, std::span<const Segment> segments) {
  x_ = x, made_by_ = pass.made.by;
  dropout_ = pass.take_sites(segments, drops_);
  wide_ = first_.product(pass, x);
  hidden_ = activation_ == Activation::relu ? wide_ : pass.arena.matrix(wide_.rows, wide_.columns);
  pass.backend.activate(wide_, first_.bias(), activation_, dropout_, hidden_);
  return second_.product(pass, hidden_);
}

void FeedForward::backward(Pass& pass, View df, View dx, bool add) {
  second_.add_gradients(pass, hidden_, df);
  const Arena::Mark mark = pass.arena.mark();
  View seen = wide_;
  if (activation_ == Activation::relu) {
    seen = pass.arena.matrix(hidden_.rows, (hidden_.columns + 3) / 4);
    pass.backend.note_open(hidden_, seen);
  }
  second_.backward(pass, df, hidden_, false);  // what is hidden becomes its gradient
  pass.backend.activate_backward(seen, activation_, dropout_, hidden_);
  pass.arena.rewind(mark);
  made_by_->again(pass);
  first_.add_gradients(pass, x_, hidden_);
  first_.backward(pass, hidden_, dx, add);
}

// ---- Norm -------------------------------------------------------------------------------------------------

Norm::Norm(const Parameters& parameters, const Config& config, const std::string& name)
    : gamma_(parameters.at(name + ".gamma")),
      beta_(parameters.at(name + ".beta")),
      gamma_gradient_(parameters.gradient_at(name + ".gamma")),
      beta_gradient_(parameters.gradient_at(name + ".beta")),
      form_{config.dialect.norm, static_cast<float>(config.dialect.epsilon)} {}

View Norm::forward(Pass& pass, View x) {
  take_place(pass, x);
  again(pass);
  return y_;
}

View Norm::forward_after_residual(Pass& pass, View x, const float* bias, const DropoutAt& dropout, View f) {
  take_place(pass, f);
  pass.backend.residual_norm(x, bias, dropout, f, gamma_.data, beta_.data, form_, y_, stats_.data);
  return y_;
}

void Norm::take_place(Pass& pass, View x) {
  x_ = x, y_ = pass.made.place;
  stats_ = pass.arena.matrix(x.rows, 2);
  pass.made.by = this;
}

void Norm::again(Pass& pass) const { pass.backend.norm(x_, gamma_.data, beta_.data, form_, y_, stats_.data); }

void Norm::backward(Pass& pass, View dy, View dx, bool add) {
  pass.backend.norm_backward(x_, gamma_.data, form_, stats_.data, dy, dx, add, gamma_gradient_.data,
                             beta_gradient_.data);
}

// ---- Residual ---------------------------------------------------------------------------------------------

Residual::Residual(const Parameters& parameters, const Config& config, const std::string& name)
    : pre_norm_(config.dialect.pre_norm), norm_(parameters, config, name + ".norm") {}

View Residual::before(Pass& pass, View x) {
  part_input_ = pre_norm_ ? norm_.forward(pass, x) : x;
  return part_input_;
}

View Residual::after(Pass& pass, View x, View f, const float* bias, std::span<const Segment> segments) {
  dropout_ = pass.take_sites(segments);
  f_ = f;
  if (!pre_norm_) return norm_.forward_after_residual(pass, x, bias, dropout_, f);
  pass.backend.residual(x, bias, dropout_, f);
  return f;
}

Residual::Gradient Residual::backward_after(Pass& pass, View dy) {
  if (!pre_norm_) norm_.backward(pass, dy, dy, false);
  const bool drops = dropout_.p > 0.0;
  const View df = drops ? f_ : dy;  // the sum was needed for the last time
  if (drops) pass.backend.dropout(dy, dropout_, df);
  // The part reads df, and what it got, before it writes dx: they may be one.
  return pre_norm_ ? Gradient{df, part_input_, false} : Gradient{df, dy, true};
}

void Residual::backward_before(Pass& pass, const Gradient& part, View dy) {
  if (pre_norm_) norm_.backward(pass, part.dx, dy, true);
}

}  // namespace attn::engine
