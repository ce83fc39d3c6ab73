#include "operations.hpp"

#include "attn/core/trace.hpp"
#include "attn/reference/adam.hpp"
#include "attn/reference/backward.hpp"
#include "attn/reference/cross_attention.hpp"
#include "attn/reference/loss.hpp"
#include "attn/reference/positions.hpp"
#include "attn/reference/similarity.hpp"
#include "attn/reference/transformer.hpp"
#include "matrices.hpp"

namespace attn::tests {
namespace {

Projections projections(const GoldenCase& golden) {
  return {golden.input("W_Q"), golden.input("W_K"), golden.input("W_V")};
}

/// An input, or the empty matrix that stands for none.
Matrix optional(const GoldenCase& golden, const std::string& name) {
  return golden.has_input(name) ? golden.input(name) : Matrix();
}

std::size_t heads(const GoldenCase& golden) { return std::stoul(golden.setting("h")); }

MultiHead multi_head(const GoldenCase& golden, const std::string& prefix = "") {
  const auto map = [&](const std::string& name) { return golden.input(prefix + name); };
  const auto bias = [&](const std::string& name) { return optional(golden, prefix + name); };
  return {heads(golden), map("W_Q"),  map("W_K"),  map("W_V"), map("W_O"),
          bias("b_Q"),   bias("b_K"), bias("b_V"), bias("b_O")};
}

LayerNorm norm(const GoldenCase& golden, const std::string& prefix = "") {
  return {golden.input(prefix + "gamma"), golden.input(prefix + "beta")};
}

FeedForward feed_forward_weights(const GoldenCase& golden, const std::string& prefix = "") {
  return {golden.input(prefix + "W_1"), golden.input(prefix + "b_1"), golden.input(prefix + "W_2"),
          golden.input(prefix + "b_2")};
}

EncoderLayer encoder_weights(const GoldenCase& golden) {
  return {multi_head(golden, "self."), norm(golden, "self.norm."), feed_forward_weights(golden, "feed_forward."),
          norm(golden, "feed_forward.norm.")};
}

DecoderLayer decoder_weights(const GoldenCase& golden) {
  return {multi_head(golden, "self."),
          norm(golden, "self.norm."),
          multi_head(golden, "cross."),
          norm(golden, "cross.norm."),
          feed_forward_weights(golden, "feed_forward."),
          norm(golden, "feed_forward.norm.")};
}

Mask mask(const GoldenCase& golden, const std::string& name = "mask") {
  const Tensor& tensor = golden.tensor(name);
  const auto& values = std::get<std::vector<Bool>>(tensor.values);
  Mask result({tensor.shape.at(0), tensor.shape.at(1)});
  std::transform(values.begin(), values.end(), result.begin(), [](Bool b) { return b == Bool::yes; });
  return result;
}

Tokens tokens(const GoldenCase& golden, const std::string& name) {
  const auto& values = std::get<std::vector<std::int64_t>>(golden.tensor(name).values);
  return {values.begin(), values.end()};
}

PositionLayout layout(const GoldenCase& golden) {
  const std::string& name = golden.setting("positions");
  return name == "interleaved" ? PositionLayout::interleaved
         : name == "halves"    ? PositionLayout::halves
                               : PositionLayout::halves_t2t;
}

Smoothing smoothing(const GoldenCase& golden) {
  const std::string& name = golden.setting("smoothing");
  return name == "all_classes"     ? Smoothing::all_classes
         : name == "other_classes" ? Smoothing::other_classes
                                   : Smoothing::other_classes_but_pad;
}

using Edit = std::function<void(Dialect&)>;

Dialect edited(Dialect dialect, const Edit& edit) {
  if (edit) edit(dialect);
  return dialect;
}

void run_layer_norm(const GoldenCase& golden, const Edit& edit) {
  Dialect dialect;
  dialect.norm = golden.setting("norm") == "annotated" ? NormForm::annotated : NormForm::standard;
  dialect.epsilon = std::stod(golden.setting("epsilon"));
  trace("output", layer_norm(golden.input("x"), norm(golden), edited(dialect, edit)));
}

void run_feed_forward(const GoldenCase& golden, const Edit& edit) {
  Dialect dialect;
  dialect.activation = golden.setting("activation") == "swish" ? Activation::swish : Activation::relu;
  feed_forward(golden.input("x"), feed_forward_weights(golden), edited(dialect, edit));
}

/// What a dialect of the case's own does not have: a norm that has learned nothing.
Matrix ones_or_zeros(const Parameter& parameter) {
  const Shape shape = {parameter.rows, parameter.columns};
  return parameter.kind == Parameter::Kind::gain ? Matrix(xt::ones<double>(shape))
                                                 : Matrix(xt::zeros<double>(shape));
}

void run_transformer(const GoldenCase& golden, const Edit& edit) {
  Config config;
  const auto size = [&](const std::string& name, int index) { return golden.tensor(name).shape.at(index); };
  config.vocabulary = size("embedding", 0);
  config.d_model = size("embedding", 1);
  config.d_ff = size("encoder.0.feed_forward.W_1", 1);
  config.h = heads(golden);
  config.dialect = edited(dialect(golden.setting("dialect")), edit);
  config.encoder_layers = config.decoder_layers = 0;
  while (golden.has_input("encoder." + std::to_string(config.encoder_layers) + ".self.W_Q"))
    ++config.encoder_layers;
  while (golden.has_input("decoder." + std::to_string(config.decoder_layers) + ".self.W_Q"))
    ++config.decoder_layers;
  const Transformer model = make_transformer(config, [&](const Parameter& parameter) {
    return golden.has_input(parameter.name) ? golden.input(parameter.name) : ones_or_zeros(parameter);
  });
  transformer(model, tokens(golden, "source"), tokens(golden, "target"));
}

LabelSmoothing label_smoothing(const GoldenCase& golden) {
  return {std::stod(golden.setting("label_smoothing")), smoothing(golden)};
}

void run_cross_entropy(const GoldenCase& golden) {
  const LabelSmoothing smooth = label_smoothing(golden);
  const Matrix logits = golden.input("logits");
  const Tokens targets = tokens(golden, "targets");
  trace("losses", cross_entropies(logits, targets, 0, smooth));
  trace("loss", Matrix{{cross_entropy(logits, targets, 0, smooth)}});
}

void run_adam(const GoldenCase& golden) {
  const auto number = [&](const std::string& name) { return std::stod(golden.setting(name)); };
  Adam adam{number("beta_1"), number("beta_2"), number("epsilon"), 0, {}, {}};
  const Matrix gradients = golden.input("gradients"), rates = golden.input("rates");
  Matrix theta = golden.input("start"), m = gradients, v = gradients, after = gradients;
  for (std::size_t t = 0; t < gradients.shape(0); ++t) {
    theta = adam_update(theta, xt::view(gradients, xt::range(t, t + 1), xt::all()), rates(0, t), adam);
    xt::row(m, t) = xt::row(adam.m, 0), xt::row(v, t) = xt::row(adam.v, 0), xt::row(after, t) = xt::row(theta, 0);
  }
  trace("m", m), trace("v", v), trace("after", after);
}

}  // namespace

void run(const GoldenCase& golden, const Edit& edit) {
  const auto dialect_of_case = [&] { return edited(dialect(golden.setting("dialect")), edit); };
  const std::string& function = golden.function;
  if (function == "softmax") {
    trace("weights", softmax(golden.input("scores")));
  } else if (function == "similarity_attention") {
    similarity_attention(golden.input("X"));
  } else if (function == "projected_attention") {
    projected_attention(golden.input("X"), projections(golden));
  } else if (function == "attention") {
    attention(golden.input("Q"), golden.input("K"), golden.input("V"));
  } else if (function == "self_attention") {
    self_attention(golden.input("X"), projections(golden));
  } else if (function == "multi_head_attention") {
    multi_head_attention(golden.input("X"), golden.input("X"), multi_head(golden));
  } else if (function == "masked_attention") {
    masked_attention(golden.input("Q"), golden.input("K"), golden.input("V"), mask(golden));
  } else if (function == "masked_multi_head_attention") {
    multi_head_attention(golden.input("X"), golden.input("X"), multi_head(golden), under(mask(golden)));
  } else if (function == "cross_attention") {
    cross_attention(golden.input("x"), golden.input("memory"), projections(golden));
  } else if (function == "add_positions") {
    add_positions(golden.input("X"), layout(golden), std::stoul(golden.setting("first_position")));
  } else if (function == "layer_norm") {
    run_layer_norm(golden, edit);
  } else if (function == "feed_forward") {
    run_feed_forward(golden, edit);
  } else if (function == "encoder_layer") {
    encoder_layer(golden.input("x"), encoder_weights(golden), mask(golden), dialect_of_case());
  } else if (function == "decoder_layer") {
    decoder_layer(golden.input("x"), golden.input("memory"), decoder_weights(golden), mask(golden, "self_mask"),
                  mask(golden, "cross_mask"), dialect_of_case());
  } else if (function == "transformer") {
    run_transformer(golden, edit);
  } else if (function == "cross_entropy") {
    run_cross_entropy(golden);
  } else if (function == "cross_entropy_backward") {
    cross_entropy_backward(golden.input("logits"), tokens(golden, "targets"), 0, label_smoothing(golden));
  } else if (function == "attention_backward") {
    attention_backward(golden.input("Q"), golden.input("K"), golden.input("V"), golden.input("dO"));
  } else if (function == "masked_attention_backward") {
    masked_attention_backward(golden.input("Q"), golden.input("K"), golden.input("V"), mask(golden),
                              golden.input("dO"));
  } else if (function == "adam_steps") {
    run_adam(golden);
  } else {
    FAIL("no operation is called " << function);
  }
}

}  // namespace attn::tests
