#include "attn/core/dialect.hpp"

#include <array>

#include "attn/core/errors.hpp"
#include "attn/core/numbers.hpp"

namespace attn {
namespace {

/// tensor2tensor, transformer_base_v1: what the authors of the paper published.
Dialect tensor2tensor() {
  Dialect d;
  d.name = "tensor2tensor";
  d.positions = PositionLayout::halves_t2t;
  d.decoder_start = DecoderStart::zero_vector;
  d.smoothing = Smoothing::other_classes;
  return d;
}

/// The Annotated Transformer (Rush 2018, and its revision of 2022).
Dialect annotated() {
  Dialect d;
  d.name = "annotated";
  d.pre_norm = d.final_norm = true;
  d.norm = NormForm::annotated;
  d.attention_bias = d.output_bias = true;
  d.attention_dropout = d.feed_forward_dropout = true;
  d.smoothing = Smoothing::other_classes_but_pad;
  return d;
}

/// Marian (Junczys-Dowmunt et al. 2018). The activation is relu here; a file of its own says which one it has.
Dialect marian() {
  Dialect d;
  d.name = "marian";
  d.positions = PositionLayout::halves_t2t;
  d.attention_bias = d.output_bias = true;
  d.decoder_start = DecoderStart::zero_vector;
  return d;
}

/// fairseq (Ott et al. 2019), architecture transformer.
Dialect fairseq() {
  Dialect d;
  d.name = "fairseq";
  d.positions = PositionLayout::halves_t2t;
  d.first_position = 2;
  d.epsilon = 1e-5;
  d.attention_bias = true;
  d.decoder_start = DecoderStart::eos;
  d.smoothing = Smoothing::other_classes;
  return d;
}

/// Hugging Face's port of Marian's models.
Dialect huggingface() {
  Dialect d;
  d.name = "huggingface";
  d.positions = PositionLayout::halves;
  d.epsilon = 1e-5;
  d.attention_bias = d.output_bias = true;
  d.activation = Activation::swish;
  d.decoder_start = DecoderStart::zero_vector;
  return d;
}

template <class Enum, std::size_t n>
std::string word(Enum value, const std::array<const char*, n>& words) {
  return words.at(static_cast<std::size_t>(value));
}

std::string yes_no(bool value) { return value ? "yes" : "no"; }

std::string scientific(double value) { return to_text(value, std::chars_format::scientific, 0); }

}  // namespace

const std::vector<Dialect>& dialects() {
  static const std::vector<Dialect> all = {Dialect(), tensor2tensor(), annotated(),
                                           marian(),  fairseq(),       huggingface()};
  return all;
}

const Dialect& dialect(std::string_view name) {
  std::string names;
  for (const Dialect& d : dialects()) {
    if (d.name == name) return d;
    names += (names.empty() ? "" : ", ") + d.name;
  }
  refuse_input("dialect", "one of " + names, name);
}

std::vector<std::pair<std::string, std::string>> switches(const Dialect& d) {
  return {
      {"positions", word(d.positions, std::array{"interleaved", "halves", "halves_t2t"})},
      {"first position", std::to_string(d.first_position)},
      {"norm before or after", d.pre_norm ? "before" : "after"},
      {"final norm", yes_no(d.final_norm)},
      {"norm divides by", word(d.norm, std::array{"√(σ²+ε)", "s+ε"})},
      {"ε", scientific(d.epsilon)},
      {"attention biases", yes_no(d.attention_bias)},
      {"output bias", yes_no(d.output_bias)},
      {"embeddings × √d", yes_no(d.scale_embeddings)},
      {"activation", word(d.activation, std::array{"relu", "swish"})},
      {"decoder starts with", word(d.decoder_start, std::array{"BOS", "EOS", "zeros"})},
      {"attention dropout", yes_no(d.attention_dropout)},
      {"feed-forward dropout", yes_no(d.feed_forward_dropout)},
      {"label smoothing", word(d.smoothing, std::array{"ε/V", "ε/(V-1)", "ε/(V-2)"})},
  };
}

}  // namespace attn
