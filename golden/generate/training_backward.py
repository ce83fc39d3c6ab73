"""Attention and the loss on the way back: gradients by autograd.

They must agree with the formulas in NumPy and with central differences of loops over single numbers."""

import math

import numpy as np
import torch

from common import GOLDEN, PAPER, TOLERANCE, matrices, product, wrong_input, wrong_step
from heads import allowed_softmax, attend, hide, softmax, torch_attention, true_attention
from model import EOS, PAD
from torch_truth import slope, torch_case

NEAR = 1e-10  # what central differences can tell


def slopes(f, X, step=1e-3):
  result = np.empty_like(X)
  for place in np.ndindex(X.shape):
    result[place] = slope(f, X, place, step)
  return result

# ---- Attention ---------------------------------------------------------------------------------------------


MEANINGS = {
  "weights": "softmax of each row of Q Kᵀ / √d_k",
  "dV": "weightsᵀ dO, the gradient of the values",
  "dA": "dO Vᵀ, the gradient of the weights",
  "dS": "weights ∘ (dA − Σ dA ∘ weights), the sum over each row: the gradient of Q Kᵀ / √d_k",
  "dQ": "dS K / √d_k, the gradient of the queries",
  "dK": "dSᵀ Q / √d_k, the gradient of the keys",
}
MASKED_MEANINGS = {
  **MEANINGS,
  "weights": "softmax of each row of Q Kᵀ / √d_k where the mask is true; 0 elsewhere",
  "dA": "dO Vᵀ, the gradient of the weights; those that are 0 by the mask have one too",
}


def by_autograd(Q, K, V, dO, mask=None):
  Q, K, V = (tensor.requires_grad_() for tensor in (Q, K, V))
  there = torch_attention(Q, K, V, mask)
  dV, dA, dS, dQ, dK = torch.autograd.grad(
    there["output"], [V, there["weights"], there["scaled_scores"], Q, K], dO)
  return {"weights": there["weights"].detach(), "dV": dV, "dA": dA, "dS": dS, "dQ": dQ, "dK": dK}


def by_differences(Q, K, V, dO, mask=None):
  """With the loss Σ dO ∘ output."""
  there = true_attention(Q, K, V, mask)
  may = np.ones(there["scores"].shape, dtype=bool) if mask is None else mask

  def loss(output):
    return math.fsum((dO * output).flat)

  def of_scores(S):
    return loss(product(np.array([allowed_softmax(*rows) for rows in zip(S, may)]), V))

  return {
    "weights": there["weights"],
    "dV": slopes(lambda V: loss(true_attention(Q, K, V, mask)["output"]), V),
    "dA": slopes(lambda A: loss(product(A, V)), there["weights"]),
    "dS": slopes(of_scores, there["scaled_scores"]),
    "dQ": slopes(lambda Q: loss(true_attention(Q, K, V, mask)["output"]), Q),
    "dK": slopes(lambda K: loss(true_attention(Q, K, V, mask)["output"]), K),
  }


def through_softmax(A, dA):
  return A * (dA - (dA * A).sum(axis=1, keepdims=True))


def backward(Q, K, V, dO, mask=None, through=through_softmax, scale_back=None,
             to_values=lambda A, dO: A.T @ dO, to_queries=lambda dS, Q, K: dS @ K,
             to_keys=lambda dS, Q, K: dS.T @ Q, **there):
  """The formulas in NumPy; every step can be replaced, those of attention too."""
  A = attend(Q, K, V, mask, **there)["weights"]
  dA = dO @ V.T
  dS = through(A, dA)
  scale = Q.dtype.type(1 / math.sqrt(Q.shape[1]) if scale_back is None else scale_back)
  return {"weights": A, "dV": to_values(A, dO), "dA": dA, "dS": dS,
          "dQ": to_queries(dS, Q, K) * scale, "dK": to_keys(dS, Q, K) * scale}


