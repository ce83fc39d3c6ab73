"""Golden cases of chapter 6: queries from one sequence, keys and values from another."""

import math

import numpy as np

from common import (AXIS_DROPPED, FEATURES_BY_FEATURES, KEYS_RESHAPED, MISSING_TRANSPOSE, SOFTMAX_MISTAKES,
                    SUM_OVER_QUERIES, attend, main, make_case, matrices, product, softmax,
                    weights_column_by_column, wrong_input, wrong_step)
from heads import torch_attention, true_attention

FORMULA = "softmax(Q Kᵀ / √d_k) V, Q = x W_Q, K = memory W_K, V = memory W_V"
SOURCE = "Vaswani et al. 2017, section 3.2.3, first point, and section 3.2.1, equation (1)"

MEANINGS = {
  "Q": "x W_Q, the queries",
  "K": "memory W_K, the keys",
  "V": "memory W_V, the values",
  "scores": "Q Kᵀ",
  "scaled_scores": "scores / √d_k",
  "weights": "softmax of each row of the scaled scores",
  "output": "weights V, one row for each row of x",
}


def truth(x, memory, W_Q, W_K, W_V):
  projected = {"Q": product(x, W_Q), "K": product(memory, W_K), "V": product(memory, W_V)}
  return {**projected, **true_attention(**projected)}


def by_torch(x, memory, W_Q, W_K, W_V):
  projected = {"Q": x @ W_Q, "K": memory @ W_K, "V": memory @ W_V}
  return {**projected, **torch_attention(**projected)}


def values_from_memory(x, memory):
  return memory


def steps(x, memory, W_Q, W_K, W_V, values_from=values_from_memory, **replaced):
  projected = {"Q": x @ W_Q, "K": memory @ W_K, "V": values_from(x, memory) @ W_V}
  return {**projected, **attend(**projected, **{"scale": 1 / math.sqrt(W_K.shape[1]), **replaced})}


def wrong_root(of, what, value):
  return wrong_step(
    f"scaled-by-root-{of}",
    f"The scores are divided by √{value} ({what}); divide them by √d_k, the length of a query and of a key.",
    scale=1 / math.sqrt(value))


def anywhere(d_k, alike):
  """The mistakes that fit every shape."""
  return [
    *SOFTMAX_MISTAKES,
    wrong_step("not-scaled", "The scores are not scaled; divide them by √d_k before the softmax.", scale=1),
    wrong_step("divided-by-d_k", f"The scores are divided by d_k (or {alike}); divide once, by √d_k.",
               scale=1 / d_k),
  ]


def distinct(i):
  return [
    *anywhere(2, "by √N, which is 2 as well"), KEYS_RESHAPED, weights_column_by_column(i),
    wrong_root("D_x", "D_x, the length of a row of x", 5),
    wrong_root("d_v", "d_v, the length of a value", 6),
    wrong_root("D_memory", "D_memory, the length of a row of memory", 7),
  ]


def square(i):
  return [
    *anywhere(4, "twice by its root"), AXIS_DROPPED, MISSING_TRANSPOSE, FEATURES_BY_FEATURES, SUM_OVER_QUERIES,
    wrong_input("queries-from-the-memory",
                "x and memory changed places; the queries come from x, and keys and values from the memory.",
                x=i["memory"], memory=i["x"]),
    wrong_input("keys-and-values-from-x",
                "Keys and values come from x, so that x looks at itself (self-attention); they come from the "
                "memory.",
                memory=i["x"]),
    wrong_step("values-from-x",
               "The values are x W_V; they come from where the keys come from, so that they are memory W_V.",
               values_from=lambda x, memory: x),
    wrong_step("weights-of-the-other-direction",
               "The values of the memory are mixed by softmax(K Qᵀ), the weights with which the memory would look "
               "at x; x looks at the memory by softmax(Q Kᵀ).",
               softmax=lambda S: softmax(S.T)),
    wrong_input("queries-and-keys-swapped",
                "W_Q and W_K changed places; x goes through W_Q, and the memory through W_K.",
                W_Q=i["W_K"], W_K=i["W_Q"]),
    wrong_input("keys-and-values-swapped",
                "W_K and W_V changed places; the scores need the keys and the weighted sum needs the values.",
                W_K=i["W_V"], W_V=i["W_K"]),
    wrong_input("weights-transposed",
                "W_Q, W_K and W_V were taken for [out, in], as PyTorch's Linear stores them; here they are "
                "[in, out] and Q = x W_Q.",
                **{name: i[name].T for name in ("W_Q", "W_K", "W_V")}),
    wrong_input("memory-not-projected",
                "Keys and values are the memory itself; they must be memory W_K and memory W_V.",
                W_K=np.eye(4), W_V=np.eye(4)),
    wrong_input("values-not-projected", "The values are the memory itself; they must be memory W_V.",
                W_V=np.eye(4)),
  ]


