"""Golden cases of chapter 4: several heads, each with its own columns of Q, K and V."""

import math

import numpy as np

from common import (TOLERANCE, main, make_case, matrices, queries_and_keys_swapped, weights_column_by_column,
                    wrong_input, wrong_step)
from heads import (heads_in_steps, meanings, require_torch_module, side_by_side, softmax, split, torch_heads,
                   transposed, true_heads)

FORMULA = "Concat(head_1, …, head_h) W_O, head_i = softmax(Q_i K_iᵀ / √d_k) V_i"
SOURCE = "Vaswani et al. 2017, section 3.2.2"
LONGER_SUMS = {**TOLERANCE, "reason": TOLERANCE["reason"].replace("8 terms", "12 terms")}


def every_head(matrix, h):
  return np.repeat(matrix[None], h, axis=0)


def scaled_by_root(of, what, value):
  return wrong_step(
    f"scaled-by-root-{of}",
    f"The scores of each head are divided by √{value} ({what}); divide them by √d_k, the length of a query "
    "of one head.",
    scale=1 / math.sqrt(value))


def divided_by(d_k, alike):
  return wrong_step("divided-by-d_k",
                    f"The scores are divided by d_k (or {alike}); divide once, by √d_k.", scale=1 / d_k)


def anywhere(h, d_k):
  """The mistakes that fit every shape."""
  return [
    wrong_step(
      "heads-interleaved",
      "Head i took every h-th column (i, i + h, …); it takes the block of columns that begins at i·d_k.",
      split=lambda A, h: A.reshape(len(A), -1, h).transpose(2, 0, 1)),
    wrong_step(
      "every-head-is-the-first",
      "Every head took the first d_k columns of Q and K and the first d_v of V; head i begins at column i·d_k, "
      "and at i·d_v.",
      split=lambda A, h: every_head(split(A, h)[0], h)),
    wrong_step(
      "one-wide-head",
      "Every head compares whole rows of Q and K, so that all have the same weights, as if h were 1; head i "
      "compares only its own d_k columns.",
      score=lambda Q, K: every_head(side_by_side(Q) @ side_by_side(K).T, h), scale=1 / math.sqrt(h * d_k)),
    wrong_step("not-scaled", "The scores are not scaled; divide those of each head by √d_k before the softmax.",
               scale=1),
    wrong_step(
      "softmax-over-queries",
      "The softmax runs over the queries (down each column); it must run over the keys, so that each row sums "
      "to 1.",
      weigh=lambda S, *_: transposed(softmax(transposed(S)))),
    wrong_step(
      "softmax-over-heads",
      "The softmax runs over the heads, so that the same entry of all heads sums to 1; each head has its own "
      "softmax, over the keys.",
      weigh=lambda S, *_: np.moveaxis(softmax(np.moveaxis(S, 0, -1)), -1, 0)),
    wrong_step(
      "merged-by-reshape",
      "The heads were merged by a reshape from (h, n, d_v) to (n, h·d_v), which mixes tokens; exchange the "
      "first two axes before, so that row i holds the outputs of all heads for token i.",
      merge=lambda heads: heads.reshape(heads.shape[1], -1)),
    wrong_step(
      "merged-column-by-column",
      "The columns of the heads alternate: column 0 of every head, then column 1 of every head; put whole "
      "heads side by side.",
      merge=lambda heads: heads.transpose(1, 2, 0).reshape(heads.shape[1], -1)),
    wrong_step("heads-in-reverse-order",
               "The heads stand side by side with the last one first; head 0 is on the left.",
               merge=lambda heads: side_by_side(heads[::-1])),
    wrong_step("sum-over-queries",
               "The weighted sum of each head is weightsᵀ V, which runs over the queries; it must be weights V.",
               mix=lambda A, V: transposed(A) @ V),
  ]


SPLIT_BY_RESHAPE = wrong_step(
  "split-by-reshape",
  "The heads were cut by a reshape to (h, n, d_k), which mixes tokens; reshape to (n, h, d_k) and exchange "
  "the first two axes, so that head i takes the columns from i·d_k on.",
  split=lambda A, h: A.reshape(h, len(A), -1))

