// Chapter 09.
#include "attn/reference/transformer.hpp"

#include <map>

#include "attn/core/errors.hpp"
#include "attn/core/shape.hpp"
#include "attn/core/trace.hpp"
#include "attn/reference/positions.hpp"

namespace attn {
namespace {

using Visit = std::function<void(const std::string& name, Matrix& value)>;

// [for_each]
void visit(MultiHead& w, const std::string& name, const Visit& f) {
  f(name + ".W_Q", w.W_Q), f(name + ".b_Q", w.b_Q);
  f(name + ".W_K", w.W_K), f(name + ".b_K", w.b_K);
  f(name + ".W_V", w.W_V), f(name + ".b_V", w.b_V);
  f(name + ".W_O", w.W_O), f(name + ".b_O", w.b_O);
}

void visit(LayerNorm& w, const std::string& name, const Visit& f) {
  f(name + ".gamma", w.gamma), f(name + ".beta", w.beta);
}

void visit(FeedForward& w, const std::string& name, const Visit& f) {
  f(name + ".W_1", w.W_1), f(name + ".b_1", w.b_1);
  f(name + ".W_2", w.W_2), f(name + ".b_2", w.b_2);
}

/// A part and the norm that belongs to it.
template <class Part>
void visit(Part& part, LayerNorm& norm, const std::string& name, const Visit& f) {
  visit(part, name, f);
  visit(norm, name + ".norm", f);
}
// [for_each]

// [input]
/// What a stack starts from: embeddings and positions, and dropout on their sum.
Matrix stack_input(const Tokens& tokens, const Matrix& table, const Matrix& learned, const Dialect& dialect,
                   Dropout* dropout) {
  const Matrix X = trace("embedding", embed(tokens, table, dialect));
  const auto [n, d_model] = shape(X);
  const bool sines = learned.size() == 0;
  const Matrix positions = sines ? positional_encoding(n, d_model, dialect.positions, dialect.first_position)
                                 : learned_positions(learned, n);
  return trace("input", apply_dropout(X + trace("positions", positions), dropout));
}

/// What a stack gives: its last layer, normed once more where the dialect does so.
Matrix stack_output(const Matrix& x, const LayerNorm& norm, const Dialect& dialect) {
  return dialect.final_norm ? trace("norm", layer_norm(x, norm, dialect)) : x;
}

/// All tokens may be looked at but padding.
Mask not_padding(std::size_t n_q, const Tokens& keys, int pad) {
  std::vector<bool> is_token;
  for (const int key : keys) is_token.push_back(key != pad);
  return padding_mask(n_q, is_token);
}
// [input]

}  // namespace

// [make]
void for_each(Transformer& model, const Visit& f) {
  f("embedding", model.embedding), f("target_embedding", model.target_embedding);
  f("projection.W", model.projection_W), f("projection.b", model.projection_b);
  f("encoder.positions", model.encoder_positions), f("decoder.positions", model.decoder_positions);
  for (std::size_t i = 0; i < model.encoder.size(); ++i) {
    const std::string layer = "encoder." + std::to_string(i);
    EncoderLayer& w = model.encoder[i];
    visit(w.self, w.self_norm, layer + ".self", f);
    visit(w.feed_forward, w.feed_forward_norm, layer + ".feed_forward", f);
  }
  visit(model.encoder_norm, "encoder.norm", f);
  for (std::size_t i = 0; i < model.decoder.size(); ++i) {
    const std::string layer = "decoder." + std::to_string(i);
    DecoderLayer& w = model.decoder[i];
    visit(w.self, w.self_norm, layer + ".self", f);
    visit(w.cross, w.cross_norm, layer + ".cross", f);
    visit(w.feed_forward, w.feed_forward_norm, layer + ".feed_forward", f);
  }
  visit(model.decoder_norm, "decoder.norm", f);
}

Transformer make_transformer(const Config& config, const std::function<Matrix(const Parameter&)>& value) {
  Transformer model;
  model.config = config;
  model.encoder.resize(config.encoder_layers), model.decoder.resize(config.decoder_layers);
  for (EncoderLayer& layer : model.encoder) layer.self.h = config.h;
  for (DecoderLayer& layer : model.decoder) layer.self.h = layer.cross.h = config.h;
  std::map<std::string, Matrix*> places;
  for_each(model, [&](const std::string& name, Matrix& place) { places[name] = &place; });
  for (const Parameter& parameter : parameters(config)) {
    Matrix& place = *places.at(parameter.name);
    place = value(parameter);
    expect_shape(place, {parameter.rows, parameter.columns}, parameter.name);
  }
  return model;
}

Transformer initial_transformer(const Config& config, Random& random) {
  return make_transformer(config, [&](const Parameter& parameter) { return initial_value(parameter, random); });
}
// [make]

// [encode]
Matrix encode(const Transformer& model, const Tokens& source, Dropout* dropout) {
  const Dialect& dialect = model.config.dialect;
  const Mask mask = not_padding(source.size(), source, model.config.pad);
  // Only a target may begin with no token.
  if (!source.empty()) expect_token(source[0], model.embedding.shape(0), "token 0");
  const TraceScope scope("encoder");
  Matrix x = stack_input(source, model.embedding, model.encoder_positions, dialect, dropout);
  for (std::size_t i = 0; i < model.encoder.size(); ++i) {
    const TraceScope layer(std::to_string(i));
    x = encoder_layer(x, model.encoder[i], mask, dialect, dropout);
  }
  return trace("memory", stack_output(x, model.encoder_norm, dialect));
}
// [encode]

// [decode]
Matrix decode(const Transformer& model, const Tokens& input, const Matrix& memory, const Tokens& source,
              Dropout* dropout) {
  const Config& config = model.config;
  expect_shape(memory, {source.size(), config.d_model}, "memory");
  const Mask self_mask = both(causal_mask(input.size()), not_padding(input.size(), input, config.pad));
  const Mask cross_mask = not_padding(input.size(), source, config.pad);
  const TraceScope scope("decoder");
  const Matrix& table = config.tied ? model.embedding : model.target_embedding;
  Matrix x = stack_input(input, table, model.decoder_positions, config.dialect, dropout);
  for (std::size_t i = 0; i < model.decoder.size(); ++i) {
    const TraceScope layer(std::to_string(i));
    x = decoder_layer(x, memory, model.decoder[i], self_mask, cross_mask, config.dialect, dropout);
  }
  const Matrix states = trace("states", stack_output(x, model.decoder_norm, config.dialect));
  const Matrix& W = config.tied ? model.embedding : model.projection_W;
  return trace("logits", linear(states, transpose(W), model.projection_b));
}
// [decode]

// [transformer]
Tokens shift_right(const Transformer& model, const Tokens& target) {
  if (target.empty()) return {};
  const DecoderStart start = model.config.dialect.decoder_start;
  const bool bos = start == DecoderStart::bos, eos = start == DecoderStart::eos;
  Tokens input = {bos ? model.config.bos : eos ? model.config.eos : no_token};
  input.insert(input.end(), target.begin(), target.end() - 1);
  return input;
}

Matrix transformer(const Transformer& model, const Tokens& source, const Tokens& target, Dropout* dropout) {
  return decode(model, shift_right(model, target), encode(model, source, dropout), source, dropout);
}
// [transformer]

}  // namespace attn
