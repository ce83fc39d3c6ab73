#include "attn/engine/transformer.hpp"

#include <algorithm>

#include "attn/core/errors.hpp"
#include "attn/engine/positions.hpp"

namespace attn::engine {
namespace {

constexpr std::size_t logits_at_once = std::size_t{2} << 20;  // floats

std::size_t longest(std::span<const Segment> segments) {
  std::size_t length = 0;
  for (const Segment& segment : segments) length = std::max(length, segment.length);
  return length;
}

/// Refuses sentences that go on where nothing was learned.
void expect_at_most(std::size_t places, std::span<const Segment> segments, const char* side) {
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].length <= places) continue;
    refuse(std::string(side) + " " + std::to_string(i),
           "at most " + std::to_string(places) + " tokens, as there are learned positions",
           std::to_string(segments[i].length));
  }
}

std::string layer_name(const char* stack, std::size_t i) { return std::string(stack) + "." + std::to_string(i); }

}  // namespace

struct Transformer::EncoderLayer {
  EncoderLayer(const Parameters& parameters, const Config& config, const std::string& name)
      : self(parameters, config, name + ".self", false),
        around_self(parameters, config, name + ".self"),
        feed_forward(parameters, config, name + ".feed_forward"),
        around_feed_forward(parameters, config, name + ".feed_forward") {}

  View forward(Pass& pass, View x, const Packed& side) {
    const std::span<const Segment> segments = side.segments;
    const View z = around_self.before(pass, x);
    const View f = self.forward(pass, z, side, z, side, false);
    const View y = around_self.after(pass, x, f, self.output_bias(), segments);
    const View g = feed_forward.forward(pass, around_feed_forward.before(pass, y), segments);
    return around_feed_forward.after(pass, y, g, feed_forward.output_bias(), segments);
  }

  /// The gradient of what came out becomes that of what went in.
  void backward(Pass& pass, View dx) {
    auto part = around_feed_forward.backward_after(pass, dx);
    feed_forward.backward(pass, part.df, part.dx, part.add);
    around_feed_forward.backward_before(pass, part, dx);
    part = around_self.backward_after(pass, dx);
    self.backward(pass, part.df, part.dx, part.add, {});
    around_self.backward_before(pass, part, dx);
  }

  Attention self;
  Residual around_self;
  FeedForward feed_forward;
  Residual around_feed_forward;
};

struct Transformer::DecoderLayer {
  DecoderLayer(const Parameters& parameters, const Config& config, const std::string& name)
      : self(parameters, config, name + ".self", false),
        around_self(parameters, config, name + ".self"),
        cross(parameters, config, name + ".cross", true),
        around_cross(parameters, config, name + ".cross"),
        feed_forward(parameters, config, name + ".feed_forward"),
        around_feed_forward(parameters, config, name + ".feed_forward") {}

  View forward(Pass& pass, View x, const Packed& side, View memory, const Packed& source, bool causal) {
    const std::span<const Segment> segments = side.segments;
    const View z = around_self.before(pass, x);
    const View f = self.forward(pass, z, side, z, side, causal);
    const View y = around_self.after(pass, x, f, self.output_bias(), segments);
    const View g = cross.forward(pass, around_cross.before(pass, y), side, memory, source, false);
    const View w = around_cross.after(pass, y, g, cross.output_bias(), segments);
    const View k = feed_forward.forward(pass, around_feed_forward.before(pass, w), segments);
    return around_feed_forward.after(pass, w, k, feed_forward.output_bias(), segments);
  }

  /// The gradient of what came out becomes that of what went in; that of the memory is added to dmemory.
  void backward(Pass& pass, View dx, View dmemory) {
    auto part = around_feed_forward.backward_after(pass, dx);
    feed_forward.backward(pass, part.df, part.dx, part.add);
    around_feed_forward.backward_before(pass, part, dx);
    part = around_cross.backward_after(pass, dx);
    cross.backward(pass, part.df, part.dx, part.add, dmemory);
    around_cross.backward_before(pass, part, dx);
    part = around_self.backward_after(pass, dx);
    self.backward(pass, part.df, part.dx, part.add, {});
    around_self.backward_before(pass, part, dx);
  }

