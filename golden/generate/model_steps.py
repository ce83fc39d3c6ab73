"""The Transformer in NumPy, in parts, so that a wrong part can take the place of a right one."""

import math

import numpy as np

from common import wrong_step
from model import KEPT, PAD, START, SUBLAYERS, layers_of, within


class Model:
  """A mistake overrides one method."""

  def __init__(self, dialect, h):
    self.dialect, self.h = dialect, h

  # ---- Parts of a layer

  def norm(self, x, gamma, beta):
    centred = x - x.mean(axis=1, keepdims=True)
    if self.dialect.norm == "standard":
      return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + self.dialect.epsilon) * gamma + beta
    return centred / (x.std(axis=1, ddof=1, keepdims=True) + self.dialect.epsilon) * gamma + beta

  def norm_of(self, name, x, weights):
    return self.norm(x, weights[f"{name}.norm.gamma"], weights[f"{name}.norm.beta"])

  def activation(self, x):
    return np.maximum(x, 0) if self.dialect.activation == "relu" else x / (1 + np.exp(-x))

  def affine(self, x, W, b):
    return x @ W if b is None else x @ W + b

  def scale(self, d_k, d_model):
    return 1 / math.sqrt(d_k)

  def softmax(self, S, mask):
    S = np.where(mask, S, -np.inf)
    greatest = S.max(axis=-1, keepdims=True)
    powers = np.exp(S - np.where(np.isfinite(greatest), greatest, 0))
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)

  def split(self, Y):
    return Y.reshape(len(Y), self.h, -1).transpose(1, 0, 2)

  def merge(self, heads):
    return heads.transpose(1, 0, 2).reshape(heads.shape[1], -1)

  def output_projection(self, concat, W_O, b_O):
    return self.affine(concat, W_O, b_O)

  def attention(self, x, memory, mask, weights):
    def bias(name):
      return weights[name] if self.dialect.attention_bias else None
    Q = self.split(self.affine(x, weights["W_Q"], bias("b_Q")))
    K = self.split(self.affine(memory, weights["W_K"], bias("b_K")))
    V = self.split(self.affine(memory, weights["W_V"], bias("b_V")))
    scores = Q @ K.transpose(0, 2, 1) * self.scale(Q.shape[2], x.shape[1])
    return self.output_projection(self.merge(self.softmax(scores, mask) @ V), weights["W_O"], bias("b_O"))

  def self_attention(self, x, mask, weights):
    return self.attention(x, x, mask, weights)

  def cross_attention(self, x, layer_input, memory, mask, weights):
    return self.attention(x, memory, mask, weights)

  def feed_forward(self, x, weights):
    hidden = self.activation(self.affine(x, weights["W_1"], weights["b_1"]))
    return {"hidden": hidden, "output": self.affine(hidden, weights["W_2"], weights["b_2"])}

  # ---- A layer

  def residual(self, x, normed, output):
    return x + output

  def sublayers(self, kind):
    return SUBLAYERS[kind]

  def sublayer(self, name, x, function, weights):
    """Its tensors, the result last."""
    if self.dialect.order == "post":
      tensors = function(x)
      tensors["sum"] = self.residual(x, x, tensors["output"])
      return {**tensors, "norm": self.norm_of(name, tensors["sum"], weights)}
    normed = self.norm_of(name, x, weights)
    tensors = {"norm": normed, **function(normed)}
    return {**tensors, "sum": self.residual(x, normed, tensors["output"])}

  def layer(self, kind, x, functions, weights):
    tensors = {}
    for name in self.sublayers(kind):
      own = self.sublayer(name, x, functions[name], weights)
      tensors |= {f"{name}.{part}": value for part, value in own.items()}
      x = list(own.values())[-1]
    return {**tensors, "output": x}

  def encoder_layer(self, x, mask, **weights):
    return self.layer("encoder", x, {
      "self": lambda z: {"output": self.self_attention(z, mask, within("self.", weights))},
      "feed_forward": lambda z: self.feed_forward(z, within("feed_forward.", weights)),
    }, weights)

  def decoder_layer(self, x, memory, self_mask, cross_mask, **weights):
    return self.layer("decoder", x, {
      "self": lambda z: {"output": self.self_attention(z, self_mask, within("self.", weights))},
      "cross": lambda z: {"output": self.cross_attention(z, x, memory, cross_mask,
                                                         within("cross.", weights))},
      "feed_forward": lambda z: self.feed_forward(z, within("feed_forward.", weights)),
    }, weights)

  # ---- The model

  def positions(self, kind, rows, d_model):
    position = np.arange(self.dialect.first_position, self.dialect.first_position + rows)[:, None]
    if self.dialect.positions == "halves_t2t":
      half = d_model // 2
      angles = position * 10000.0 ** (-np.arange(half) / max(half - 1, 1))
      return np.hstack([np.sin(angles), np.cos(angles), np.zeros((rows, d_model % 2))])
    sines = position * 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    cosines = sines[:, :d_model // 2]
    if self.dialect.positions == "halves":
      return np.hstack([np.sin(sines), np.cos(cosines)])
    table = np.empty((rows, d_model))
    table[:, 0::2], table[:, 1::2] = np.sin(sines), np.cos(cosines)
    return table

  def embed(self, tokens, embedding):
    return embedding[tokens] * embedding.dtype.type(math.sqrt(embedding.shape[1]))

  def with_positions(self, embedded, positions):
    return embedded + positions

  def start(self):
    return START[self.dialect.decoder_start]

  def shifted(self, target):
    """The decoder's input; the zero vector stands at first as a token of its own, -1."""
    start = self.start()
    return np.concatenate([[-1 if start is None else start], target[:-1]])

  def causal_mask(self, n):
    return np.tril(np.ones((n, n), dtype=bool))

  def encoder_mask(self, source, n):
    return np.tile(source != PAD, (n, 1))

  def cross_mask(self, source, n):
    return np.tile(source != PAD, (n, 1))

  def weights_of_layers(self, kind, weights):
    return layers_of(kind, weights)

  def memory_of(self, layer_outputs, normed):
    return normed

  def logits(self, states, embedding, bias):
    return self.affine(states, embedding.T, bias)

  def transformer(self, source, target, **weights):
    source, tokens, tensors = source[0], self.shifted(target[0]), {}
    embedding = weights["embedding"]

    def stack(kind, tokens, one_layer):
      rows = self.embed(np.maximum(tokens, 0), embedding) * (tokens[:, None] >= 0)
      positions = self.positions(kind, len(tokens), embedding.shape[1]).astype(embedding.dtype)
      x = self.with_positions(rows, positions)
      tensors.update({f"{kind}.embedding": rows, f"{kind}.positions": positions, f"{kind}.input": x})
      outputs = []
      for i, own in enumerate(self.weights_of_layers(kind, weights)):
        inner = one_layer(x, own)
        tensors.update({f"{kind}.{i}.{name}": inner[name] for name in KEPT[kind]})
        x = inner["output"]
        outputs.append(x)
      normed = self.norm_of(kind, x, weights) if self.dialect.final_norm else x
      tensors[f"{kind}.norm"] = normed
      return outputs, normed

    encoder_mask, cross_mask = self.encoder_mask(source, len(source)), self.cross_mask(source, len(tokens))
    memory = self.memory_of(*stack("encoder", source, lambda x, own: self.encoder_layer(
      x, encoder_mask, **own)))
    self_mask = self.causal_mask(len(tokens)) & (tokens != PAD)
    _, states = stack("decoder", tokens, lambda x, own: self.decoder_layer(
      x, memory, self_mask, cross_mask, **own))
    bias = weights["projection.b"] if self.dialect.output_bias else None
    return {**tensors, "encoder.memory": memory, "decoder.states": states, "decoder.logits": self.logits(states, embedding, bias)}


def wrong_part(name, says, **methods):
  return wrong_step(name, says, model=type("Wrong", (Model,), methods))


def wrong_dialect(name, says, dialect):
  return wrong_step(name, says, dialect=dialect)
