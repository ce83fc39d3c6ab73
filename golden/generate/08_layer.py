"""Golden cases of chapter 8: layer norm, the feed-forward network, the encoder layer, the decoder layer."""

from dataclasses import replace

import numpy as np
import torch

import model
import model_torch
from common import main, make_case, matrices, wrong_input
from model import DIALECTS, drawn, layer_meanings, layer_weights
from model_steps import Model, wrong_dialect, wrong_part

LAYER_NORM = "Ba et al. 2016, section 3, as used in Vaswani et al. 2017, section 3.1"
ANNOTATED_NORM = "The Annotated Transformer, class LayerNorm; Ba et al. 2016 divide by n"
FEED_FORWARD = "Vaswani et al. 2017, section 3.3, equation (2)"
SWISH = "Vaswani et al. 2017, section 3.3, with swish (Ramachandran et al. 2017) in place of ReLU"
LAYER = "Vaswani et al. 2017, sections 3.1 to 3.3"
TOLERANCE = {
  "float64": 1e-12,
  "float32": 1e-5,
  "reason": "Numbers of size 1 to 10 and some ten sums of at most 10 terms behind each other: the order of "
            "summation moves them by about 1e-15 in double and 1e-6 in float.",
}
H = 2

# ---- Layer norm --------------------------------------------------------------------------------------------


def norm_case(name, title, formula, norm, inputs, mistakes, reference):
  settings = {"norm": norm, "epsilon": 1e-6}
  dialect = replace(DIALECTS["paper"], **settings)

  def truth(**tensors):
    return {"output": model.layer_norm(**tensors, **settings)}

  def by_torch(x, gamma, beta):
    return {"output": model_torch.norm_module(gamma, beta, dialect)(x).detach()}

  def steps(x, gamma, beta, dialect=dialect, model=Model):
    return {"output": model(dialect, H).norm(x, gamma, beta)}

  return make_case(f"08-layer/{name}", 8, title, formula, "layer_norm", inputs,
                   {"output": "each row brought to mean 0 and deviation 1, times gamma, plus beta"}, truth, steps,
                   by_torch, mistakes(dialect, inputs), TOLERANCE, settings, reference=reference)


def norm_by(mean=lambda x: x.mean(axis=1, keepdims=True), variance=None, divisor=None):
  """The method norm, with the mean, the variance or the divisor replaced."""
  def norm(self, x, gamma, beta):
    ddof = 0 if self.dialect.norm == "standard" else 1
    spread = variance(x) if variance else x.var(axis=1, ddof=ddof, keepdims=True)
    outside = np.sqrt(spread) + self.dialect.epsilon
    below = np.sqrt(spread + self.dialect.epsilon) if self.dialect.norm == "standard" else outside
    return (x - mean(x)) / (divisor(spread) if divisor else below) * gamma + beta
  return norm


def norm_anywhere(i):
  """The mistakes that fit both forms."""
  return [
    wrong_part("over-the-whole-matrix",
               "One mean and one variance were taken over all tokens together; take them over each row.",
               norm=norm_by(mean=lambda x: x.mean(), variance=lambda x: x.var())),
    wrong_part("over-the-tokens",
               "Mean and variance run down the columns, over the tokens (as batch norm does); take them over "
               "each row.",
               norm=norm_by(mean=lambda x: x.mean(axis=0), variance=lambda x: x.var(axis=0))),
    wrong_part("divided-by-the-variance",
               "The centred row is divided by its variance; divide it by the root of that.",
               norm=norm_by(divisor=lambda variance: variance + 1e-6)),
    wrong_part("mean-not-subtracted",
               "The mean is not subtracted from the row before it is divided; subtract it.",
               norm=norm_by(mean=lambda x: 0 * x)),
    wrong_part("not-divided", "The row is only centred; divide it by its standard deviation too.",
               norm=norm_by(divisor=lambda variance: 1)),
    wrong_input("gamma-and-beta-swapped",
                "gamma and beta changed places; gamma multiplies and beta is added.",
                gamma=i["beta"], beta=i["gamma"]),
    wrong_input("gamma-forgotten", "The normed row is not multiplied by gamma; multiply it, then add beta.",
                gamma=np.ones_like(i["gamma"])),
    wrong_input("beta-forgotten", "beta is not added; add it after the multiplication by gamma.",
                beta=np.zeros_like(i["beta"])),
    wrong_part("beta-before-gamma",
               "beta was added before the multiplication by gamma; multiply by gamma first.",
               norm=lambda self, x, gamma, beta: Model.norm(self, x, 1, beta) * gamma),
  ]