SPLIT_AND_MERGED_BY_RESHAPE = wrong_step(
  "split-and-merged-by-reshape",
  "The heads were cut by a reshape to (h, n, d_k) and merged by a reshape to (n, h·d_v), which mixes tokens "
  "both times; exchange the axes of heads and tokens after the one reshape and before the other.",
  split=lambda A, h: A.reshape(h, len(A), -1), merge=lambda heads: heads.reshape(heads.shape[1], -1))

OUTPUT_NOT_PROJECTED = wrong_step(
  "output-not-projected",
  "The heads side by side are returned as they are; multiply them by W_O, which mixes the heads.",
  project_out=lambda A, W: A)

OUTPUT_WEIGHTS_TRANSPOSED = wrong_step(
  "output-weights-transposed",
  "The output is concat W_Oᵀ; W_O is [in, out], so that it is concat W_O.",
  project_out=lambda A, W: A @ W.T)


def distinct(i):
  return [
    *anywhere(h=3, d_k=2), SPLIT_BY_RESHAPE, queries_and_keys_swapped(i), weights_column_by_column(i),
    divided_by(2, "by √d_v, which is 2 as well"),
    scaled_by_root("d_model", "d_model, the length of a row of X", 7),
    scaled_by_root("width", "h·d_k, the width of Q", 6),
  ]


def square(i):
  return [
    *anywhere(h=2, d_k=2), SPLIT_BY_RESHAPE, queries_and_keys_swapped(i),
    scaled_by_root("d_model", "d_model = h·d_k, the width of all heads together", 4),
    OUTPUT_NOT_PROJECTED, OUTPUT_WEIGHTS_TRANSPOSED,
    wrong_step("heads-averaged",
               "The average of the heads stands in the place of every head; put the heads side by side.",
               merge=lambda heads: np.tile(heads.mean(axis=0), len(heads))),
    wrong_input("keys-and-values-swapped",
                "W_K and W_V changed places; the scores need the keys and the weighted sum needs the values.",
                W_K=i["W_V"], W_V=i["W_K"]),
    wrong_input("weights-transposed",
                "W_Q, W_K and W_V were taken for [out, in], as PyTorch's Linear stores them; here they are "
                "[in, out] and Q = X W_Q.",
                **{name: i[name].T for name in ("W_Q", "W_K", "W_V")}),
    wrong_input("values-not-projected", "The values are X itself; they must be X W_V.", W_V=np.eye(4)),
  ]


def biased(i):
  return [
    *anywhere(h=2, d_k=3), SPLIT_AND_MERGED_BY_RESHAPE, divided_by(3, "twice by its root"),
    scaled_by_root("d_model", "d_model = h·d_k, the width of all heads together", 6),
    OUTPUT_NOT_PROJECTED, OUTPUT_WEIGHTS_TRANSPOSED,
    wrong_input("biases-forgotten",
                "No bias is added; add b_Q, b_K, b_V and b_O, each to every row of its product.",
                **{name: np.zeros((1, 6)) for name in ("b_Q", "b_K", "b_V", "b_O")}),
    wrong_input("value-bias-forgotten", "b_V is missing; V is X W_V + b_V.", b_V=np.zeros((1, 6))),
    wrong_input("output-bias-forgotten", "b_O is missing; the output is concat W_O + b_O.", b_O=np.zeros((1, 6))),
    wrong_input("output-bias-in-every-head",
                "b_O was added once for every head; add it once, after the heads have gone through W_O.",
                b_O=2 * i["b_O"]),
    wrong_input("output-bias-before-projection",
                "b_O was added to concat; add it after the product with W_O.", b_O=i["b_O"] @ i["W_O"]),
  ]


def case(name, title, h, inputs, mistakes):
  widths = inputs["W_Q"].shape[1] // h, inputs["W_V"].shape[1] // h
  return make_case(f"04-multi-head/{name}", 4, title, FORMULA, "multi_head_attention", inputs,
                   meanings(h, *widths, biased="b_Q" in inputs), true_heads(h), heads_in_steps(h), torch_heads(h),
                   mistakes(inputs), tolerance=LONGER_SUMS, settings={"h": h}, reference=SOURCE)


