/// @file
/// @brief Chapter 08: the layers of the encoder and of the decoder.
#pragma once

#include <functional>
#include <string>

#include "attn/core/dialect.hpp"
#include "attn/core/matrix.hpp"
#include "attn/reference/dropout.hpp"
#include "attn/reference/feed_forward.hpp"
#include "attn/reference/layer_norm.hpp"
#include "attn/reference/masking.hpp"
#include "attn/reference/multi_head.hpp"

namespace attn {

/// What an encoder layer has learned.
struct EncoderLayer {
  MultiHead self;               ///< the tokens look at each other
  LayerNorm self_norm;          ///< its norm
  FeedForward feed_forward;     ///< each token by itself
  LayerNorm feed_forward_norm;  ///< its norm
};

/// What a decoder layer has learned.
struct DecoderLayer {
  MultiHead self;               ///< the target looks at itself, backwards
  LayerNorm self_norm;          ///< its norm
  MultiHead cross;              ///< the target looks at the source
  LayerNorm cross_norm;         ///< its norm
  FeedForward feed_forward;     ///< each token by itself
  LayerNorm feed_forward_norm;  ///< its norm
};

/// A sub-layer with its residual and its norm: \f$\mathrm{LN}(x + F(x))\f$ as the paper has it, or
/// \f$x + F(\mathrm{LN}(x))\f$ where the dialect norms first; dropout on what F gives. Traces name.norm and
/// name.sum around what F traces.
/// @param name     of the part, such as "self"
/// @param x        one token a row, shape (n, d_model)
/// @param norm     gamma and beta
/// @param dialect  which order
/// @param dropout  while training; none otherwise
/// @param F        the part itself
/// @return         of the shape of x
/// @see Vaswani et al. 2017, section 3.1; Xiong et al. 2020 for the two orders
Matrix sublayer(const std::string& name, const Matrix& x, const LayerNorm& norm, const Dialect& dialect,
                Dropout* dropout, const std::function<Matrix(const Matrix&)>& F);

/// One layer of the encoder: self-attention, then the feed-forward layer. Traces self.…, feed_forward.…, output.
/// @param x        one token a row, shape (n, d_model)
/// @param weights  what was learned
/// @param mask     which token may look at which, shape (n, n)
/// @param dialect  the choices
/// @param dropout  while training; none otherwise
/// @return         shape (n, d_model)
/// @throws std::invalid_argument when a shape does not fit
/// @see Vaswani et al. 2017, section 3.1
Matrix encoder_layer(const Matrix& x, const EncoderLayer& weights, const Mask& mask,
                     const Dialect& dialect = Dialect(), Dropout* dropout = nullptr);

/// One layer of the decoder: masked self-attention, attention to the encoder's memory, the feed-forward layer.
/// Traces self.…, cross.…, feed_forward.…, output.
/// @param x           one target token a row, shape (m, d_model)
/// @param memory      what the encoder has made of the source, shape (n, d_model)
/// @param weights     what was learned
/// @param self_mask   which target token may look at which, shape (m, m)
/// @param cross_mask  which target token may look at which source token, shape (m, n)
/// @param dialect     the choices
/// @param dropout     while training; none otherwise
/// @return            shape (m, d_model)
/// @throws std::invalid_argument when a shape does not fit
/// @see Vaswani et al. 2017, section 3.1
Matrix decoder_layer(const Matrix& x, const Matrix& memory, const DecoderLayer& weights, const Mask& self_mask,
                     const Mask& cross_mask, const Dialect& dialect = Dialect(), Dropout* dropout = nullptr);

}  // namespace attn