def standard_norm(dialect, i):
  return [
    *norm_anywhere(i),
    wrong_part("unbiased-variance",
               "The variance is divided by d − 1; layer norm divides the sum of squares by d.",
               norm=norm_by(variance=lambda x: x.var(axis=1, ddof=1, keepdims=True))),
    wrong_part("epsilon-outside-the-root",
               "epsilon is added to the standard deviation; add it to the variance, under the root. It shows "
               "where a row hardly varies.",
               norm=norm_by(divisor=lambda variance: np.sqrt(variance) + 1e-6)),
    wrong_part("no-epsilon",
               "epsilon is missing; add it to the variance, under the root. It shows where a row hardly "
               "varies.",
               norm=norm_by(divisor=np.sqrt)),
    wrong_dialect("epsilon-1e-5",
                  "epsilon is 1e-5, as in PyTorch; this case has 1e-6. It shows where a row hardly varies.",
                  replace(dialect, epsilon=1e-5)),
  ]


def annotated_norm(dialect, i):
  return [
    *norm_anywhere(i),
    wrong_part("biased-standard-deviation",
               "The variance is divided by d; this form divides the sum of squares by d − 1.",
               norm=norm_by(variance=lambda x: x.var(axis=1, keepdims=True))),
    wrong_part("epsilon-inside-the-root",
               "epsilon is added under the root; this form adds it to the standard deviation. It shows where "
               "a row hardly varies.",
               norm=norm_by(divisor=lambda variance: np.sqrt(variance + 1e-6))),
    wrong_dialect("standard-form",
                  "This is the standard layer norm, with the variance divided by d and epsilon under the "
                  "root; this form divides by d − 1 and adds epsilon to the standard deviation.",
                  replace(dialect, norm="standard")),
  ]


# The second row hardly varies, so that the place of epsilon shows.
NORM = matrices(
  x=[[1.3, -0.4, 2.1, 0.7], [0.0003, -0.0002, 0.0001, -0.0004], [-0.9, 1.8, 0.6, -1.1]],
  gamma=[[1.2, 0.7, 0.9, 1.5]],
  beta=[[0.3, -0.5, 0.8, -0.2]])

# ---- The feed-forward network ------------------------------------------------------------------------------


def feed_forward_case(name, title, formula, activation, inputs, mistakes, reference):
  dialect = replace(DIALECTS["paper"], activation=activation)

  def truth(**tensors):
    return model.feed_forward(**tensors, activation=activation)

  def by_torch(x, W_1, b_1, W_2, b_2):
    act = {"relu": torch.relu, "swish": torch.nn.functional.silu}[activation]
    hidden = act(torch.nn.functional.linear(x, W_1.T, b_1[0]))
    return {"hidden": hidden, "output": torch.nn.functional.linear(hidden, W_2.T, b_2[0])}

  def steps(x, model=Model, dialect=dialect, **weights):
    return model(dialect, H).feed_forward(x, weights)

  meanings = {"hidden": f"{activation}(x W_1 + b_1)", "output": "hidden W_2 + b_2"}
  return make_case(f"08-layer/{name}", 8, title, formula, "feed_forward", inputs, meanings, truth, steps, by_torch,
                   mistakes(dialect, inputs), TOLERANCE, {"activation": activation}, reference=reference)


def changed_output(change):
  """The method feed_forward, whose output goes through change(self, output, x, weights) at the end."""
  def feed_forward(self, x, weights):
    tensors = Model.feed_forward(self, x, weights)
    return {**tensors, "output": change(self, tensors["output"], x)}
  return feed_forward


def bias_after_activation(self, x, weights):
  hidden = self.activation(x @ weights["W_1"]) + weights["b_1"]
  return {"hidden": hidden, "output": hidden @ weights["W_2"] + weights["b_2"]}


def gelu(self, x):
  return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi).astype(x.dtype) * (x + 0.044715 * x**3)))


def sigmoid(self, x):
  return 1 / (1 + np.exp(-x))


def without_activation(activation):
  return wrong_part("no-activation",
                    f"The {activation} between the two products is missing, which leaves one linear map; "
                    "apply it to x W_1 + b_1.",
                    activation=lambda self, x: x)


