/// @file
/// @brief Dialects: where implementations of the Transformer differ, as data.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// How the sines and cosines of a position are laid out over the channels.
enum class PositionLayout {
  interleaved,  ///< sine, cosine, sine, cosine ...: the paper's formula
  halves,       ///< first the sines, then the cosines, with the paper's frequencies
  halves_t2t    ///< first the sines, then the cosines, the last frequency being exactly 1/10000
};

/// What layer normalisation divides by.
enum class NormForm {
  standard,  ///< the root of (biased variance + epsilon), as Ba et al. 2016
  annotated  ///< (unbiased standard deviation + epsilon), as The Annotated Transformer
};

/// What stands between the two linear maps of the feed-forward layer.
enum class Activation {
  relu,  ///< \f$\max(0, x)\f$
  swish  ///< \f$x / (1 + e^{-x})\f$
};

/// What the decoder reads before there is a word.
enum class DecoderStart {
  bos,         ///< a token of its own
  eos,         ///< the token that ends a sentence
  zero_vector  ///< a row of zeros in place of an embedding
};

/// Where label smoothing puts what it takes from the right answer; V classes, share \f$\varepsilon\f$.
enum class Smoothing {
  all_classes,           ///< \f$\varepsilon/V\f$ to each class, the right one too
  other_classes,         ///< \f$\varepsilon/(V-1)\f$ to each other class
  other_classes_but_pad  ///< \f$\varepsilon/(V-2)\f$ to each other class but PAD
};

/// A named set of choices. Every default is the paper's, or ours where the paper is silent.
struct Dialect {
  std::string name = "paper";                              ///< who does it so
  PositionLayout positions = PositionLayout::interleaved;  ///< how positions are laid out
  std::size_t first_position = 0;                          ///< the number of the first token
  bool pre_norm = false;                                   ///< x + F(LN(x)) in place of LN(x + F(x))
  bool final_norm = false;                                 ///< one more norm after each stack
  NormForm norm = NormForm::standard;                      ///< what the norm divides by
  double epsilon = 1e-6;                                   ///< the norm's epsilon
  bool attention_bias = false;                             ///< biases in the four maps of attention
  bool output_bias = false;                                ///< a bias on the logits
  bool scale_embeddings = true;                            ///< embeddings times \f$\sqrt{d_{model}}\f$
  Activation activation = Activation::relu;                ///< of the feed-forward layer
  DecoderStart decoder_start = DecoderStart::bos;          ///< what the decoder reads first
  bool attention_dropout = false;                          ///< dropout on the weights of attention too
  bool feed_forward_dropout = false;                       ///< dropout inside the feed-forward layer too
  Smoothing smoothing = Smoothing::all_classes;            ///< the form of label smoothing
};

/// All named dialects.
/// @return paper, tensor2tensor, annotated, marian, fairseq, huggingface
const std::vector<Dialect>& dialects();

/// A dialect by its name.
/// @param name  one of those that dialects() has
/// @return      its choices
/// @throws InputError naming those that there are
const Dialect& dialect(std::string_view name);

/// The choices of a dialect as words, for tables.
/// @param dialect  any
/// @return         pairs of the switch and its value, always the same switches in the same order
std::vector<std::pair<std::string, std::string>> switches(const Dialect& dialect);

}  // namespace attn