DISTINCT = matrices(
  X=[[-1.0, 0.2, 0.0, 0.4, -1.1, 0.9, 0.1],
     [-0.9, -1.1, -1.0, -0.6, 0.9, 0.7, -0.4],
     [-0.4, 1.5, 0.7, -0.6, -0.1, -0.3, 0.1],
     [0.7, -0.2, 0.3, 0.5, 0.6, -0.5, -0.2],
     [1.6, -0.1, 0.0, 0.4, -0.5, -0.3, 1.3]],
  W_Q=[[0.7, -0.6, 0.0, -0.7, -0.8, 0.0],
       [0.8, 0.0, 0.8, -0.6, 0.1, 0.0],
       [0.0, 0.5, 0.3, -0.3, -0.7, -0.3],
       [0.0, -0.3, -0.8, -1.0, 0.4, 0.1],
       [-0.3, 0.2, 0.3, -0.1, -0.2, 0.6],
       [0.5, 0.8, 0.6, 0.1, -0.2, -0.2],
       [-0.3, 0.0, 0.1, 0.6, 0.7, 0.0]],
  W_K=[[0.2, -0.6, -0.4, -0.6, 0.1, -0.3],
       [-0.4, 0.0, -1.0, -0.1, 0.2, 0.7],
       [-0.6, -0.2, -1.1, 0.7, -0.1, 0.1],
       [-0.8, -0.2, -0.3, -0.7, -0.7, -0.5],
       [-0.5, -1.0, 0.7, 0.0, 0.0, 0.0],
       [-0.2, -0.1, 0.2, -0.2, 0.6, -0.2],
       [0.6, -0.6, 0.1, 0.3, 0.6, 0.7]],
  W_V=[[-0.5, -0.4, 0.7, -0.2, -0.8, 0.5, 0.2, -0.7, -0.4, 0.6, -0.3, -0.3],
       [-0.3, 0.6, -0.9, 0.1, 0.0, 0.1, 0.3, -0.1, 0.2, 0.1, 0.6, -1.2],
       [-0.2, 0.0, -0.7, 0.6, 0.2, -0.9, -0.2, 0.3, 0.0, -0.4, 0.3, 0.1],
       [-0.5, -0.1, 0.6, 0.6, -0.5, -0.3, 0.7, 0.3, 0.0, -0.2, 0.1, 0.4],
       [-1.1, 0.4, -0.4, -0.6, -0.3, -0.5, -0.5, 0.0, -0.2, 0.5, -0.8, 0.4],
       [-0.6, 0.1, -0.2, 0.5, -0.6, 0.0, 0.8, 0.6, -0.1, 0.4, 0.5, 0.3],
       [0.6, 0.5, -1.1, 0.3, 1.6, -0.2, -0.1, 0.1, -0.4, -0.1, 0.0, 1.0]],
  W_O=[[-0.1, 0.3, -0.1, -0.4, -0.3, -0.5, 0.6],
       [-0.1, -0.6, 0.0, 0.9, 0.1, 0.0, 0.1],
       [-0.2, -0.4, 0.6, -1.5, -0.2, -0.4, -0.1],
       [-0.3, 0.5, 0.7, 0.1, -0.6, -0.3, -0.1],
       [-0.4, -0.5, 0.8, 0.4, -0.4, -0.4, 0.0],
       [-0.3, 0.3, 0.4, 0.0, -0.4, -0.1, -0.7],
       [-0.2, 0.8, -0.2, 0.3, 0.5, 0.7, -0.6],
       [-0.1, -0.2, 0.6, 0.5, -0.5, -0.2, 0.2],
       [0.9, -0.2, 0.6, -0.4, -0.5, 0.4, -0.3],
       [-0.7, 0.6, 0.3, -0.6, 0.4, 0.2, 0.3],
       [-0.5, -0.2, -1.0, -1.0, 0.4, -0.2, 0.1],
       [-0.1, -0.2, -0.2, 0.2, -0.1, -0.7, 0.5]])

