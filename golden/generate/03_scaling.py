"""Golden cases of chapter 3: softmax(Q Kᵀ / √d_k) V."""

import math

import numpy as np

from common import (AXIS_DROPPED, FEATURES_BY_FEATURES, KEYS_RESHAPED, MISSING_TRANSPOSE, SOFTMAX_MISTAKES,
                    SUM_OVER_QUERIES, attend, main, make_case, matrices, product, queries_and_keys_swapped,
                    row_softmax, softmax, weights_column_by_column, wrong_input, wrong_step)

MEANINGS = {
  "Q": "X W_Q, the queries",
  "K": "X W_K, the keys",
  "V": "X W_V, the values",
  "scores": "Q Kᵀ",
  "scaled_scores": "scores / √d_k",
  "weights": "softmax of each row of the scaled scores",
  "output": "weights V",
}


def truth(Q, K, V):
  scores = product(Q, K.T)
  scaled_scores = np.array([[score / math.sqrt(Q.shape[1]) for score in row] for row in scores])
  weights = row_softmax(scaled_scores)
  return {"scores": scores, "scaled_scores": scaled_scores, "weights": weights, "output": product(weights, V)}


def by_torch(Q, K, V):
  scores = Q @ K.T
  scaled_scores = scores / math.sqrt(Q.shape[1])
  weights = scaled_scores.softmax(dim=1)
  return {"scores": scores, "scaled_scores": scaled_scores, "weights": weights, "output": weights @ V}


def steps(Q, K, V, **replaced):
  return attend(Q, K, V, **{"scale": 1 / math.sqrt(Q.shape[1]), **replaced})


def with_projections(attention, multiply):
  """The same from X: first Q, K and V, then attention."""
  def self_attention(X, W_Q, W_K, W_V, **replaced):
    projected = {"Q": multiply(X, W_Q), "K": multiply(X, W_K), "V": multiply(X, W_V)}
    return {**projected, **attention(**projected, **replaced)}
  return self_attention


def matmul(A, B):
  return A @ B


def wrong_root(of, what, value):
  return wrong_step(
    f"scaled-by-root-{of}",
    f"The scores are divided by √{of} ({what}); divide them by √d_k, the length of a query and of a key.",
    scale=1 / math.sqrt(value))


def anywhere(d_k):
  """The mistakes that fit every shape."""
  return [
    *SOFTMAX_MISTAKES,
    wrong_step("not-scaled", "The scores are not scaled; divide them by √d_k before the softmax.", scale=1),
    wrong_step("divided-by-d_k",
               "The scores are divided by d_k (or twice by its root); divide once, by √d_k.",
               scale=1 / d_k),
    wrong_step("multiplied-by-root-d_k", "The scores are multiplied by √d_k; divide them by it.",
               scale=math.sqrt(d_k)),
    wrong_step("scaled-after-softmax",
               "The weights are divided by √d_k, so that each row sums to 1/√d_k; scale the scores, before "
               "the softmax.",
               softmax=lambda S: softmax(S * math.sqrt(d_k)) / math.sqrt(d_k)),
  ]


def distinct():
  return [
    *anywhere(d_k=4), KEYS_RESHAPED,
    wrong_root("d_v", "the length of a value", 6),
    wrong_root("n_k", "the number of keys", 5),
  ]


def square(i):
  return [
    *anywhere(d_k=4), AXIS_DROPPED, MISSING_TRANSPOSE, FEATURES_BY_FEATURES, SUM_OVER_QUERIES,
    wrong_input("queries-and-keys-swapped",
                "Q and K changed places, so that the scores are K Qᵀ; row i must belong to query i.",
                Q=i["K"], K=i["Q"]),
    wrong_input("keys-and-values-swapped",
                "K and V changed places; the scores need the keys and the weighted sum needs the values.",
                K=i["V"], V=i["K"]),
  ]


def from_x(i):
  return [
    *anywhere(d_k=4), KEYS_RESHAPED, SUM_OVER_QUERIES,
    queries_and_keys_swapped(i),
    weights_column_by_column(i),
    wrong_root("d_model", "the length of a row of X", 8),
    wrong_root("d_v", "the length of a value", 6),
    wrong_root("n", "the number of rows", 5),
  ]


def attention_case(name, title, inputs, mistakes):
  return make_case(f"03-scaling/{name}", 3, title, "softmax(Q Kᵀ / √d_k) V", "attention", inputs, MEANINGS,
                   truth, steps, by_torch, mistakes)


