"""Golden cases of chapter 2: softmax(Q Kᵀ) V with Q = X W_Q, K = X W_K, V = X W_V; no scaling yet."""

import numpy as np

from common import (ALREADY_SCALED, AXIS_DROPPED, FEATURES_BY_FEATURES, KEYS_RESHAPED, MISSING_TRANSPOSE,
                    SOFTMAX_MISTAKES, SUM_OVER_QUERIES, attend, main, make_case, matrices, product,
                    queries_and_keys_swapped, row_softmax, weights_column_by_column, wrong_input)

MEANINGS = {
  "Q": "X W_Q, the queries",
  "K": "X W_K, the keys",
  "V": "X W_V, the values",
  "scores": "Q Kᵀ",
  "weights": "softmax of each row of the scores",
  "output": "weights V",
}


def truth(X, W_Q, W_K, W_V):
  Q, K, V = product(X, W_Q), product(X, W_K), product(X, W_V)
  scores = product(Q, K.T)
  weights = row_softmax(scores)
  return {"Q": Q, "K": K, "V": V, "scores": scores, "weights": weights, "output": product(weights, V)}


def by_torch(X, W_Q, W_K, W_V):
  Q, K, V = X @ W_Q, X @ W_K, X @ W_V
  scores = Q @ K.T
  weights = scores.softmax(dim=1)
  return {"Q": Q, "K": K, "V": V, "scores": scores, "weights": weights, "output": weights @ V}


def steps(X, W_Q, W_K, W_V, **replaced):
  Q, K, V = X @ W_Q, X @ W_K, X @ W_V
  tensors = {"Q": Q, "K": K, "V": V, **attend(Q, K, V, **replaced)}
  return {name: tensors[name] for name in MEANINGS}


def anywhere(i):
  """The mistakes that fit every shape."""
  return [*SOFTMAX_MISTAKES, SUM_OVER_QUERIES, queries_and_keys_swapped(i), ALREADY_SCALED]


def distinct(i):
  return [*anywhere(i), KEYS_RESHAPED, weights_column_by_column(i)]


def square(i):
  return [
    *anywhere(i), AXIS_DROPPED, MISSING_TRANSPOSE, FEATURES_BY_FEATURES,
    wrong_input("keys-and-values-swapped",
                "W_K and W_V changed places; the scores need the keys and the weighted sum needs the values.",
                W_K=i["W_V"], W_V=i["W_K"]),
    wrong_input("weights-transposed",
                "W_Q, W_K and W_V were taken for [out, in], as PyTorch's Linear stores them; here they are "
                "[in, out] and Q = X W_Q.",
                **{name: i[name].T for name in ("W_Q", "W_K", "W_V")}),
    wrong_input("values-not-projected", "The values are X itself; they must be X W_V.", W_V=np.eye(4)),
  ]


def case(name, title, inputs, mistakes):
  return make_case(f"02-projections/{name}", 2, title, "softmax(Q Kᵀ) V, Q = X W_Q, K = X W_K, V = X W_V",
                   "projected_attention", inputs, MEANINGS, truth, steps, by_torch, mistakes(inputs))


main("02-projections", [
  case("distinct", "Five vectors of length 3, queries and keys of length 4, values of length 6.",
       matrices(
         X=[[1.1, -0.6, -0.5], [0.3, 0.8, 0.8], [1.2, 0.9, 0.2], [0.7, 0.9, -0.8], [1.6, 0.3, 0.6]],
         W_Q=[[0.5, 0.6, -0.7, -0.7], [-0.3, -0.6, 0.6, 0.1], [-0.5, 0.0, -0.5, 0.6]],
         W_K=[[0.0, 0.9, 0.6, 0.1], [0.3, 1.1, 0.6, 0.0], [-0.1, 0.9, 0.4, 0.5]],
         W_V=[[-0.9, 0.0, -1.3, 0.3, -1.3, 0.6],
              [-0.9, -1.1, -0.9, -0.1, 0.1, -0.6],
              [0.5, 0.5, -0.7, -0.2, 1.4, 0.1]]),
       distinct),
  case("square", "Everything is 4 by 4: no shape betrays a mistake.",
       matrices(
         X=[[0.9, 0.6, 0.5, 1.1], [-0.9, 0.3, 1.1, 0.3], [-1.0, 1.2, 0.7, -0.1], [-0.6, -1.0, 1.2, 1.0]],
         W_Q=[[-0.5, -0.5, 0.5, -0.5],
              [0.3, -0.1, 0.3, 0.4],
              [-0.2, -0.2, -0.4, 1.0],
              [0.0, -0.6, 0.1, 0.4]],
         W_K=[[0.9, -0.2, 0.7, 0.5],
              [0.9, -0.1, -0.4, -0.7],
              [0.2, 0.3, 0.0, 0.9],
              [-0.3, 0.7, 0.9, 0.0]],
         W_V=[[-0.9, 0.3, 0.5, 1.2],
              [1.0, 0.0, 0.6, -0.6],
              [0.5, 0.8, 0.2, -0.2],
              [-1.0, 0.0, -0.3, 1.1]]),
       square),
])
