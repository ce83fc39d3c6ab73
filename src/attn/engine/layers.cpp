#include "attn/engine/layers.hpp"

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

View Linear::product(Pass& pass, View x) const {
  const View y = pass.arena.matrix(x.rows, weights_.columns);
  pass.backend.product(x, Turned::no, weights_, Turned::no, y, false);
  return y;
}

View Linear::forward(Pass& pass, View x) const {
  const View y = product(pass, x);
  if (bias_.data != nullptr) pass.backend.add_bias(y, bias_.data);
  return y;
}

void Linear::backward(Pass& pass, View x, View dy, View dx, bool add) const {
  pass.backend.product(x, Turned::yes, dy, Turned::no, gradient_, true);
  if (bias_.data != nullptr) pass.backend.add_column_sums(dy, bias_gradient_.data);
  pass.backend.product(dy, Turned::no, weights_, Turned::yes, dx, add);
}

// ---- Attention --------------------------------------------------------------------------------------------

Attention::Attention(const Parameters& parameters, const Config& config, const std::string& name, bool cross)
    : cross_(cross),
      drops_(config.dialect.attention_dropout),
      h_(config.h),
      asking_(parameters, name + ".W_Q", name + ".b_Q", cross ? 1 : 3),
      answering_(parameters, name + ".W_K", name + ".b_K", cross ? 2 : 1),
      output_(parameters, name + ".W_O", name + ".b_O") {}

View Attention::forward(Pass& pass, View x, std::span<const Segment> queries, View memory,
                        std::span<const Segment> keys, bool causal) {
  x_ = x, memory_ = memory;
  projected_ = asking_.forward(pass, x);  // Q, or Q|K|V
  answered_ = cross_ ? answering_.forward(pass, memory) : View();
  const std::size_t d = cross_ ? projected_.columns : projected_.columns / 3;
  Q_ = projected_.columns_from(0, d);
  K_ = cross_ ? answered_.columns_from(0, d) : projected_.columns_from(d, d);
  V_ = cross_ ? answered_.columns_from(d, d) : projected_.columns_from(2 * d, d);

  weights_at_.clear();
  std::size_t size = 0;
  for (std::size_t b = 0; b < queries.size(); ++b) {
    weights_at_.push_back(size);
    size += h_ * queries[b].length * keys[b].length;
  }
  plan_ = {queries, keys,   weights_at_,
           h_,      causal, pass.take_sites(queries, drops_, static_cast<std::uint32_t>(h_))};
  weights_ = pass.arena.matrix(1, size);
  concat_ = pass.arena.matrix(x.rows, d);
  pass.backend.attention(plan_, Q_, K_, V_, weights_.data, concat_);
  return output_.product(pass, concat_);
}

void Attention::backward(Pass& pass, View df, View dx, bool add, View dmemory) {
  const Arena::Mark mark = pass.arena.mark();
  const std::size_t d = Q_.columns;
  const View dconcat = pass.arena.matrix(x_.rows, d);
  output_.backward(pass, concat_, df, dconcat, false);
  const View dprojected = pass.arena.matrix(projected_.rows, projected_.columns);
  const View danswered = cross_ ? pass.arena.matrix(answered_.rows, answered_.columns) : View();
  const View dK = cross_ ? danswered.columns_from(0, d) : dprojected.columns_from(d, d);
  const View dV = cross_ ? danswered.columns_from(d, d) : dprojected.columns_from(2 * d, d);
  pass.backend.attention_backward(plan_, Q_, K_, V_, weights_.data, dconcat, dprojected.columns_from(0, d), dK,
                                  dV);
  if (cross_) answering_.backward(pass, memory_, danswered, dmemory, true);
  asking_.backward(pass, x_, dprojected, dx, add);
  pass.arena.rewind(mark);
}

// ---- Feed-forward -----------------------------------------------------------------------------------------

FeedForward::FeedForward(const Parameters& parameters, const Config& config, const std::string& name)
    : activation_(config.dialect.activation),
      drops_(config.dialect.feed_forward_dropout),
      first_(parameters, name + ".W_1", name + ".b_1"),
      second_(parameters, name + ".W_2", name + ".b_2") {}

