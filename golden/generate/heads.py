"""What chapters 4 and 5 share: attention in one or several heads, with a mask or without.

The truth in plain loops, the same in NumPy with steps that can be replaced, and the same in PyTorch."""

import math

import numpy as np
import torch

from common import difference, product, require

# ---- Names -------------------------------------------------------------------------------------------------

ATTENTION = ["scores", "scaled_scores", "masked_scores", "weights", "output"]
MASKED = "scaled_scores where the mask is true, -inf elsewhere"


def without(tensors, name):
  return {key: value for key, value in tensors.items() if key != name}


def meanings(h, d_k, d_v, masked=False, biased=False):
  """What each tensor of multi-head attention is."""
  def projection(name, what):
    return f"X W_{name}{f' + b_{name}' if biased else ''}, the {what} of all heads side by side"
  means = {"Q": projection("Q", "queries"), "K": projection("K", "keys"), "V": projection("V", "values")}
  for i in range(h):
    means |= {
      f"head.{i}.scores": f"columns {i * d_k} to {(i + 1) * d_k - 1} of Q times the same columns of K, transposed",
      f"head.{i}.scaled_scores": "scores / √d_k",
      f"head.{i}.masked_scores": MASKED,
      f"head.{i}.weights": f"softmax of each row of the {'masked' if masked else 'scaled'} scores",
      f"head.{i}.output": f"weights times columns {i * d_v} to {(i + 1) * d_v - 1} of V",
    }
  return means | {"concat": "the outputs of the heads side by side",
                  "output": f"concat W_O{' + b_O' if biased else ''}"}

# ---- The truth: loops over single numbers ------------------------------------------------------------------


def allowed_softmax(row, may_look):
  """e^(s - max) / sum over the allowed scores of a row; the others, and a row with nothing left, get 0."""
  allowed = [score for score, may in zip(row, may_look) if may]
  powers = [math.exp(score - max(allowed)) if may else 0.0 for score, may in zip(row, may_look)]
  return [power / math.fsum(powers) for power in powers] if allowed else powers


def true_attention(Q, K, V, mask=None):
  scores = product(Q, K.T)
  scaled_scores = np.array([[score / math.sqrt(Q.shape[1]) for score in row] for row in scores])
  may = np.ones(scores.shape, dtype=bool) if mask is None else mask
  masked_scores = np.array([[score if allowed else -math.inf for score, allowed in zip(*rows)]
                            for rows in zip(scaled_scores, may)])
  weights = np.array([allowed_softmax(*rows) for rows in zip(scaled_scores, may)])
  tensors = dict(zip(ATTENTION, (scores, scaled_scores, masked_scores, weights, product(weights, V))))
  return without(tensors, "masked_scores") if mask is None else tensors


def affine(A, W, b=None):
  """A W + b, entry by entry."""
  return product(A, W) if b is None else product(np.column_stack([A, np.ones(len(A))]), np.vstack([W, b]))


def true_heads(h):
  def of(X, W_Q, W_K, W_V, W_O, b_Q=None, b_K=None, b_V=None, b_O=None, mask=None):
    Q, K, V = affine(X, W_Q, b_Q), affine(X, W_K, b_K), affine(X, W_V, b_V)
    d_k, d_v = Q.shape[1] // h, V.shape[1] // h
    tensors = {"Q": Q, "K": K, "V": V}
    for i in range(h):
      head = true_attention(Q[:, i * d_k:(i + 1) * d_k], K[:, i * d_k:(i + 1) * d_k],
                            V[:, i * d_v:(i + 1) * d_v], mask)
      tensors |= {f"head.{i}.{name}": tensor for name, tensor in head.items()}
    concat = np.array([[number for i in range(h) for number in tensors[f"head.{i}.output"][row]]
                       for row in range(len(X))])
    return {**tensors, "concat": concat, "output": affine(concat, W_O, b_O)}
  return of

# ---- The same in NumPy: one head is a matrix, several are a stack of matrices (h, n, d) --------------------


def transposed(A):
  return A.swapaxes(-1, -2)


def softmax(S):
  """Along each row; -inf gets 0, and so does a whole row of -inf."""
  top = S.max(axis=-1, keepdims=True)
  powers = np.exp(S - np.where(np.isfinite(top), top, 0))
  total = powers.sum(axis=-1, keepdims=True)
  return powers / np.where(total == 0, 1, total)


def keys_transposed(Q, K):
  return Q @ transposed(K)


def hide(S, mask):
  return np.where(mask, S, -np.inf)


def of_masked(masked_scores, scaled_scores, mask):
  return softmax(masked_scores)


