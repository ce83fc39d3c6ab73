/// @file
/// @brief Chapter 09: the whole model, encoder and decoder.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attn/core/config.hpp"
#include "attn/core/matrix.hpp"
#include "attn/reference/embedding.hpp"
#include "attn/reference/layer.hpp"

namespace attn {

/// A Transformer: its sizes and choices, and all it has learned. What a model does not have is an empty matrix.
struct Transformer {
  Config config;                      ///< sizes and choices
  Matrix embedding;                   ///< of source and, if tied, target; shape (V, d_model)
  Matrix target_embedding;            ///< of the target, if it has its own
  Matrix projection_W;                ///< to logits, if it is not tied; shape (V, d_model), a row for each token
  Matrix projection_b;                ///< of the logits, if there is one; shape (1, V)
  Matrix encoder_positions;           ///< a row for each place, if they are learned
  Matrix decoder_positions;           ///< a row for each place, if they are learned
  std::vector<EncoderLayer> encoder;  ///< its layers
  LayerNorm encoder_norm;             ///< after them, if the dialect has it
  std::vector<DecoderLayer> decoder;  ///< its layers
  LayerNorm decoder_norm;             ///< after them, if the dialect has it
};

/// Calls f with the name and the matrix of each parameter that a model may have, in the order of parameters().
/// @param model  the model
/// @param f      what to do with each; an empty matrix is one that this model does not have
void for_each(Transformer& model, const std::function<void(const std::string& name, Matrix& value)>& f);

/// Builds a model out of its parameters.
/// @param config  its sizes and choices
/// @param value   gives the matrix for each parameter
/// @return        the model
/// @throws std::invalid_argument when the sizes do not fit, or a matrix has another shape than its parameter
Transformer make_transformer(const Config& config, const std::function<Matrix(const Parameter&)>& value);

/// A model before training.
/// @param config  its sizes and choices
/// @param random  where the numbers come from
/// @return        the model, with initial_value() for each parameter
Transformer initial_transformer(const Config& config, Random& random);

/// Reads the source: embeds it, adds positions, and passes it through the layers of the encoder. Padding is not
/// looked at. Traces encoder.…, encoder.memory.
/// @param model    the model
/// @param source   n tokens
/// @param dropout  while training; none otherwise
/// @return         the memory, shape (n, d_model)
/// @throws std::invalid_argument naming a token that is not in the vocabulary, or when positions are learned and
/// there are fewer than tokens
Matrix encode(const Transformer& model, const Tokens& source, Dropout* dropout = nullptr);

/// Reads the target so far, and the memory: each position sees itself and those before it, and all of the source
/// but its padding. Traces decoder.…, decoder.states, decoder.logits.
/// @param model    the model
/// @param input    m tokens: a target, shifted right
/// @param memory   what encode() gave, shape (n, d_model)
/// @param source   the n tokens it was made from
/// @param dropout  while training; none otherwise
/// @return         logits: row i scores every token as the one that follows input i, shape (m, V)
/// @throws std::invalid_argument when a token is not in the vocabulary, source and memory differ in length, or
/// positions are learned and there are fewer than tokens
Matrix decode(const Transformer& model, const Tokens& input, const Matrix& memory, const Tokens& source,
              Dropout* dropout = nullptr);

/// What the decoder reads: the start, then the target but for its last token.
/// @param model   says how a target begins
/// @param target  m tokens, the last of them EOS
/// @return        m tokens; none for none
Tokens shift_right(const Transformer& model, const Tokens& target);

/// The whole way: encode(), shift_right(), decode().
/// @param model    the model
/// @param source   n tokens
/// @param target   m tokens
/// @param dropout  while training; none otherwise
/// @return         logits: row i scores every token as target i, knowing the source and the targets before i
/// @throws std::invalid_argument as encode() and decode()
/// @see Vaswani et al. 2017, figure 1
Matrix transformer(const Transformer& model, const Tokens& source, const Tokens& target,
                   Dropout* dropout = nullptr);

}  // namespace attn