def feed_forward_anywhere(activation, i):
  return [
    without_activation(activation),
    wrong_part("activation-at-the-end-too",
               f"The {activation} was applied to the output too; apply it only between the two products.",
               feed_forward=changed_output(lambda self, output, x: self.activation(output))),
    wrong_part("activation-before-the-bias",
               f"The {activation} was applied to x W_1, and b_1 was added after it; add b_1 first.",
               feed_forward=bias_after_activation),
    wrong_input("first-bias-forgotten", "b_1 is missing; add it to x W_1, before the activation.",
                b_1=np.zeros_like(i["b_1"])),
    wrong_input("second-bias-forgotten", "b_2 is missing; add it to the second product.",
                b_2=np.zeros_like(i["b_2"])),
    wrong_part("input-added-already",
               "x was added to the output; the residual connection belongs to the layer, not to this function.",
               feed_forward=changed_output(lambda self, output, x: x + output)),
    wrong_part("gelu", f"The activation is GELU; this network has {activation}.", activation=gelu),
    wrong_input("weights-column-by-column",
                "W_1 and W_2 were filled column by column; their numbers stand row by row in the file.",
                **{name: i[name].T.reshape(i[name].shape) for name in ("W_1", "W_2")}),
  ]


def relu_mistakes(dialect, i):
  return [
    *feed_forward_anywhere("relu", i),
    wrong_dialect("swish", "The activation is swish; this network has relu, the greater of 0 and x.",
                  replace(dialect, activation="swish")),
  ]


def swish_mistakes(dialect, i):
  return [
    *feed_forward_anywhere("swish", i),
    wrong_dialect("relu", "The activation is relu; this network has swish, x times sigmoid(x).",
                  replace(dialect, activation="relu")),
    wrong_part("sigmoid-only", "The activation is sigmoid(x); swish is x times sigmoid(x).", activation=sigmoid),
  ]


FEED = matrices(
  x=[[0.8, -1.2, 0.5, 1.4], [-0.6, 0.9, 1.1, -0.3], [1.3, 0.2, -0.7, 0.6]],
  W_1=[[0.7, -0.4, 0.2, 0.9, -0.8, 0.1],
       [-0.3, 0.6, -0.9, 0.4, 0.5, -0.2],
       [0.5, 0.8, 0.3, -0.6, 0.1, -0.7],
       [-0.1, 0.2, 0.6, 0.3, -0.9, 0.4]],
  b_1=[[0.2, -0.3, 0.1, 0.4, 0.6, -0.5]],
  W_2=[[0.4, -0.7, 0.9, 0.1],
       [-0.6, 0.3, 0.2, 0.8],
       [0.5, 0.6, -0.4, -0.1],
       [0.7, -0.2, 0.1, -0.9],
       [-0.3, 0.8, 0.6, 0.2],
       [0.1, -0.5, 0.7, 0.3]],
  b_2=[[-0.4, 0.3, 0.5, -0.2]])

# ---- Mistakes of both layers -------------------------------------------------------------------------------


def swapped(one, other, i):
  return {f"{a}.norm.{x}": i[f"{b}.norm.{x}"] for a, b in ((one, other), (other, one))
          for x in ("gamma", "beta")}


def instead_of(name, used, i):
  return {f"{name}.norm.{x}": i[f"{used}.norm.{x}"] for x in ("gamma", "beta")}


def only_output_normed(self, name, x, function, weights):
  tensors = function(x)
  result = x + self.norm_of(name, tensors["output"], weights)
  return {**tensors, "sum": result, "norm": result}


PRE_NORM = wrong_dialect(
  "pre-norm-for-post-norm",
  "Each sub-layer computes x + F(LN(x)), the pre-norm form; here it is LN(x + F(x)).",
  replace(DIALECTS["paper"], order="pre"))

RESIDUAL_FORGOTTEN = wrong_part(
  "residual-forgotten",
  "The input of each sub-layer is not added to its output; add it.",
  residual=lambda self, x, normed, output: output)

ONLY_OUTPUT_NORMED = wrong_part(
  "only-the-output-normed",
  "Each sub-layer computes x + LN(F(x)); add first, then norm the sum: LN(x + F(x)).",
  sublayer=only_output_normed)