  Attention self;
  Residual around_self;
  Attention cross;
  Residual around_cross;
  FeedForward feed_forward;
  Residual around_feed_forward;
};

Transformer::Transformer(const Config& config, Backend& backend)
    : config_(config),
      backend_(backend),
      parameters_(config, backend),
      arena_(backend),
      source_(parameters_, config, "embedding", "encoder.positions"),
      target_(parameters_, config, config.tied ? "embedding" : "target_embedding", "decoder.positions") {
  const std::string projection = config.tied ? "embedding" : "projection.W";
  projection_ = parameters_.at(projection), projection_gradient_ = parameters_.gradient_at(projection);
  for (std::size_t i = 0; i < config.encoder_layers; ++i) {
    encoder_.emplace_back(parameters_, config_, layer_name("encoder", i));
  }
  for (std::size_t i = 0; i < config.decoder_layers; ++i) {
    decoder_.emplace_back(parameters_, config_, layer_name("decoder", i));
  }
  if (!config.dialect.final_norm) return;
  for (const char* stack : {"encoder.norm", "decoder.norm"})
    final_norms_.emplace_back(parameters_, config_, stack);
}

Transformer::~Transformer() { backend_.release(sines_.data, sines_.rows * sines_.columns); }

Loss Transformer::loss(const Batch& batch, const LossForm& form) {
  arena_.reset();
  prepare_positions(batch);
  Pass pass{backend_, arena_};
  const View states = decode(pass, batch, encode(pass, batch));
  return project(pass, batch, form, 0.0, states);
}

Loss Transformer::add_gradients(const Batch& batch, const LossForm& form, const Training& training) {
  if (!(training.dropout >= 0.0 && training.dropout < 1.0)) {
    refuse("dropout", "a share of at least 0 and less than 1", std::to_string(training.dropout));
  }
  if (training.gradient_scale == 0.0) refuse("gradient scale", "a number other than 0", "0");
  arena_.reset();
  prepare_positions(batch);
  Pass pass{backend_, arena_, training.dropout, training.seed, training.step, training.first_sequence};
  const View memory = encode(pass, batch);
  const View states = decode(pass, batch, memory);
  const Loss loss = project(pass, batch, form, training.gradient_scale, states);
  const View dstates = arena_.matrix(states.rows, states.columns);
  backend_.copy(states, dstates);  // the decoder's norms need the place of the states
  const View dmemory = arena_.matrix(memory.rows, memory.columns);
  backend_.zero(dmemory);
  decode_backward(pass, dstates, dmemory);
  encode_backward(pass, dmemory);
  return loss;
}

void Transformer::reserve(const Batch& largest) {
  const struct Pretence {
    explicit Pretence(Backend& who) : backend(who) { backend.pretend(true); }
    ~Pretence() { backend.pretend(false); }
    Backend& backend;
  } pretence(backend_);
  add_gradients(largest, {}, {});
  arena_.reset();
}

std::vector<float> Transformer::logits(const Batch& batch) {
  arena_.reset();
  prepare_positions(batch);
  Pass pass{backend_, arena_};
  const View states = decode(pass, batch, encode(pass, batch));
  const View all = arena_.matrix(states.rows, projection_.rows);
  backend_.product(states, Turned::no, projection_, Turned::yes, all, false);
  if (config_.dialect.output_bias) backend_.add_bias(all, parameters_.at("projection.b").data);
  std::vector<float> numbers(all.rows * all.columns);
  backend_.download(all, numbers);
  return numbers;
}

/// Sees to it that there is a position for every token.
void Transformer::prepare_positions(const Batch& batch) {
  if (config_.learned_positions > 0) {
    expect_at_most(config_.learned_positions, batch.source.segments, "source");
    expect_at_most(config_.learned_positions, batch.input.segments, "target");
    return;
  }
  const std::size_t n = std::max(longest(batch.source.segments), longest(batch.input.segments));
  if (n <= sines_.rows) return;
  const std::size_t d = config_.d_model, rows = std::max(n, 2 * sines_.rows);
  const std::vector<float> table = position_table(rows, d, config_.dialect);
  const View larger = {backend_.allocate(rows * d), rows, d, d};  // the old one stays if this throws
  backend_.upload(larger, table);
  backend_.release(sines_.data, sines_.rows * sines_.columns);
  sines_ = larger;
}

