/// @file
/// @brief The sizes of a model, and the names, shapes and first values of its parameters.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attn/core/dialect.hpp"
#include "attn/core/matrix.hpp"
#include "attn/core/random.hpp"

namespace attn {

/// What a model is made of. The defaults are the paper's base model (Vaswani et al. 2017, table 3).
struct Config {
  std::size_t vocabulary = 37000;     ///< V: how many tokens there are; "about 37000" in the paper
  std::size_t target_vocabulary = 0;  ///< of the target, where it has tokens of its own; 0: the same V
  bool tied = true;                   ///< one matrix for embeddings and logits (section 3.4)
  std::size_t d_model = 512;          ///< features of a token
  std::size_t d_ff = 2048;            ///< features inside the feed-forward layer
  std::size_t h = 8;                  ///< heads; each has d_k = d_v = d_model / h
  std::size_t encoder_layers = 6;     ///< N
  std::size_t decoder_layers = 6;     ///< N
  std::size_t learned_positions = 0;  ///< how many places have a learned vector; 0: sines and cosines
  int pad = 0;                        ///< the token that fills up; nobody looks at it
  int bos = 1;                        ///< the token that begins a target
  int eos = 2;                        ///< the token that ends a target
  Dialect dialect;                    ///< the choices
};

/// Refuses a model that cannot be.
/// @param config  its sizes
/// @throws std::invalid_argument naming the sizes that do not fit, such as d_model and h
void check(const Config& config);

/// A parameter: a matrix that is learned. A vector is a matrix of one row.
struct Parameter {
  /// What it is, which says how it begins.
  enum class Kind {
    embedding,  ///< normal, standard deviation \f$1/\sqrt{d_{model}}\f$
    matrix,     ///< uniform between \f$\pm\sqrt{6/(rows+columns)}\f$ (Glorot and Bengio 2010)
    bias,       ///< zeros
    gain        ///< ones
  };
  std::string name;          ///< such as "encoder.0.self.W_Q"
  std::size_t rows = 0;      ///< its shape
  std::size_t columns = 0;   ///< its shape
  Kind kind = Kind::matrix;  ///< what it is

  /// @return how many numbers it has
  std::size_t size() const { return rows * columns; }
};

/// All parameters of a model, in a fixed order. The same names stand in golden files, traces and checkpoints.
/// @param config  its sizes and choices
/// @return        name, shape and kind of each
/// @throws std::invalid_argument when the sizes do not fit
std::vector<Parameter> parameters(const Config& config);

/// How many numbers a model learns.
/// @param config  its sizes and choices
/// @param prefix  counts only the parameters whose names begin so
/// @return        63,045,632 for the defaults
std::size_t parameter_count(const Config& config, std::string_view prefix = "");

/// A parameter before training.
/// @param parameter  which
/// @param random     where the numbers come from
/// @return           its first value
Matrix initial_value(const Parameter& parameter, Random& random);

}  // namespace attn