NO_NORM_AFTER_ATTENTION = wrong_part(
  "no-norm-after-attention",
  "The sum after self-attention is not normed; every sub-layer has its own layer norm.",
  norm_of=lambda self, name, x, weights: x if name == "self" else Model.norm_of(self, name, x, weights))

NOT_SCALED = wrong_part("not-scaled", "The scores are not divided by √d_k; divide them before the softmax.",
                        scale=lambda self, d_k, d_model: 1)

SCALED_BY_ROOT_D_MODEL = wrong_part(
  "scaled-by-root-d_model",
  "The scores are divided by √d_model; divide them by √d_k, the length of a query of one head.",
  scale=lambda self, d_k, d_model: d_model**-0.5)

OUTPUT_NOT_PROJECTED = wrong_part(
  "heads-not-projected",
  "The heads stand side by side, but the product with W_O is missing.",
  output_projection=lambda self, concat, W_O, b_O: concat)

SPLIT_BY_RESHAPE = wrong_part(
  "split-by-reshape",
  "Q, K and V were reshaped to (h, n, d_k) at once, which mixes the tokens; head i takes the columns from "
  "i d_k on: reshape to (n, h, d_k), then transpose.",
  split=lambda self, Y: Y.reshape(self.h, len(Y), -1))

UNBIASED_VARIANCE = wrong_part(
  "unbiased-variance", "The layer norm divides its sum of squares by d − 1; it must divide by d.",
  norm=norm_by(variance=lambda x: x.var(axis=1, ddof=1, keepdims=True)))

RELU_FORGOTTEN = wrong_part("relu-forgotten", without_activation("relu").says, activation=lambda self, x: x)


def feed_forward_biases_forgotten(i):
  return wrong_input("feed-forward-biases-forgotten",
                     "b_1 and b_2 are missing; the feed-forward network has biases, also where attention has "
                     "none.",
                     **{name: np.zeros_like(i[name]) for name in ("feed_forward.b_1", "feed_forward.b_2")})

# ---- The encoder layer -------------------------------------------------------------------------------------


def settings_of(dialect):
  return {"h": H, "dialect": dialect}


def encoder_case(name, title, dialect_name, inputs, mistakes):
  dialect = DIALECTS[dialect_name]

  def truth(**tensors):
    return model.encoder_layer(h=H, dialect=dialect, **tensors)

  def by_torch(**tensors):
    return model_torch.encoder_layer(h=H, dialect=dialect, **tensors)

  def steps(x, mask, model=Model, dialect=dialect, **weights):
    return model(dialect, H).encoder_layer(x, mask, **weights)

  formula = {"post": "LN(z + FFN(z)), z = LN(x + MultiHead(x, x, x))",
             "pre": "z + FFN(LN(z)), z = x + MultiHead(y, y, y), y = LN(x)"}[dialect.order]
  return make_case(f"08-layer/{name}", 8, title, formula, "encoder_layer", inputs,
                   layer_meanings("encoder", dialect), truth, steps, by_torch, mistakes(inputs), TOLERANCE,
                   settings_of(dialect_name), reference=LAYER)


def norms_swapped(i):
  return wrong_input("norms-swapped",
                     "The two layer norms changed places; self.norm belongs to attention, feed_forward.norm to "
                     "the feed-forward network.",
                     **swapped("self", "feed_forward", i))


def one_norm_twice(i):
  return wrong_input("one-norm-used-twice",
                     "Both sub-layers use the layer norm of the first; each has its own gamma and beta.",
                     **instead_of("feed_forward", "self", i))


FEED_FORWARD_FIRST = wrong_part(
  "feed-forward-before-attention",
  "The feed-forward network came first; attention is the first sub-layer.",
  sublayers=lambda self, kind: ["feed_forward", "self"])


def encoder_mistakes(i):
  return [
    PRE_NORM, RESIDUAL_FORGOTTEN, ONLY_OUTPUT_NORMED, NO_NORM_AFTER_ATTENTION, norms_swapped(i),
    one_norm_twice(i), FEED_FORWARD_FIRST, RELU_FORGOTTEN, feed_forward_biases_forgotten(i),
    UNBIASED_VARIANCE, NOT_SCALED, SCALED_BY_ROOT_D_MODEL, OUTPUT_NOT_PROJECTED, SPLIT_BY_RESHAPE,
  ]


def zero_scores(self, S, mask):
  return Model.softmax(self, np.where(mask, S, 0), np.ones_like(mask))