def weighted_sum(A, V):
  return A @ V


def attend(Q, K, V, mask=None, score=keys_transposed, scale=None, hide=hide, weigh=of_masked, mix=weighted_sum):
  """Attention; every step can be replaced. Without a mask there are no masked scores."""
  scores = score(Q, K)
  scaled_scores = scores * Q.dtype.type(1 / math.sqrt(Q.shape[-1]) if scale is None else scale)
  masked_scores = scaled_scores if mask is None else hide(scaled_scores, mask)
  weights = weigh(masked_scores, scaled_scores, mask)
  tensors = dict(zip(ATTENTION, (scores, scaled_scores, masked_scores, weights, mix(weights, V))))
  return without(tensors, "masked_scores") if mask is None else tensors


def split(A, h):
  """Head i takes the i-th block of columns."""
  return A.reshape(len(A), h, -1).swapaxes(0, 1)


def side_by_side(heads):
  return np.concatenate(list(heads), axis=1)


def matmul(A, B):
  return A @ B


def heads_in_steps(h):
  def of(X, W_Q, W_K, W_V, W_O, b_Q=0, b_K=0, b_V=0, b_O=0, mask=None, split=split, merge=side_by_side,
         project_out=matmul, **replaced):
    Q, K, V = X @ W_Q + b_Q, X @ W_K + b_K, X @ W_V + b_V
    heads = attend(split(Q, h), split(K, h), split(V, h), mask, **replaced)
    concat = merge(heads["output"])
    return {
      "Q": Q, "K": K, "V": V,
      **{f"head.{i}.{name}": stack[i] for i in range(h) for name, stack in heads.items()},
      "concat": concat, "output": project_out(concat, W_O) + b_O,
    }
  return of

# ---- The same in PyTorch -----------------------------------------------------------------------------------


def torch_attention(Q, K, V, mask=None):
  scores = Q @ K.mT
  scaled_scores = scores / math.sqrt(Q.shape[-1])
  masked_scores = scaled_scores if mask is None else scaled_scores.masked_fill(~mask, -math.inf)
  weights = masked_scores.softmax(dim=-1)
  if mask is not None:
    weights = torch.where(mask.any(dim=-1, keepdim=True), weights, torch.zeros_like(weights))
  tensors = dict(zip(ATTENTION, (scores, scaled_scores, masked_scores, weights, weights @ V)))
  return without(tensors, "masked_scores") if mask is None else tensors


def torch_heads(h):
  def of(X, W_Q, W_K, W_V, W_O, b_Q=0, b_K=0, b_V=0, b_O=0, mask=None):
    Q, K, V = X @ W_Q + b_Q, X @ W_K + b_K, X @ W_V + b_V
    heads = torch_attention(*(A.unflatten(1, (h, -1)).transpose(0, 1) for A in (Q, K, V)), mask)
    concat = heads["output"].transpose(0, 1).flatten(1)
    return {
      "Q": Q, "K": K, "V": V,
      **{f"head.{i}.{name}": stack[i] for i in range(h) for name, stack in heads.items()},
      "concat": concat, "output": concat @ W_O + b_O,
    }
  return of


def require_torch_module(case):
  """Stops if torch.nn.MultiheadAttention differs from the case; it needs h d_k = h d_v = d_model."""
  i, h = case.inputs, case.settings["h"]
  module = torch.nn.MultiheadAttention(i["X"].shape[1], h, bias="b_Q" in i, dtype=torch.float64)
  own = {"in_proj_weight": np.vstack([i[f"W_{name}"].T for name in "QKV"]), "out_proj.weight": i["W_O"].T}
  if "b_Q" in i:
    own |= {"in_proj_bias": np.hstack([i[f"b_{name}"][0] for name in "QKV"]), "out_proj.bias": i["b_O"][0]}
  module.load_state_dict({name: torch.tensor(value) for name, value in own.items()})
  X, hidden = torch.tensor(i["X"]), torch.tensor(~i["mask"]) if "mask" in i else None
  with torch.no_grad():
    output, weights = module(X, X, X, attn_mask=hidden, average_attn_weights=False)
  pairs = [(output.numpy(), "output")] + [(weights[head].numpy(), f"head.{head}.weights") for head in range(h)]
  worst = max(difference(case.outputs[name][0], tensor) for tensor, name in pairs)
  require(worst < case.tolerance["float64"] / 4, case.name, f"torch.nn.MultiheadAttention differs: {worst:.1e}")
  case.source["cross_check"] += f"; torch.nn.MultiheadAttention, {worst:.1e}"
  return case
