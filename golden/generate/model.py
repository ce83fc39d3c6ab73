"""Dialects of the Transformer, and the truth of its layers: loops over single numbers, straight from the
formulas."""

import hashlib
import math
from dataclasses import dataclass

import numpy as np

from common import product

PAD, BOS, EOS = 0, 1, 2
START = {"bos": BOS, "eos": EOS, "zero_vector": None}


@dataclass(frozen=True)
class Dialect:
  """What well-known implementations do differently. Their embeddings are scaled by √d_model, their last
  matrix is the embedding (not scaled), and their feed-forward networks have biases."""
  positions: str = "interleaved"
  first_position: int = 0
  order: str = "post"
  final_norm: bool = False
  norm: str = "standard"
  epsilon: float = 1e-6
  attention_bias: bool = False
  output_bias: bool = False
  activation: str = "relu"
  decoder_start: str = "bos"


DIALECTS = {
  "paper": Dialect(),
  "tensor2tensor": Dialect(positions="halves_t2t", decoder_start="zero_vector"),
  "annotated": Dialect(order="pre", final_norm=True, norm="annotated", attention_bias=True,
                       output_bias=True),
  "marian": Dialect(positions="halves_t2t", attention_bias=True, output_bias=True,
                    decoder_start="zero_vector"),
  "fairseq": Dialect(positions="halves_t2t", first_position=2, epsilon=1e-5, attention_bias=True,
                     decoder_start="eos"),
  "huggingface": Dialect(positions="halves", epsilon=1e-5, attention_bias=True, output_bias=True,
                         activation="swish", decoder_start="zero_vector"),
}

SUBLAYERS = {"encoder": ["self", "feed_forward"], "decoder": ["self", "cross", "feed_forward"]}
KEPT = {"encoder": ["self.norm", "feed_forward.norm", "output"],
        "decoder": ["self.norm", "cross.norm", "feed_forward.norm", "output"]}

# ---- Weights -----------------------------------------------------------------------------------------------


def drawn(key, rows, columns, size, around=0):
  """Numbers with two decimals within around ± size, without pattern, the same for ever and everywhere."""
  def number(i, j):
    digest = hashlib.sha256(f"{key}/{i}/{j}".encode()).digest()
    return round(around + size * (int.from_bytes(digest[:4], "little") / 2**31 - 1), 2) + 0.0
  return np.array([[number(i, j) for j in range(columns)] for i in range(rows)])


def norm_weights(name, key, d_model):
  return {f"{name}.gamma": drawn(f"{key}/{name}.gamma", 1, d_model, 0.5, around=1),
          f"{name}.beta": drawn(f"{key}/{name}.beta", 1, d_model, 0.5)}


def layer_weights(kind, key, d_model, d_ff, bias):
  """The weights of one encoder or decoder layer, by name, in the order in which cases list them."""
  weights = {}
  for name in SUBLAYERS[kind]:
    if name == "feed_forward":
      weights |= {
        f"{name}.W_1": drawn(f"{key}/{name}.W_1", d_model, d_ff, 0.9),
        f"{name}.b_1": drawn(f"{key}/{name}.b_1", 1, d_ff, 0.6),
        f"{name}.W_2": drawn(f"{key}/{name}.W_2", d_ff, d_model, 0.6),
        f"{name}.b_2": drawn(f"{key}/{name}.b_2", 1, d_model, 0.6),
      }
    else:
      weights |= {f"{name}.W_{x}": drawn(f"{key}/{name}.W_{x}", d_model, d_model, 0.8) for x in "QKVO"}
      if bias:
        weights |= {f"{name}.b_{x}": drawn(f"{key}/{name}.b_{x}", 1, d_model, 0.6) for x in "QKVO"}
    weights |= norm_weights(f"{name}.norm", key, d_model)
  return weights


def within(prefix, weights):
  """The weights whose names begin with prefix, without it."""
  return {name[len(prefix):]: value for name, value in weights.items() if name.startswith(prefix)}


def layers_of(kind, weights):
  return [within(f"{kind}.{i}.", weights) for i in range(sum(f"{kind}.{i}.self.W_Q" in weights
                                                             for i in range(100)))]

# ---- What each tensor is -----------------------------------------------------------------------------------