View FeedForward::forward(Pass& pass, View x, std::span<const Segment> segments) {
  x_ = x;
  dropout_ = pass.take_sites(segments, drops_);
  wide_ = first_.product(pass, x);
  const bool in_place = activation_ == Activation::relu && dropout_.p <= 0.0;
  hidden_ = in_place ? wide_ : pass.arena.matrix(wide_.rows, wide_.columns);
  pass.backend.activate(wide_, first_.bias(), activation_, dropout_, hidden_);
  return second_.product(pass, hidden_);
}

void FeedForward::backward(Pass& pass, View df, View dx, bool add) {
  const Arena::Mark mark = pass.arena.mark();
  const View dhidden = pass.arena.matrix(hidden_.rows, hidden_.columns);
  second_.backward(pass, hidden_, df, dhidden, false);
  pass.backend.activate_backward(wide_, activation_, dropout_, dhidden);
  first_.backward(pass, x_, dhidden, dx, add);
  pass.arena.rewind(mark);
}

// ---- Norm -------------------------------------------------------------------------------------------------

Norm::Norm(const Parameters& parameters, const Config& config, const std::string& name)
    : gamma_(parameters.at(name + ".gamma")),
      beta_(parameters.at(name + ".beta")),
      gamma_gradient_(parameters.gradient_at(name + ".gamma")),
      beta_gradient_(parameters.gradient_at(name + ".beta")),
      form_{config.dialect.norm, static_cast<float>(config.dialect.epsilon)} {}

View Norm::forward(Pass& pass, View x) {
  x_ = x;
  stats_ = pass.arena.matrix(x.rows, 2);
  const View y = pass.arena.matrix(x.rows, x.columns);
  pass.backend.norm(x, gamma_.data, beta_.data, form_, y, stats_.data);
  return y;
}

View Norm::forward_after_residual(Pass& pass, View x, const float* bias, const DropoutAt& dropout, View f) {
  x_ = f;
  stats_ = pass.arena.matrix(x.rows, 2);
  const View y = pass.arena.matrix(x.rows, x.columns);
  pass.backend.residual_norm(x, bias, dropout, f, gamma_.data, beta_.data, form_, y, stats_.data);
  return y;
}

void Norm::backward(Pass& pass, View dy, View dx, bool add) {
  pass.backend.norm_backward(x_, gamma_.data, form_, stats_.data, dy, dx, add, gamma_gradient_.data,
                             beta_gradient_.data);
}

// ---- Residual ---------------------------------------------------------------------------------------------

Residual::Residual(const Parameters& parameters, const Config& config, const std::string& name)
    : pre_norm_(config.dialect.pre_norm), norm_(parameters, config, name + ".norm") {}

View Residual::before(Pass& pass, View x) { return pre_norm_ ? norm_.forward(pass, x) : x; }

View Residual::after(Pass& pass, View x, View f, const float* bias, std::span<const Segment> segments) {
  dropout_ = pass.take_sites(segments);
  if (!pre_norm_) return norm_.forward_after_residual(pass, x, bias, dropout_, f);
  pass.backend.residual(x, bias, dropout_, f);
  return f;
}

Residual::Gradient Residual::backward_after(Pass& pass, View dy) {
  if (!pre_norm_) norm_.backward(pass, dy, dy, false);
  View df = dy;
  if (dropout_.p > 0.0) {
    df = pass.arena.matrix(dy.rows, dy.columns);
    pass.backend.dropout(dy, dropout_, df);
  }
  // The part reads df before it writes dx, so without dropout they may be one.
  return pre_norm_ ? Gradient{df, pass.arena.matrix(dy.rows, dy.columns), false} : Gradient{df, dy, true};
}

void Residual::backward_before(Pass& pass, const Gradient& part, View dy) {
  if (pre_norm_) norm_.backward(pass, part.dx, dy, true);
}

}  // namespace attn::engine