def masked_after_softmax(self, S, mask):
  return Model.softmax(self, S, np.ones_like(mask)) * mask


ZERO_SCORES = wrong_part(
  "zero-before-softmax",
  "The scores of padding were set to 0, and e to the power of 0 is 1; set them to minus infinity.",
  softmax=zero_scores)

MASKED_AFTER_SOFTMAX = wrong_part(
  "masked-after-softmax",
  "The weights of padding were set to 0 after the softmax, so that the rows no longer sum to 1; mask the "
  "scores, before the softmax.",
  softmax=masked_after_softmax)


def padded_encoder(i):
  everything = np.ones_like(i["mask"])
  return [
    PRE_NORM, RESIDUAL_FORGOTTEN, norms_swapped(i), ZERO_SCORES, MASKED_AFTER_SOFTMAX,
    wrong_input("mask-ignored",
                "The queries look at the padding too; a false in the mask means that the key must get weight "
                "0.",
                mask=everything),
    wrong_input("padding-row-instead-of-column",
                "The row of the padding was masked, so that it looks at nothing and all others look at it; "
                "mask its column.",
                mask=i["mask"].T),
    wrong_input("mask-turned-round",
                "True and false changed places: only the padding is seen; true means that a query may look "
                "there.",
                mask=~i["mask"]),
  ]


def annotated_mistakes(i):
  annotated = DIALECTS["annotated"]
  return [
    wrong_dialect("post-norm-for-pre-norm",
                  "Each sub-layer computes LN(x + F(x)), the post-norm form; here it is x + F(LN(x)).",
                  replace(annotated, order="post")),
    wrong_part("residual-from-the-normed",
               "The normed input was added to the output of each sub-layer; add the input as it was.",
               residual=lambda self, x, normed, output: normed + output),
    RESIDUAL_FORGOTTEN, norms_swapped(i), one_norm_twice(i),
    wrong_dialect("biased-standard-deviation",
                  "The layer norm has the standard form, with the variance divided by d; this dialect divides "
                  "by d − 1 and adds epsilon to the standard deviation.",
                  replace(annotated, norm="standard")),
    wrong_dialect("attention-biases-forgotten",
                  "The biases of attention are missing; in this dialect its four products have biases.",
                  replace(annotated, attention_bias=False)),
    RELU_FORGOTTEN, SPLIT_BY_RESHAPE,
    wrong_part("normed-at-the-end-too",
               "The result was normed again; in a pre-norm layer the sum is the result. The one norm at the end "
               "stands after the last layer.",
               encoder_layer=lambda self, x, mask, **weights: normed_again(self, x, mask, weights)),
  ]


def normed_again(self, x, mask, weights):
  tensors = Model.encoder_layer(self, x, mask, **weights)
  return {**tensors, "output": self.norm_of("feed_forward", tensors["output"], weights)}


def fairseq_mistakes(i):
  fairseq = DIALECTS["fairseq"]
  return [
    wrong_dialect("pre-norm-for-post-norm", PRE_NORM.says, replace(fairseq, order="pre")),
    RESIDUAL_FORGOTTEN, norms_swapped(i), one_norm_twice(i),
    wrong_dialect("attention-biases-forgotten",
                  "The biases of attention are missing; in this dialect its four products have biases.",
                  replace(fairseq, attention_bias=False)),
    wrong_input("output-bias-forgotten", "b_O is missing; add it after the product with W_O.",
                **{"self.b_O": np.zeros_like(i["self.b_O"])}),
    wrong_input("value-bias-forgotten", "b_V is missing; add it to the values.",
                **{"self.b_V": np.zeros_like(i["self.b_V"])}),
    wrong_input("query-bias-forgotten", "b_Q is missing; add it to the queries.",
                **{"self.b_Q": np.zeros_like(i["self.b_Q"])}),
    wrong_dialect("swish", "The activation is swish; this dialect has relu.",
                  replace(fairseq, activation="swish")),
    SPLIT_BY_RESHAPE,
  ]


ALL_SEEN = np.ones((5, 5), dtype=bool)
LAST_HIDDEN = np.tile([True, True, True, True, False], (5, 1))


def encoder_inputs(key, mask, bias=False):
  return {"x": drawn(f"08/{key}/x", 5, 6, 1.5).round(1), "mask": mask,
          **layer_weights("encoder", f"08/{key}", 6, 10, bias)}