def self_case(name, title, inputs, mistakes):
  return make_case(f"03-scaling/{name}", 3, title, "softmax(Q Kᵀ / √d_k) V, Q = X W_Q, K = X W_K, V = X W_V",
                   "self_attention", inputs, MEANINGS, with_projections(truth, product),
                   with_projections(steps, matmul), with_projections(by_torch, matmul), mistakes)


DISTINCT = matrices(
  Q=[[-0.8, -1.3, -0.5, 0.0], [-0.5, 0.8, -0.4, -0.8], [-0.8, 1.1, -1.0, 0.5]],
  K=[[0.2, -0.5, 1.1, 0.7],
     [1.1, -0.4, 0.9, 0.2],
     [0.8, 1.0, -0.3, 0.5],
     [1.2, -1.1, 1.4, -0.5],
     [0.9, -0.8, 1.6, 0.3]],
  V=[[-1.2, -0.2, 0.6, 0.7, -0.3, 1.5],
     [-0.1, -0.8, 1.1, 1.5, 0.8, -0.7],
     [-0.4, 0.9, -1.3, -0.5, 0.1, -0.9],
     [1.2, 1.1, 0.8, -0.4, 1.3, 1.0],
     [0.1, -0.7, -1.2, 0.4, -1.2, 0.4]])

SQUARE = matrices(
  Q=[[-1.3, 1.0, 1.3, 1.2], [1.2, 0.7, 1.1, -0.7], [0.8, 0.8, 0.3, 0.1], [0.8, -1.3, -0.8, -0.3]],
  K=[[1.3, 0.2, -0.3, -0.3], [-0.3, 1.4, -1.2, -0.2], [1.2, 1.3, -1.2, -0.4], [-1.2, -0.4, -0.3, -0.8]],
  V=[[1.6, -1.3, -0.7, 0.6], [0.2, 0.4, -1.3, -0.3], [0.2, -1.1, -0.4, 0.2], [0.0, 0.3, -0.9, 0.3]])

SELF = matrices(
  X=[[0.9, -0.5, 0.1, -0.3, -0.6, 1.2, -0.1, -1.0],
     [-0.5, -0.7, -0.6, 0.0, -0.1, 0.5, 0.7, -0.4],
     [-0.6, -0.4, -0.2, -0.4, -0.4, 1.2, -0.8, 0.9],
     [0.0, 0.3, 0.9, 0.0, 1.0, -0.4, 0.5, -0.9],
     [0.0, -0.6, 0.8, 0.9, 1.0, 0.2, -0.1, 0.0]],
  W_Q=[[0.4, 0.6, -0.1, 0.8],
       [0.1, 0.3, -0.5, -0.2],
       [0.3, 0.5, -0.1, 0.2],
       [-0.3, -0.4, 0.3, 0.2],
       [0.3, -0.4, 0.0, 0.3],
       [0.7, -0.3, 0.6, 0.6],
       [-0.5, 0.4, 0.7, 0.3],
       [0.1, 0.4, 0.1, 0.2]],
  W_K=[[0.4, -0.1, -0.2, -0.1],
       [-0.3, 0.6, 0.0, -0.5],
       [0.5, 0.7, 0.5, 0.5],
       [-0.1, -0.2, 0.4, 0.1],
       [-0.5, -0.5, 0.1, 0.3],
       [0.1, 0.7, -0.5, 0.1],
       [-0.3, 0.5, -0.3, -0.2],
       [0.3, 0.5, -0.4, 0.0]],
  W_V=[[0.4, -0.2, -0.5, 0.3, 0.1, -0.4],
       [0.2, 0.2, -0.1, 0.3, 0.9, -0.6],
       [0.6, 0.9, 0.8, -0.3, -0.4, 0.7],
       [0.3, 0.4, 0.1, 0.2, 0.3, 0.2],
       [0.7, 0.3, -0.4, 0.9, -0.4, 0.7],
       [-0.5, 0.0, -0.6, 0.5, -0.1, 0.0],
       [-0.4, 0.1, 0.5, 0.3, 0.8, -0.6],
       [0.2, -0.3, 0.0, 0.2, -0.3, 0.6]])

main("03-scaling", [
  attention_case("distinct", "Three queries look at five keys of length 4 and mix values of length 6.",
                 DISTINCT, distinct()),
  attention_case("square", "Everything is 4 by 4: no shape betrays a mistake.", SQUARE, square(SQUARE)),
  self_case("self", "Five vectors of length 8 attend to each other: d_k is 4, d_v is 6.", SELF,
            from_x(SELF)),
])