def anywhere(d_k):
  """The mistakes that fit every shape."""
  return [
    wrong_step("sum-forgotten",
               "The softmax gives back weights ∘ dA; subtract from dA the sum of dA ∘ weights over the row first, "
               "for each weight moves all scores of its row.",
               through=lambda A, dA: A * dA),
    wrong_step("diagonal-only",
               "The softmax gives back weights ∘ (1 − weights) ∘ dA, as if each weight came from its own score "
               "alone; all scores of a row move all its weights.",
               through=lambda A, dA: A * (1 - A) * dA),
    wrong_step("sum-over-queries",
               "The sum of dA ∘ weights runs over the queries (down each column); it must run over each row, as "
               "the softmax does.",
               through=lambda A, dA: A * (dA - (dA * A).sum(axis=0, keepdims=True))),
    wrong_step("sum-not-weighted",
               "The sum over the row is that of dA; it must be that of dA ∘ weights.",
               through=lambda A, dA: A * (dA - dA.sum(axis=1, keepdims=True))),
    wrong_step("sum-outside",
               "The sum was subtracted after the product, weights ∘ dA − Σ; it stands inside, "
               "weights ∘ (dA − Σ).",
               through=lambda A, dA: A * dA - (dA * A).sum(axis=1, keepdims=True)),
    wrong_step("softmax-skipped",
               "The gradient of the weights was taken for that of the scores; it must go through the softmax "
               "first.",
               through=lambda A, dA: dA),
    wrong_step("scale-forgotten-on-the-way-back",
               "dQ and dK lack 1/√d_k; what divides the scores on the way there divides their gradients on the "
               "way back.",
               scale_back=1),
    wrong_step("scaled-twice",
               "dQ and dK are divided by d_k (or twice by its root); divide once, by √d_k.",
               scale_back=1 / d_k),
    wrong_step("not-scaled",
               "The weights on the way back come from scores that are not divided by √d_k; those of the way there "
               "do.",
               scale=1),
  ]


SOFTMAX_OVER_QUERIES = wrong_step(
  "softmax-over-queries",
  "The softmax runs over the queries (down each column); it must run over the keys, so that each row sums to 1.",
  weigh=lambda S, *_: softmax(S.T).T)

SQUARE_ONLY = [
  wrong_step("not-transposed",
             "dV is weights dO and dK is dS Q; both need the transpose, for row j of them belongs to key j: "
             "weightsᵀ dO and dSᵀ Q.",
             to_values=lambda A, dO: A @ dO, to_keys=lambda dS, Q, K: dS @ Q),
  wrong_step("features-by-keys",
             "dK is Qᵀ dS, which is its transpose; it must be dSᵀ Q, a row for each key.",
             to_keys=lambda dS, Q, K: Q.T @ dS),
  wrong_step("queries-and-keys-swapped",
             "dQ is made from Q and dK from K; the gradient of the queries needs the keys and that of the keys "
             "the queries.",
             to_queries=lambda dS, Q, K: dS @ Q, to_keys=lambda dS, Q, K: dS.T @ K),
  wrong_step("sum-axis-dropped",
             "The sum of row i was subtracted in column i: the reduced axis was dropped and broadcast the wrong "
             "way; keep it as an axis of size 1 (keepdims).",
             through=lambda A, dA: A * (dA - (dA * A).sum(axis=1))),
]


