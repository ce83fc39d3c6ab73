"""Golden cases of chapter 5: attention in which a mask says what each query may look at."""

import numpy as np

from common import main, make_case, matrices, wrong_input, wrong_step
from heads import (ATTENTION, MASKED, attend, heads_in_steps, hide, meanings, require_torch_module, softmax,
                   torch_attention, torch_heads, transposed, true_attention, true_heads)

FORMULA = "softmax(mask(Q Kᵀ / √d_k)) V, mask: -inf where it is false; a row with nothing left: 0"
SOURCE = "Vaswani et al. 2017, section 3.2.3, third point, and figure 2"

MEANINGS = dict(zip(ATTENTION, (
  "Q Kᵀ", "scores / √d_k", MASKED, "softmax of each row of the masked scores; all 0 where nothing is left",
  "weights V")))


def mask_of(*rows):
  """A mask from a picture: x may be looked at, . is hidden."""
  return np.array([[sign == "x" for sign in row] for row in rows])


def unguarded_softmax(S, *_):
  with np.errstate(invalid="ignore"):
    powers = np.exp(S - S.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def anywhere(mask):
  """The mistakes that fit every shape."""
  return [
    wrong_input("no-mask", "The mask is not used; set the scaled scores to -inf wherever it is false.",
                mask=np.ones_like(mask)),
    wrong_input("mask-turned-round",
                "The mask is read the wrong way round; true means: may look, and what is false is hidden.",
                mask=~mask),
    wrong_step(
      "zero-before-softmax",
      "Hidden scores are 0 (1e-9 for -1e9 does the same), but e⁰ is 1, so that they still get a share; they "
      "must be -inf.",
      hide=lambda S, mask: np.where(mask, S, S.dtype.type(0))),
    wrong_step(
      "multiplied-after-softmax",
      "The weights were multiplied by the mask after the softmax, so that the rows sum to less than 1; set "
      "the scores to -inf before the softmax.",
      weigh=lambda masked_scores, scaled_scores, mask: softmax(scaled_scores) * mask),
    wrong_step(
      "mask-added-as-numbers",
      "The mask was added to the scores as 1 and 0, which only favours what may be seen; set what is false to "
      "-inf.",
      hide=lambda S, mask: S + mask),
    wrong_step(
      "hide-mask-added-as-numbers",
      "A mask with 1 for hidden was added to the scores, which favours just what should be hidden; set these "
      "scores to -inf.",
      hide=lambda S, mask: S + ~mask),
  ]


NOT_SCALED = wrong_step(
  "not-scaled", "The scores are not scaled; divide them by √d_k before the softmax.", scale=1)

SOFTMAX_OVER_QUERIES = wrong_step(
  "softmax-over-queries",
  "The softmax runs over the queries (down each column); it must run over the keys that the row may see, so "
  "that each row sums to 1.",
  weigh=lambda S, *_: transposed(softmax(transposed(S))))


def mask_transposed(mask):
  return wrong_input("mask-transposed",
                     "The mask is transposed: rows are queries and columns are keys, so that entry (i, j) says "
                     "whether query i may look at key j.",
                     mask=mask.T)


def without_the_diagonal(mask):
  return wrong_input("without-the-diagonal",
                     "Each token sees only what is before it (j < i) and the first sees nothing; it may see "
                     "itself too (j <= i).",
                     mask=mask & ~np.eye(len(mask), dtype=bool))


def distinct(mask):
  return [*anywhere(mask), NOT_SCALED, SOFTMAX_OVER_QUERIES]


def causal(mask):
  return [
    *anywhere(mask), NOT_SCALED, SOFTMAX_OVER_QUERIES, mask_transposed(mask), without_the_diagonal(mask),
    wrong_input("one-token-ahead",
                "Each token sees the next one as well (j <= i + 1), which is the one to be predicted; it may see "
                "itself and what is before it (j <= i).",
                mask=np.tri(len(mask), k=1, dtype=bool)),
  ]


def padding(mask):
  return [
    *anywhere(mask), NOT_SCALED,
    wrong_input("padding-row-instead-of-column",
                "The row of the padding was hidden, so that it looks at nothing but is seen by all; hide its "
                "column: nobody may look at it.",
                mask=mask.T),
    wrong_input("padding-row-as-well",
                "The column of the padding is hidden, but its row too, so that its output is 0; only the column "
                "is hidden, and what comes out of its row is left out later.",
                mask=mask & mask.T),
    wrong_input("mask-from-the-wrong-end",
                "The first key is hidden, as if the padding stood in front; here it stands at the end.",
                mask=mask[:, ::-1]),
  ]


def empty_row(mask):
  nothing_left = ~mask.any(axis=1, keepdims=True)
  return [
    *anywhere(mask),
    wrong_step(
      "finite-sentinel",
      "Hidden scores are -1e9 and not -inf: where nothing is left all are equal and share the weight; a row "
      "with nothing left must be all 0.",
      hide=lambda S, mask: np.where(mask, S, S.dtype.type(-1e9))),
    wrong_step(
      "empty-row-not-a-number",
      "In a row with nothing left the maximum is -inf, and -inf - (-inf) is NaN; make such a row all 0.",
      weigh=unguarded_softmax),
    wrong_step(
      "empty-row-sees-everything",
      "Where nothing is left the mask was dropped, so that this query sees everything; such a row must be all "
      "0.",
      hide=lambda S, mask: hide(S, mask | nothing_left)),
  ]


CAUSAL = mask_of("x...", "xx..", "xxx.", "xxxx")
PADDING = mask_of("xx..", "xx..", "xx..", "xx..")


def heads(mask):
  return [
    *anywhere(mask), mask_transposed(mask), without_the_diagonal(mask),
    wrong_input("padding-forgotten",
                "Only the causal mask was used; the padding must be hidden too: combine both masks by AND.",
                mask=CAUSAL),
    wrong_input("causal-forgotten",
                "Only the padding was hidden; the future must be hidden too: combine both masks by AND.",
                mask=PADDING),
    wrong_input("masks-combined-by-or",
                "A key is seen if one of the two masks allows it; both must allow it: combine them by AND.",
                mask=CAUSAL | PADDING),
    wrong_step(
      "mask-in-the-first-head-only",
      "Only head 0 uses the mask; every head uses the same one.",
      hide=lambda S, mask: np.stack([hide(S[0], mask), *S[1:]])),
    wrong_step(
      "split-by-reshape",
      "The heads were cut by a reshape to (h, n, d_k), which mixes tokens; reshape to (n, h, d_k) and "
      "exchange the first two axes, so that head i takes the columns from i·d_k on.",
      split=lambda A, h: A.reshape(h, len(A), -1)),
  ]


def attention_case(name, title, inputs, mask, mistakes):
  return make_case(f"05-masking/{name}", 5, title, FORMULA, "masked_attention", {**inputs, "mask": mask}, MEANINGS,
                   true_attention, attend, torch_attention, mistakes(mask), reference=SOURCE)


def heads_case(name, title, h, inputs, mask, mistakes):
  widths = inputs["W_Q"].shape[1] // h, inputs["W_V"].shape[1] // h
  one_head = FORMULA.replace("Q Kᵀ", "Q_i K_iᵀ").replace(") V", ") V_i")
  return require_torch_module(
    make_case(f"05-masking/{name}", 5, title, f"Concat(head_1, …, head_h) W_O, head_i = {one_head}",
              "masked_multi_head_attention", {**inputs, "mask": mask}, meanings(h, *widths, masked=True),
              true_heads(h), heads_in_steps(h), torch_heads(h), mistakes(mask), settings={"h": h},
              reference=f"{SOURCE}; section 3.2.2"))


DISTINCT = matrices(
  Q=[[-0.5, -0.6, 0.1, 1.1], [-0.3, -1.0, -0.7, 1.6], [-0.3, -1.1, -0.3, 0.3]],
  K=[[0.3, 1.6, -0.2, -1.4],
     [1.4, 0.3, 0.3, -0.6],
     [-0.9, 1.4, -1.4, -0.6],
     [-1.0, 1.3, 0.3, -0.6],
     [0.6, 1.6, -0.9, -0.8]],
  V=[[0.4, 0.2, -1.0, -0.6, 0.0, 0.8],
     [-1.3, 0.6, 0.5, 1.6, -1.6, -0.3],
     [-0.4, 1.4, -1.1, -0.5, 0.2, 0.6],
     [0.5, -1.2, 1.6, -0.6, 0.4, 0.9],
     [-0.3, 0.5, -1.4, -0.1, -0.5, -1.4]])

FOUR_TOKENS = matrices(
  Q=[[-0.7, 0.2, -0.1, -0.1], [0.3, 0.6, 0.2, 0.2], [-1.0, 0.5, -0.3, 0.9], [1.2, -1.5, 1.2, -0.6]],
  K=[[-0.9, -0.2, 0.3, 0.9], [1.6, -1.3, -0.3, 0.3], [-0.5, -1.5, -0.2, 0.0], [0.4, -0.4, 1.2, 0.2]],
  V=[[0.7, -0.9, -1.6, 0.7], [0.3, 0.6, 0.1, -0.3], [-0.2, 0.9, -0.7, -0.2], [0.0, 0.3, 1.6, -0.5]])

PADDED = matrices(
  Q=[[0.1, -0.7, 0.8, -0.8], [-1.0, 0.5, 1.2, 1.1], [1.2, 0.4, -0.3, 0.5], [0.5, 0.1, -0.6, -0.2]],
  K=[[0.2, -1.0, -0.3, -1.1], [1.6, 0.6, -0.1, 0.9], [0.2, -0.5, 0.0, -0.1], [1.6, -0.9, -1.6, 0.7]],
  V=[[-1.2, -1.3, 1.2, -0.8], [-1.2, 0.0, -1.1, 0.7], [-0.7, 0.1, 1.4, 1.6], [-1.6, -0.5, -0.4, 0.8]])

EMPTY = matrices(
  Q=[[-0.9, -0.2, 1.1], [1.6, -0.5, 1.2], [-0.5, 0.0, 1.0]],
  K=[[-0.3, 1.6, -1.6], [-0.3, -0.7, -0.2], [0.1, -1.4, 1.0], [-1.1, 0.5, 0.9]],
  V=[[-1.0, 1.0, 0.2, -0.3, 0.7],
     [1.4, 1.2, 0.3, -0.3, -0.5],
     [0.7, 0.1, -0.5, -0.6, -0.9],
     [-0.7, 0.3, -0.8, -1.0, -0.7]])

HEADS = matrices(
  X=[[0.7, -1.6, -0.2, 1.2], [-1.0, 0.0, 1.2, -0.9], [0.6, 1.5, 0.4, 1.3], [-0.1, -0.3, 0.4, -1.2]],
  W_Q=[[0.8, 0.0, -0.9, 0.8], [0.5, -0.2, -0.4, 0.3], [-1.1, -0.8, 0.9, 0.3], [0.9, 0.2, 1.2, -0.7]],
  W_K=[[0.9, 0.7, 0.9, 1.2], [-0.2, 0.1, 1.5, 1.0], [0.8, -0.9, 1.5, 0.5], [0.8, -1.1, 0.3, -1.5]],
  W_V=[[0.7, 0.1, 0.3, -0.6], [0.3, 0.0, -1.1, 0.3], [-0.1, -1.0, 0.8, -0.9], [-0.5, -1.3, -1.1, 0.4]],
  W_O=[[1.5, -0.3, -0.1, -0.1], [0.7, 1.5, 0.3, 0.0], [0.7, 0.5, -0.1, 0.1], [-0.5, 0.1, -0.8, 1.0]])

main("05-masking", [
  attention_case("distinct", "Three queries look at five keys; the mask leaves something to each.", DISTINCT,
                 mask_of("x.xx.", ".xx.x", "xx.xx"), distinct),
  attention_case("causal", "Four tokens; each sees itself and what is before it. Everything is 4 by 4.",
                 FOUR_TOKENS, CAUSAL, causal),
  attention_case("padding", "Four tokens, of which the last is padding: nobody may look at it.", PADDED,
                 mask_of("xxx.", "xxx.", "xxx.", "xxx."), padding),
  attention_case("empty-row", "Three queries and four keys; the second query may look at nothing.", EMPTY,
                 mask_of("xx.x", "....", ".xx."), empty_row),
  heads_case("heads", "Two heads, four tokens, of which the last two are padding, and no look ahead.", 2, HEADS,
             CAUSAL & PADDING, heads),
])