def case(name, title, inputs, mistakes):
  return make_case(f"06-cross-attention/{name}", 6, title, FORMULA, "cross_attention", inputs, MEANINGS, truth,
                   steps, by_torch, mistakes(inputs), reference=SOURCE)


DISTINCT = matrices(
  x=[[-0.5, -0.8, 0.8, -0.9, -1.4], [0.5, 0.7, -0.8, -0.5, 1.6], [-0.8, -0.4, 0.9, 0.6, 1.3]],
  memory=[[0.7, -0.3, 0.1, -0.4, 0.6, 0.4, -1.0],
          [0.4, -0.7, 0.1, -0.3, 0.2, -1.6, 0.4],
          [-1.1, 0.9, -0.9, -0.4, -0.6, 0.2, 0.8],
          [0.2, 0.0, 0.1, -0.1, 0.0, -0.6, -0.1]],
  W_Q=[[0.9, 0.7], [-1.0, -0.1], [0.1, -0.3], [-0.4, 0.0], [0.6, 0.7]],
  W_K=[[0.0, 0.5], [0.0, 0.2], [-0.1, -0.9], [-0.4, 0.2], [0.7, 0.2], [1.3, 0.6], [0.0, -0.3]],
  W_V=[[1.2, -0.1, -0.6, 0.2, -0.3, 0.3],
       [-0.8, 0.5, 0.5, -0.2, -0.5, 0.1],
       [0.6, -0.3, -0.1, 0.6, 0.3, -0.1],
       [0.2, 0.1, -0.2, -0.1, -1.3, 0.1],
       [0.4, 0.3, -0.2, 0.8, 0.7, -0.4],
       [0.0, -0.2, -0.4, 0.5, 0.5, -0.3],
       [-0.1, 0.2, -0.1, 0.5, 0.2, 0.2]])

SQUARE = matrices(
  x=[[-0.8, -1.2, -0.4, -0.3], [-0.7, -0.2, -0.2, -1.6], [-1.0, -0.2, -0.8, -0.3], [1.1, -0.8, -0.1, 0.4]],
  memory=[[-0.3, -0.1, 0.4, -0.6], [1.6, 0.2, 0.6, 0.4], [-1.2, 0.5, -0.4, 0.8], [0.4, 0.4, -0.6, -0.5]],
  W_Q=[[-0.2, 0.1, 0.1, 0.8], [-0.2, 0.2, 0.9, -0.2], [1.3, 0.0, 0.3, -0.3], [0.5, 0.5, 0.3, -1.0]],
  W_K=[[0.1, -0.5, -0.2, -1.3], [-0.4, 0.3, 0.0, 0.2], [0.8, 0.9, 0.5, 0.6], [0.7, -0.7, -1.3, -0.6]],
  W_V=[[0.4, 0.7, -0.9, 0.7], [1.0, -0.5, -0.3, -0.2], [0.3, -0.1, -0.2, -0.6], [-1.1, 0.3, -0.3, -0.5]])

main("06-cross-attention", [
  case("distinct", "Three vectors of length 5 look at four of length 7: d_k is 2, d_v is 6.", DISTINCT, distinct),
  case("square", "Everything is 4 by 4: no shape betrays a mistake.", SQUARE, square),
])