SQUARE = matrices(
  X=[[0.2, -0.8, 0.6, 0.8], [-1.6, -1.0, 0.1, -0.3], [0.0, -0.7, 0.7, 0.6], [0.1, 0.9, 0.4, -0.7]],
  W_Q=[[0.3, -0.7, 0.6, 0.0], [-0.1, -0.5, 0.9, -0.1], [-0.3, -0.2, 0.4, 0.3], [0.3, 0.3, 1.5, -0.3]],
  W_K=[[-0.4, -0.6, 0.4, 0.8], [-0.1, -0.6, -0.6, 0.5], [0.5, 0.4, -0.5, 0.2], [0.1, 0.2, 0.6, 0.2]],
  W_V=[[0.5, 0.0, 0.2, 0.4], [-1.0, -0.2, -0.3, -0.4], [-0.2, 1.0, -0.6, 0.7], [-1.2, -0.2, 0.1, 0.4]],
  W_O=[[0.4, 0.5, -0.2, -0.3], [0.5, -0.1, -0.8, -0.7], [-0.6, 0.3, 0.1, 0.4], [-0.3, 0.1, 0.4, -0.2]])

BIASED = matrices(
  X=[[0.2, 0.5, -0.5, -0.7, -1.6, 0.8],
     [0.0, 0.2, -0.6, 1.0, 0.8, -0.1],
     [-0.4, -0.3, -0.6, 0.0, -0.5, 0.5]],
  W_Q=[[-0.2, -0.2, 0.9, -0.4, -0.9, 0.2],
       [-1.2, 0.2, 0.6, 0.0, 0.0, -1.2],
       [0.3, 0.2, -0.7, 1.1, -0.7, -1.0],
       [-1.1, 0.0, 0.2, 0.3, -0.2, -0.5],
       [0.5, -0.5, -0.7, 0.8, 0.1, 0.3],
       [0.4, -0.3, -0.3, 0.4, -0.4, 0.2]],
  W_K=[[-0.1, -0.7, 0.6, -0.8, 0.1, 0.0],
       [0.8, -0.7, -0.3, -0.1, 0.1, 0.5],
       [0.2, 0.0, 0.6, 1.3, -0.8, 0.0],
       [0.5, 0.1, 0.9, -0.2, -0.6, 0.5],
       [-1.6, -0.3, 1.4, 0.0, 0.2, -0.6],
       [0.0, -0.1, 1.1, -0.6, -1.6, 0.2]],
  W_V=[[0.8, -0.3, -0.9, -0.5, 0.2, -0.3],
       [0.0, -1.2, -0.3, 0.4, -0.1, -0.5],
       [0.5, 0.5, -0.2, -0.4, 0.6, -0.3],
       [-0.1, 0.9, 0.1, -0.2, -1.0, 0.0],
       [0.0, -0.3, 0.5, -0.6, -0.8, -0.4],
       [0.0, -0.8, -0.6, -0.4, 0.0, -0.4]],
  W_O=[[0.5, -1.1, 0.2, -0.3, 0.2, 0.9],
       [-0.1, 0.1, 0.4, -0.7, 0.3, 0.4],
       [-0.1, 0.3, 0.0, -0.4, -0.7, 0.4],
       [0.8, -0.4, 0.1, -0.7, -0.3, -0.3],
       [-0.6, -0.1, 0.5, 0.2, -0.3, 0.7],
       [0.1, 0.9, -0.7, 1.5, -0.1, -0.6]],
  b_Q=[[-0.6, 0.4, 0.4, 0.4, 0.3, -0.6]],
  b_K=[[-0.1, -1.2, -0.5, 0.3, -1.0, 1.2]],
  b_V=[[0.6, -0.6, 0.3, 0.2, -0.1, 0.3]],
  b_O=[[-0.2, 0.0, 0.2, 0.2, 0.1, 0.2]])

main("04-multi-head", [
  case("distinct", "Three heads, five vectors of length 7: in each head d_k is 2 and d_v is 4.", 3, DISTINCT,
       distinct),
  require_torch_module(case("square", "Two heads, all matrices are 4 by 4: no shape betrays a mistake.", 2,
                            SQUARE, square)),
  require_torch_module(case("biased", "Two heads, three vectors of length 6, and a bias after every product.", 2,
                            BIASED, biased)),
])