# ---- The decoder layer -------------------------------------------------------------------------------------


def decoder_case(name, title, inputs, mistakes):
  dialect = DIALECTS["paper"]

  def truth(**tensors):
    return model.decoder_layer(h=H, dialect=dialect, **tensors)

  def by_torch(**tensors):
    return model_torch.decoder_layer(h=H, dialect=dialect, **tensors)

  def steps(x, memory, self_mask, cross_mask, model=Model, dialect=dialect, **weights):
    return model(dialect, H).decoder_layer(x, memory, self_mask, cross_mask, **weights)

  return make_case(f"08-layer/{name}", 8, title,
                   "LN(y + FFN(y)), y = LN(z + MultiHead(z, memory, memory)), z = LN(x + MultiHead(x, x, x))",
                   "decoder_layer", inputs, layer_meanings("decoder", dialect), truth, steps, by_torch,
                   mistakes(inputs), TOLERANCE, settings_of("paper"), reference=LAYER)


def cross_from_itself(self, x, layer_input, memory, mask, weights):
  return self.attention(x, x, np.ones((len(x), len(x)), dtype=bool), weights)


CROSS_FROM_ITSELF = wrong_part(
  "cross-from-itself",
  "The second attention takes its keys and values from the decoder itself; they must come from memory, the "
  "result of the encoder.",
  cross_attention=cross_from_itself)


def decoder_anywhere(i):
  m = len(i["x"])
  return [
    wrong_input("no-causal-mask",
                "The decoder looks at what it has yet to say; query i may see only the keys 0 to i.",
                self_mask=np.ones((m, m), dtype=bool)),
    wrong_input("without-the-diagonal",
                "Query i sees only the keys before i, so that the first sees nothing; it may see itself too.",
                self_mask=np.tril(np.ones((m, m), dtype=bool), -1)),
    wrong_input("causal-mask-turned-round",
                "The causal mask was transposed, so that query i sees the keys from i on; it may see only those "
                "up to i.",
                self_mask=i["self_mask"].T),
    CROSS_FROM_ITSELF,
    wrong_part("cross-query-skips-the-norm",
               "The queries of the second attention come from x; they must come from self.norm, the result of "
               "the first sub-layer.",
               cross_attention=lambda self, x, layer_input, memory, mask, weights:
                 self.attention(layer_input, memory, mask, weights)),
    wrong_part("cross-before-self",
               "The attention to memory came first; the decoder attends to itself first.",
               sublayers=lambda self, kind: ["cross", "self", "feed_forward"]),
    wrong_input("first-two-norms-swapped",
                "self.norm and cross.norm changed places; each sub-layer has its own layer norm.",
                **swapped("self", "cross", i)),
    wrong_input("first-norm-used-twice",
                "The second sub-layer uses the layer norm of the first; it has its own gamma and beta.",
                **instead_of("cross", "self", i)),
    wrong_input("attentions-swapped",
                "The matrices of the two attentions changed places; self.W_* and cross.W_* are different.",
                **{f"{a}.W_{x}": i[f"{b}.W_{x}"] for a, b in (("self", "cross"), ("cross", "self"))
                   for x in "QKVO"}),
    PRE_NORM, RESIDUAL_FORGOTTEN, RELU_FORGOTTEN, SPLIT_BY_RESHAPE,
  ]


def padded_decoder(i):
  return [
    *decoder_anywhere(i), ZERO_SCORES_CROSS, MASKED_AFTER_SOFTMAX_CROSS,
    wrong_input("source-mask-missing",
                "The second attention looks at the padding of the source too; cross_mask hides those keys.",
                cross_mask=np.ones_like(i["cross_mask"])),
    wrong_input("source-mask-turned-round",
                "True and false of cross_mask changed places: only the padding is seen; true means that a "
                "query may look there.",
                cross_mask=~i["cross_mask"]),
  ]


def only_in_cross(change):
  def cross_attention(self, x, layer_input, memory, mask, weights):
    own = type("Own", (type(self),), {"softmax": change})(self.dialect, self.h)
    return Model.attention(own, x, memory, mask, weights)
  return cross_attention


ZERO_SCORES_CROSS = wrong_part(ZERO_SCORES.name, ZERO_SCORES.says,
                               cross_attention=only_in_cross(zero_scores))