def layer_meanings(kind, dialect):
  """{tensor: meaning} of one layer, in the order in which the tensors are computed."""
  meanings, before = {}, "x"
  says = {
    "self": "multi-head attention of {0} to itself, after W_O",
    "cross": "multi-head attention of {0} to memory, after W_O",
    "feed_forward": "feed_forward.hidden W_2 + b_2",
  }
  for name in SUBLAYERS[kind]:
    post = dialect.order == "post"
    seen = before if post else f"{name}.norm"
    normed = {f"{name}.norm": f"layer norm of {f'{name}.sum' if post else before}"}
    meanings |= {} if post else normed
    if name == "feed_forward":
      meanings[f"{name}.hidden"] = f"{dialect.activation}({seen} W_1 + b_1)"
    meanings[f"{name}.output"] = says[name].format(seen)
    meanings[f"{name}.sum"] = f"{before} + {name}.output"
    meanings |= normed if post else {}
    before = f"{name}.norm" if post else f"{name}.sum"
  return {**meanings, "output": f"{before}, the result of the layer"}


def model_meanings(dialect, layers):
  meanings = {}
  for kind, tokens in ("encoder", "source"), ("decoder", "target, shifted right"):
    meanings |= {
      f"{kind}.embedding": f"the rows of embedding for the {tokens}, times √d_model",
      f"{kind}.positions": "the position encodings",
      f"{kind}.input": f"{kind}.embedding + {kind}.positions",
    }
    for i in range(layers):
      inner = layer_meanings(kind, dialect)
      before = f"{kind}.{i - 1}.output" if i else f"{kind}.input"
      for name in KEPT[kind]:
        means = inner[name].replace("of x", f"of {before}")
        meanings[f"{kind}.{i}.{name}"] = f"layer {i}: {means}"
    last = f"{kind}.{layers - 1}.output"
    if dialect.final_norm:
      meanings[f"{kind}.norm"] = f"layer norm of {last}"
      last = f"{kind}.norm"
    result = "encoder.memory" if kind == "encoder" else "decoder.states"
    meanings[result] = f"{last}, the result of the {kind}"
  meanings["decoder.logits"] = "states embeddingᵀ" + (" + projection.b" if dialect.output_bias else "")
  return meanings

# ---- The truth ---------------------------------------------------------------------------------------------


def plus(A, B):
  """A + B; a single row is added to every row."""
  return np.array([[a + b for a, b in zip(row, B[i if len(B) > 1 else 0])] for i, row in enumerate(A)])


def affine(x, W, b=None):
  return product(x, W) if b is None else plus(product(x, W), b)


def layer_norm(x, gamma, beta, norm, epsilon):
  result = []
  for row in x:
    mean = math.fsum(row) / len(row)
    squares = math.fsum((value - mean) ** 2 for value in row)
    if norm == "standard":
      divisor = math.sqrt(squares / len(row) + epsilon)
    else:
      divisor = math.sqrt(squares / (len(row) - 1)) + epsilon
    result.append([g * (value - mean) / divisor + b for value, g, b in zip(row, gamma[0], beta[0])])
  return np.array(result)


def activated(x, activation):
  one = {"relu": lambda v: max(v, 0.0), "swish": lambda v: v / (1 + math.exp(-v))}[activation]
  return np.array([[one(value) for value in row] for row in x])


def feed_forward(x, W_1, b_1, W_2, b_2, activation):
  hidden = activated(affine(x, W_1, b_1), activation)
  return {"hidden": hidden, "output": affine(hidden, W_2, b_2)}


def masked_softmax(S, mask):
  weights = []
  for row, allowed in zip(S, mask):
    seen = [s for s, may in zip(row, allowed) if may]
    powers = [math.exp(s - max(seen)) if may else 0.0 for s, may in zip(row, allowed)]
    weights.append([p / math.fsum(powers) if seen else 0.0 for p in powers])
  return np.array(weights)


def multi_head(x, memory, mask, h, W_Q, W_K, W_V, W_O, b_Q=None, b_K=None, b_V=None, b_O=None):
  Q, K, V = affine(x, W_Q, b_Q), affine(memory, W_K, b_K), affine(memory, W_V, b_V)
  d_k, d_v = Q.shape[1] // h, V.shape[1] // h
  heads = []
  for i in range(h):
    own = slice(i * d_k, (i + 1) * d_k)
    scores = product(Q[:, own], K[:, own].T)
    scaled = np.array([[score / math.sqrt(d_k) for score in row] for row in scores])
    heads.append(product(masked_softmax(scaled, mask), V[:, i * d_v:(i + 1) * d_v]))
  concat = np.array([[value for head in heads for value in head[row]] for row in range(len(x))])
  return affine(concat, W_O, b_O)