View Transformer::embed(Pass& pass, Embedding& embedding, const Packed& side) {
  pass.made.place = arena_.matrix(side.tokens.size(), config_.d_model);
  return embedding.forward(pass, side, sines_);
}

/// What a stack gives, normed once more where the dialect does so; in a place of its own, for what is normed may
/// be what was made last.
View Transformer::final_norm(Pass& pass, std::size_t stack, View x) {
  if (final_norms_.empty()) return x;
  pass.made.place = arena_.matrix(x.rows, x.columns);
  return final_norms_[stack].forward(pass, x);
}

View Transformer::encode(Pass& pass, const Batch& batch) {
  View x = embed(pass, source_, batch.source);
  for (EncoderLayer& layer : encoder_) x = layer.forward(pass, x, batch.source);
  return final_norm(pass, 0, x);
}

View Transformer::decode(Pass& pass, const Batch& batch, View memory) {
  View x = embed(pass, target_, batch.input);
  for (DecoderLayer& layer : decoder_) {
    x = layer.forward(pass, x, batch.input, memory, batch.source, !look_ahead_);
  }
  return final_norm(pass, 1, x);
}

/// States to logits to a loss, some rows at a time: all logits of a batch would take more memory than all the
/// rest. With a scale the states become their gradients.
Loss Transformer::project(Pass& pass, const Batch& batch, LossForm form, double scale, View states) {
  form.pad = config_.pad;
  const std::size_t fewest = form.smoothing == Smoothing::other_classes_but_pad ? 3 : 2;
  if (projection_.rows < fewest) {
    refuse("vocabulary", "at least " + std::to_string(fewest) + " classes", std::to_string(projection_.rows));
  }
  if (!(form.label_smoothing >= 0.0 && form.label_smoothing < 1.0)) {
    refuse("label smoothing", "at least 0 and less than 1", std::to_string(form.label_smoothing));
  }
  const Arena::Mark mark = pass.arena.mark();
  const std::size_t V = projection_.rows;
  const std::size_t chunk = std::max(logits_at_once / V, std::size_t{128});
  const bool biased = config_.dialect.output_bias;
  Loss loss;
  const View room = pass.arena.matrix(std::min(chunk, states.rows), V);
  for (std::size_t first = 0; first < states.rows; first += chunk) {
    const std::size_t count = std::min(chunk, states.rows - first);
    const View logits = room.rows_from(0, count), some = states.rows_from(first, count);
    backend_.product(some, Turned::no, projection_, Turned::yes, logits, false);
    if (biased) backend_.add_bias(logits, parameters_.at("projection.b").data);
    const std::span<const int> targets = std::span(batch.target).subspan(first, count);
    loss.sum += backend_.cross_entropy(logits, targets, form, scale, loss.nll);
    loss.tokens += static_cast<std::size_t>(
        std::count_if(targets.begin(), targets.end(), [&](int t) { return t != form.pad; }));
    if (scale == 0.0) continue;
    backend_.product(logits, Turned::yes, some, Turned::no, projection_gradient_, true);
    backend_.product(logits, Turned::no, projection_, Turned::no, some, false);
    if (biased) backend_.add_column_sums(logits, parameters_.gradient_at("projection.b").data);
  }
  pass.arena.rewind(mark);
  return loss;
}

void Transformer::decode_backward(Pass& pass, View dstates, View dmemory) {
  if (!final_norms_.empty()) final_norms_[1].backward(pass, dstates, dstates, false);
  for (auto layer = decoder_.rbegin(); layer != decoder_.rend(); ++layer) layer->backward(pass, dstates, dmemory);
  target_.backward(pass, dstates);
}

void Transformer::encode_backward(Pass& pass, View dmemory) {
  if (!final_norms_.empty()) final_norms_[0].backward(pass, dmemory, dmemory, false);
  for (auto layer = encoder_.rbegin(); layer != encoder_.rend(); ++layer) layer->backward(pass, dmemory);
  source_.backward(pass, dmemory);
}

}  // namespace attn::engine