MASKED_AFTER_SOFTMAX_CROSS = wrong_part(MASKED_AFTER_SOFTMAX.name, MASKED_AFTER_SOFTMAX.says,
                                        cross_attention=only_in_cross(masked_after_softmax))


def square_decoder(i):
  return [
    *decoder_anywhere(i),
    wrong_input("causal-mask-in-cross-attention",
                "The causal mask was used for the second attention too; the whole source may be seen from "
                "everywhere.",
                cross_mask=i["self_mask"]),
    wrong_part("memory-as-query",
               "The second attention has its sides mixed up: the queries come from memory; they must come from "
               "the decoder, keys and values from memory.",
               cross_attention=lambda self, x, layer_input, memory, mask, weights:
                 self.attention(memory, x, mask, weights)),
    wrong_part("self-from-the-memory",
               "The first attention takes its keys and values from memory; it must attend to the decoder's own "
               "input.",
               decoder_layer=self_from_memory),
    wrong_input("memory-and-x-swapped",
                "x and memory changed places; memory is the result of the encoder, x the input of the decoder.",
                x=i["memory"], memory=i["x"]),
  ]


def self_from_memory(self, x, memory, self_mask, cross_mask, **weights):
  own = type("Own", (type(self),), {
    "decoder_layer": Model.decoder_layer,
    "self_attention": lambda self, x, mask, weights: self.attention(x, memory, mask, weights)})
  return own(self.dialect, self.h).decoder_layer(x, memory, self_mask, cross_mask, **weights)


def decoder_inputs(key, m, n, cross_mask):
  return {"x": drawn(f"08/{key}/x", m, 6, 1.5).round(1), "memory": drawn(f"08/{key}/memory", n, 6, 1.5).round(1),
          "self_mask": np.tril(np.ones((m, m), dtype=bool)), "cross_mask": cross_mask,
          **layer_weights("decoder", f"08/{key}", 6, 10, bias=False)}


main("08-layer", [
  norm_case("layer-norm", "Three tokens of length 4 are normed; the second hardly varies.",
            "gamma (x − mean) / √(variance + epsilon) + beta", "standard", NORM, standard_norm, LAYER_NORM),
  norm_case("layer-norm-annotated", "The same with the deviation over d − 1 and epsilon outside the root.",
            "gamma (x − mean) / (deviation + epsilon) + beta", "annotated", NORM, annotated_norm, ANNOTATED_NORM),
  feed_forward_case("feed-forward", "Three tokens of length 4 go through a network with 6 hidden units.",
                    "max(0, x W_1 + b_1) W_2 + b_2", "relu", FEED, relu_mistakes, FEED_FORWARD),
  feed_forward_case("feed-forward-swish", "The same with swish in place of ReLU.",
                    "swish(x W_1 + b_1) W_2 + b_2", "swish", FEED, swish_mistakes, SWISH),
  encoder_case("encoder-layer", "Five tokens of length 6 go through an encoder layer with two heads.", "paper",
               encoder_inputs("encoder", ALL_SEEN), encoder_mistakes),
  encoder_case("encoder-layer-padded", "The same layer; the last of the five tokens is padding.", "paper",
               encoder_inputs("encoder", LAST_HIDDEN), padded_encoder),
  encoder_case("encoder-layer-annotated", "Pre-norm, as in The Annotated Transformer, with biases everywhere.",
               "annotated", encoder_inputs("annotated", ALL_SEEN, bias=True), annotated_mistakes),
  encoder_case("encoder-layer-fairseq", "Post-norm with biases everywhere and epsilon 1e-5, as in fairseq.",
               "fairseq", encoder_inputs("fairseq", ALL_SEEN, bias=True), fairseq_mistakes),
  decoder_case("decoder-layer", "Four tokens of the target look at themselves and at five of the source.",
               decoder_inputs("decoder", 4, 5, np.ones((4, 5), dtype=bool)), decoder_anywhere),
  decoder_case("decoder-layer-padded", "The same layer; the last token of the source is padding.",
               decoder_inputs("decoder", 4, 5, np.tile([True, True, True, True, False], (4, 1))),
               padded_decoder),
  decoder_case("decoder-layer-square", "Four tokens of the target, four of the source: no shape betrays a "
               "mistake.",
               decoder_inputs("square", 4, 4, np.ones((4, 4), dtype=bool)), square_decoder),
])