def layer(kind, x, functions, weights, dialect):
  """Post-norm: LN(x + F(x)); pre-norm: x + F(LN(x)); for one sub-layer after the other."""
  tensors = {}
  for name in SUBLAYERS[kind]:
    def norm(value):
      return layer_norm(value, weights[f"{name}.norm.gamma"], weights[f"{name}.norm.beta"], dialect.norm,
                        dialect.epsilon)
    seen = x
    if dialect.order == "pre":
      seen = tensors[f"{name}.norm"] = norm(x)
    tensors |= {f"{name}.{part}": value for part, value in functions[name](seen).items()}
    x = tensors[f"{name}.sum"] = plus(x, tensors[f"{name}.output"])
    if dialect.order == "post":
      x = tensors[f"{name}.norm"] = norm(x)
  return {**tensors, "output": x}


def encoder_layer(x, mask, h, dialect, **weights):
  return layer("encoder", x, {
    "self": lambda z: {"output": multi_head(z, z, mask, h, **attention_weights("self", weights))},
    "feed_forward": lambda z: feed_forward(z, **feed_forward_weights(weights), activation=dialect.activation),
  }, weights, dialect)


def decoder_layer(x, memory, self_mask, cross_mask, h, dialect, **weights):
  return layer("decoder", x, {
    "self": lambda z: {"output": multi_head(z, z, self_mask, h, **attention_weights("self", weights))},
    "cross": lambda z: {"output": multi_head(z, memory, cross_mask, h,
                                             **attention_weights("cross", weights))},
    "feed_forward": lambda z: feed_forward(z, **feed_forward_weights(weights), activation=dialect.activation),
  }, weights, dialect)


def attention_weights(name, weights):
  return {key: value for key, value in within(f"{name}.", weights).items() if "norm" not in key}


def feed_forward_weights(weights):
  return attention_weights("feed_forward", weights)


def position(row, channel, d_model, form):
  """The entry of the position encodings for a position and a channel."""
  if form == "interleaved":
    i, turn = channel // 2, math.cos if channel % 2 else math.sin
    return turn(row * 10000 ** (-2 * i / d_model))
  if form == "halves":
    sines = (d_model + 1) // 2
    i, turn = (channel, math.sin) if channel < sines else (channel - sines, math.cos)
    return turn(row * 10000 ** (-2 * i / d_model))
  half = d_model // 2
  if channel >= 2 * half:
    return 0.0
  i, turn = (channel, math.sin) if channel < half else (channel - half, math.cos)
  return turn(row * 10000 ** (-i / max(half - 1, 1)))


def positions(rows, d_model, dialect):
  return np.array([[position(dialect.first_position + row, channel, d_model, dialect.positions)
                    for channel in range(d_model)] for row in range(rows)])


def embedded(tokens, embedding):
  """The rows for the tokens, times √d_model; zeros for None."""
  d_model = embedding.shape[1]
  return np.array([[0.0 if token is None else embedding[token][channel] * math.sqrt(d_model)
                    for channel in range(d_model)] for token in tokens])


def transformer(source, target, h, dialect, **weights):
  embedding, tensors = weights["embedding"], {}
  source, target = source[0].tolist(), target[0].tolist()
  shifted = [START[dialect.decoder_start], *target[:-1]]
  may_see_source = [token != PAD for token in source]

  def stack(kind, result, tokens, one_layer):
    tensors[f"{kind}.embedding"] = embedded(tokens, embedding)
    tensors[f"{kind}.positions"] = positions(len(tokens), embedding.shape[1], dialect)
    x = tensors[f"{kind}.input"] = plus(tensors[f"{kind}.embedding"], tensors[f"{kind}.positions"])
    for i, own in enumerate(layers_of(kind, weights)):
      inner = one_layer(x, own)
      for name in KEPT[kind]:
        tensors[f"{kind}.{i}.{name}"] = inner[name]
      x = inner["output"]
    if dialect.final_norm:
      x = tensors[f"{kind}.norm"] = layer_norm(
        x, weights[f"{kind}.norm.gamma"], weights[f"{kind}.norm.beta"], dialect.norm, dialect.epsilon)
    tensors[result] = x
    return x

  memory = stack("encoder", "encoder.memory", source, lambda x, own: encoder_layer(
    x, [may_see_source for _ in source], h, dialect, **own))
  causal = [[j <= i and token != PAD for j, token in enumerate(shifted)] for i in range(len(shifted))]
  states = stack("decoder", "decoder.states", shifted, lambda x, own: decoder_layer(
    x, memory, causal, [may_see_source for _ in shifted], h, dialect, **own))
  bias = weights["projection.b"] if dialect.output_bias else None
  return {**tensors, "decoder.logits": affine(states, embedding.T, bias)}