def unguarded_softmax(S, *_):
  with np.errstate(invalid="ignore"):
    powers = np.exp(S - S.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def masked_only(mask):
  return [
    wrong_input("no-mask", "The mask is not used on the way back; what was hidden has weight 0 there too.",
                mask=np.ones_like(mask)),
    wrong_input("mask-turned-round",
                "The mask is read the wrong way round; true means: may look, and what is false is hidden.",
                mask=~mask),
    wrong_step("zero-before-softmax",
               "Hidden scores are 0, but e⁰ is 1, so that they still get a share; they must be -inf.",
               hide=lambda S, mask: np.where(mask, S, S.dtype.type(0))),
    wrong_step("finite-sentinel",
               "Hidden scores are -1e9 and not -inf: where nothing is left all are equal and share the weight; a "
               "row with nothing left has weights and gradients 0.",
               hide=lambda S, mask: np.where(mask, S, S.dtype.type(-1e9))),
    wrong_step("empty-row-not-a-number",
               "In a row with nothing left the softmax is 0 / 0, and on the way back this NaN spoils the "
               "gradients of all keys and values; make such a row all 0.",
               weigh=unguarded_softmax),
    wrong_step("empty-row-sees-everything",
               "Where nothing is left the mask was dropped, so that this query sees everything; such a row must "
               "be all 0.",
               hide=lambda S, mask: hide(S, mask | ~mask.any(axis=1, keepdims=True))),
  ]


def of_chapter_3(case):
  """Its queries, keys and values, and where they lie."""
  path = f"03-scaling/{case}"
  return ({name: np.load(GOLDEN / path / f"{name}.npy") for name in "QKV"},
          {name: f"../../{path}/{name}.npy" for name in "QKV"})


def attention_case(name, title, chapter_3, mistakes, **more):
  inputs, shared = of_chapter_3(chapter_3)
  inputs |= more
  masked = "mask" in more
  return torch_case(
    f"10-training/{name}", 10, title,
    f"O = softmax({'mask(' if masked else ''}Q Kᵀ / √d_k{')' if masked else ''}) V; from dO back to V, Q and K",
    "masked_attention_backward" if masked else "attention_backward", inputs,
    MASKED_MEANINGS if masked else MEANINGS, by_autograd, backward,
    [("central differences of fourth order, by loops", by_differences(**inputs), NEAR)], mistakes, TOLERANCE,
    PAPER, shared=shared)

# ---- The loss ----------------------------------------------------------------------------------------------


LOSS = "Vaswani et al. 2017, section 5.4; Szegedy et al. 2016, section 7"
LOSS_TOLERANCE = {
  "float64": 1e-12,
  "float32": 1e-6,
  "reason": "Probabilities, at most 1, and their differences: the order of summation moves them by about 1e-16 in "
            "double and 1e-7 in float.",
}


def spared(target, smoothing):
  return {"all_classes": [], "other_classes": [target], "other_classes_but_pad": [target, PAD]}[smoothing]


def shares(target, classes, label_smoothing, smoothing):
  """The distribution to which the prediction is compared."""
  without = spared(target, smoothing)
  return [(1 - label_smoothing) * (k == target) + label_smoothing / (classes - len(without)) * (k not in without)
          for k in range(classes)]


def mean_loss(logits, targets, label_smoothing, smoothing):
  terms = []
  for row, target in zip(logits, targets[0]):
    log_total = max(row) + math.log(math.fsum(math.exp(s - max(row)) for s in row))
    share = shares(target, len(row), label_smoothing, smoothing)
    terms += [q * (log_total - s) for q, s in zip(share, row) if target != PAD]
  return math.fsum(terms) / (targets != PAD).sum()


def loss_by_autograd(label_smoothing, smoothing):
  def of(logits, targets):
    logits.requires_grad_()
    if smoothing == "all_classes":
      loss = torch.nn.functional.cross_entropy(logits, targets[0], ignore_index=PAD,
                                               label_smoothing=label_smoothing)
    else:
      share = torch.tensor([shares(target, logits.shape[1], label_smoothing, smoothing)
                            for target in targets[0].tolist()], dtype=logits.dtype)
      counted = targets[0] != PAD
      loss = torch.nn.functional.cross_entropy(logits[counted], share[counted])
    return {"dlogits": torch.autograd.grad(loss, logits)[0]}
  return of


class LossBackward:
  """(p − q) / counted in NumPy; a mistake overrides one method."""

  def __init__(self, label_smoothing, smoothing):
    self.label_smoothing, self.smoothing = label_smoothing, smoothing

  def softmax(self, logits):
    return softmax(logits)

  def share(self, targets, classes):
    return np.array([shares(target, classes, self.label_smoothing, self.smoothing) for target in targets])

  def of_logits(self, p, q):
    return p - q

  def kept(self, targets):
    return targets != PAD

  def divisor(self, targets):
    return (targets != PAD).sum()

  def __call__(self, logits, targets):
    targets = targets[0]
    q = self.share(targets, logits.shape[1]).astype(logits.dtype)
    gradients = np.where(self.kept(targets)[:, None], self.of_logits(self.softmax(logits), q), 0)
    return {"dlogits": gradients / logits.dtype.type(self.divisor(targets))}


def wrong_loss(name, says, **methods):
  return wrong_step(name, says, loss=type("Wrong", (LossBackward,), methods))


def smoothed(name, says, label_smoothing, smoothing):
  return wrong_step(name, says, settings={"label_smoothing": label_smoothing, "smoothing": smoothing})


LOSS_ANYWHERE = [
  wrong_loss("divided-by-all-rows",
             "The gradients are divided by the number of all rows; divide them by the number of targets that are "
             "not PAD.",
             divisor=lambda self, targets: len(targets)),
  wrong_loss("padding-not-zeroed",
             "The rows whose target is PAD have a gradient; they are not part of the loss: set them to 0.",
             kept=lambda self, targets: np.ones(len(targets), dtype=bool)),
  wrong_loss("padding-counted",
             "The rows whose target is PAD count like the others; their gradient is 0 and they are not counted.",
             kept=lambda self, targets: np.ones(len(targets), dtype=bool),
             divisor=lambda self, targets: len(targets)),
  wrong_loss("sum-not-mean",
             "These are the gradients of the sum over the rows; divide them by the number of targets that are not "
             "PAD.",
             divisor=lambda self, targets: 1),
  wrong_loss("sign-turned-round",
             "The sign is turned round, targets minus probabilities; that is the way down, and the gradient "
             "points up.",
             of_logits=lambda self, p, q: q - p),
  wrong_loss("by-the-probabilities",
             "This is the gradient by the probabilities, −q / p; the softmax stands between them and the logits, "
             "and with it p − q is left.",
             of_logits=lambda self, p, q: -q / p),
  wrong_loss("target-not-subtracted", "The probabilities are left as they are; subtract the targets' shares.",
             of_logits=lambda self, p, q: p),
  wrong_loss("no-softmax", "The logits are taken for probabilities; take the softmax first.",
             softmax=lambda self, logits: logits),
  wrong_loss("softmax-over-rows",
             "The softmax runs down each column; it must run over the classes, along each row.",
             softmax=lambda self, logits: softmax(logits.T).T),
]

SMOOTHED = smoothed("smoothed", "The targets are smoothed by 0.1; in this case they are not.", 0.1, "all_classes")
SMOOTHED_ANYWHERE = [
  *LOSS_ANYWHERE,
  smoothed("not-smoothed",
           "All weight lies on the target; label smoothing leaves it 1 − epsilon and spreads the rest, in the "
           "gradient too.", 0.0, "all_classes"),
  wrong_loss("smoothing-added-on-top",
             "The spread was added, but the target kept all of its weight, so that the shares sum to more than 1; "
             "leave it 1 − epsilon.",
             share=lambda self, targets, classes:
               LossBackward.share(self, targets, classes) + self.label_smoothing * np.eye(classes)[targets]),
]
ALL = smoothed("smoothed-over-all-classes",
               "epsilon is spread over all V classes, the target too; here it is spread over the others only.",
               0.1, "all_classes")
OTHERS = smoothed("smoothed-over-the-other-classes",
                  "epsilon is spread over the V − 1 classes that are not the target; here the spread is another "
                  "one.",
                  0.1, "other_classes")
OTHERS_BUT_PAD = smoothed("smoothed-over-the-others-but-pad",
                          "epsilon is spread over the classes that are neither the target nor PAD; here PAD has "
                          "its part.",
                          0.1, "other_classes_but_pad")
ONE_HOT_TRANSPOSED = wrong_loss(
  "targets-transposed",
  "The share of target t in row i was subtracted at (t, i); rows are places and columns are classes: (i, t).",
  share=lambda self, targets, classes: LossBackward.share(self, targets, classes).T)


def loss_case(name, title, q, settings, inputs, mistakes, reference=LOSS):
  def steps(logits, targets, loss=LossBackward, settings=settings):
    return loss(**settings)(logits, targets)

  differences = slopes(lambda logits: mean_loss(logits, inputs["targets"], **settings), inputs["logits"])
  return torch_case(
    f"10-training/{name}", 10, title, f"dlogits = (softmax(logits) − q) / counted, q = {q}; 0 where the target is "
    "PAD", "cross_entropy_backward", inputs,
    {"dlogits": "the gradient of the mean loss over the targets that are not PAD"}, loss_by_autograd(**settings),
    steps, [("central differences of fourth order, by loops", {"dlogits": differences}, NEAR)], mistakes,
    LOSS_TOLERANCE, reference, settings)

# ---- The cases ---------------------------------------------------------------------------------------------


DO_DISTINCT = matrices(dO=[[0.7, -1.1, 0.4, -0.2, 1.3, -0.6],
                           [-0.9, 0.5, 1.2, 0.8, -0.3, 1.4],
                           [1.1, 0.2, -1.5, 0.6, -0.8, 0.3]])
DO_SQUARE = matrices(dO=[[0.6, -1.2, 0.9, 0.3], [-0.4, 1.1, 0.2, -1.3], [1.4, -0.7, -0.5, 0.8],
                         [-1.0, 0.1, 1.5, -0.9]])
MASK = np.array([[True, False, True, True, False], [False] * 5, [True, True, False, True, True]])

LOGITS = {
  **matrices(logits=[[0.4, -1.2, 0.9, 2.1, -0.3, 1.5, -0.8],
                     [1.3, 0.6, -0.7, 0.2, 1.8, -1.1, 0.5],
                     [-2.1, 0.6, 1.3, -0.5, 0.2, 0.7, 2.4],
                     [1.1, 0.3, -0.9, 1.8, 0.5, -1.4, 0.6],
                     [0.2, 1.7, -1.1, 0.3, -0.6, 0.9, 1.0]]),
  "targets": np.array([[4, PAD, 6, EOS, PAD]], dtype=np.int64),
}
SQUARE_LOGITS = {
  **matrices(logits=[[0.8, -0.6, 1.4, 0.1, -1.3],
                     [-0.5, 1.2, 0.3, -1.1, 0.9],
                     [1.7, 0.4, -0.8, 0.6, -0.2],
                     [0.2, -1.5, 0.7, 1.9, 0.5],
                     [-0.9, 0.6, 1.1, -0.3, 1.6]]),
  "targets": np.array([[3, 4, PAD, EOS, 3]], dtype=np.int64),
}
ON_ALL = "1 − ε on the target + ε/V on all"


def smoothing(form):
  return {"label_smoothing": 0.1, "smoothing": form}


def cases():
  return [
    attention_case("attention-backward", "The attention of 03-scaling/distinct on the way back.", "distinct",
                   [*anywhere(d_k=4), SOFTMAX_OVER_QUERIES], **DO_DISTINCT),
    attention_case("attention-backward-square", "Everything is 4 by 4: no shape betrays a mistake.", "square",
                   [*anywhere(d_k=4), SOFTMAX_OVER_QUERIES, *SQUARE_ONLY], **DO_SQUARE),
    attention_case("attention-backward-masked", "With a mask that leaves nothing to the second query.", "distinct",
                   [*anywhere(d_k=4), *masked_only(MASK)], **DO_DISTINCT, mask=MASK),
    loss_case("loss-backward", "The loss on the way back: five rows, seven classes, two targets are padding.",
              "1 on the target", {"label_smoothing": 0.0, "smoothing": "all_classes"}, LOGITS,
              [*LOSS_ANYWHERE, SMOOTHED], "Vaswani et al. 2017, section 3.4"),
    loss_case("loss-backward-smoothed", "The same with a tenth of the weight spread over all classes.", ON_ALL,
              smoothing("all_classes"), LOGITS, [*SMOOTHED_ANYWHERE, OTHERS, OTHERS_BUT_PAD]),
    loss_case("loss-backward-smoothed-others",
              "The same with a tenth of the weight spread over the other classes.",
              "1 − ε on the target, ε/(V − 1) elsewhere", smoothing("other_classes"), LOGITS,
              [*SMOOTHED_ANYWHERE, ALL, OTHERS_BUT_PAD],
              "Vaswani et al. 2017, section 5.4, as in the authors' tensor2tensor"),
    loss_case("loss-backward-smoothed-others-but-pad", "The same, and the class of padding gets none of it.",
              "1 − ε on the target, 0 on PAD, ε/(V − 2) elsewhere", smoothing("other_classes_but_pad"), LOGITS,
              [*SMOOTHED_ANYWHERE, ALL, OTHERS],
              "Vaswani et al. 2017, section 5.4, as in The Annotated Transformer"),
    loss_case("loss-backward-square", "Five rows and five classes, smoothed over all: no shape betrays a mistake.",
              ON_ALL, smoothing("all_classes"), SQUARE_LOGITS,
              [*SMOOTHED_ANYWHERE, OTHERS, OTHERS_BUT_PAD, ONE_HOT_TRANSPOSED]),
  ]
