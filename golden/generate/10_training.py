"""Golden cases of chapter 10: ten updates of a small Transformer by Adam.

The truth is PyTorch's: gradients by autograd in double precision. Four others must agree: the loops of
model.py (first and last loss), central differences in NumPy (every fifth entry of each first gradient),
torch.optim.Adam sentence by sentence without any padding (all outputs), and single precision (all outputs,
to a tenth of its tolerance)."""

import math
import sys
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import layer_norm, one_hot

import model
import model_torch
from common import (GOLDEN, VERSIONS, Case, converted, difference, greatest_difference, in_single, judged, main,
                    require, wrong_step)
from model import BOS, DIALECTS, EOS, PAD, layers_of, within
from model_steps import Model

torch.set_num_threads(1)

PAPER = "Vaswani et al. 2017, sections 3.4, 5.3 and 5.4; Kingma and Ba 2015, algorithm 1"
TOLERANCE = {
  "float64": 1e-9,
  "float32": 2e-4,
  "reason": "Ten updates behind each other, each dividing gradients by their own size: PyTorch in single "
            "precision, all sentences at once or one after the other, comes within 1.1e-5 of double precision "
            "in all outputs, and double precision in another order of summation within 3e-14 of itself.",
}
UPDATES = 10
SETTINGS = {"h": 2, "dialect": "paper", "label_smoothing": 0.0, "warmup": 4, "beta_1": 0.9, "beta_2": 0.98,
            "epsilon": 1e-9}

# ---- The batch, and the weights of chapter 9 ---------------------------------------------------------------

# Found among some hundred batches as one that single precision follows well. In others an entry of the gradient
# comes near 0 in the first updates: then Adam divides by almost nothing and makes a step of the rounding.
BATCH = {
  "sources": np.array([[5, 9, 10, 8, PAD], [5, 7, PAD, PAD, PAD], [7, 6, 5, 10, 8]], dtype=np.int64),
  "targets": np.array([[9, 8, 5, EOS, PAD], [9, 5, 6, 4, EOS], [10, 6, EOS, PAD, PAD]], dtype=np.int64),
}


def weights_of_chapter_9():
  """Those of the dialect `paper`, in the order in which the cases of chapter 9 list them."""
  attention, norm = ["W_Q", "W_K", "W_V", "W_O"], ["norm.gamma", "norm.beta"]
  parts = {"self": attention + norm, "cross": attention + norm,
           "feed_forward": ["W_1", "b_1", "W_2", "b_2"] + norm}
  names = ["embedding", *(f"{kind}.{layer}.{name}.{part}" for kind in ("encoder", "decoder")
                          for layer in range(2) for name in model.SUBLAYERS[kind] for part in parts[name])]
  return {name: np.load(GOLDEN / f"09-full-model/weights/{name}.npy") for name in names}


WEIGHTS = weights_of_chapter_9()

# ---- Training in PyTorch -----------------------------------------------------------------------------------


class Training:
  """A mistake overrides one method."""

  def __init__(self, h, dialect, label_smoothing, warmup, beta_1, beta_2, epsilon):
    self.h, self.dialect, self.label_smoothing, self.warmup = h, DIALECTS[dialect], label_smoothing, warmup
    self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

  # ---- The model: a batch at once, padded

  def attention(self, x, memory, mask, weights):
    def heads(of, name):
      y = of @ weights[name]
      return y.unflatten(2, (self.h, y.shape[2] // self.h)).transpose(1, 2)
    Q, K, V = heads(x, "W_Q"), heads(memory, "W_K"), heads(memory, "W_V")
    scores = Q @ K.transpose(2, 3) / math.sqrt(Q.shape[3])
    mixed = scores.masked_fill(~mask[:, None], -math.inf).softmax(dim=3) @ V
    return mixed.transpose(1, 2).flatten(2) @ weights["W_O"]

  def norm(self, x, weights):
    gamma, beta = weights["norm.gamma"][0], weights["norm.beta"][0]
    return layer_norm(x, gamma.shape, gamma, beta, self.dialect.epsilon)

  def layer(self, x, own, self_mask, memory=None, cross_mask=None):
    attention, cross, feed = (within(f"{name}.", own) for name in ("self", "cross", "feed_forward"))
    x = self.norm(x + self.attention(x, x, self_mask, attention), attention)
    if cross:
      x = self.norm(x + self.attention(x, memory, cross_mask, cross), cross)
    hidden = (x @ feed["W_1"] + feed["b_1"]).relu()
    return self.norm(x + hidden @ feed["W_2"] + feed["b_2"], feed)

  def looked_up(self, embedding):
    return embedding

  def multiplied(self, embedding):
    return embedding

  def logits(self, sources, targets, weights):
    table = self.looked_up(weights["embedding"])
    d_model = table.shape[1]
    shifted = torch.cat([torch.full_like(targets[:, :1], BOS), targets[:, :-1]], dim=1)

    def embedded(tokens):
      positions = model_torch.positions(tokens.shape[1], d_model, self.dialect).to(table.dtype)
      return table[tokens] * math.sqrt(d_model) + positions

    source_mask = (sources != PAD)[:, None, :]
    memory = embedded(sources)
    for own in layers_of("encoder", weights):
      memory = self.layer(memory, own, source_mask)
    n = shifted.shape[1]
    target_mask = torch.ones(n, n, dtype=torch.bool).tril() & (shifted != PAD)[:, None, :]
    states = embedded(shifted)
    for own in layers_of("decoder", weights):
      states = self.layer(states, own, target_mask, memory, source_mask)
    return states @ self.multiplied(weights["embedding"]).T

  # ---- The loss

  def share(self, targets, classes, dtype):
    certain = one_hot(targets, classes).to(dtype)
    return (1 - self.label_smoothing) * certain + self.label_smoothing / classes

  def counted(self, targets):
    return targets != PAD

  def mean(self, losses, counted):
    return losses.sum() / counted.sum()

  def loss(self, sources, targets, weights):
    logits = self.logits(sources, targets, weights)
    share, counted = self.share(targets, logits.shape[2], logits.dtype), self.counted(targets)
    losses = -(share * logits.log_softmax(dim=2)).sum(dim=2)
    return self.mean(losses * counted, counted)

  # ---- The updates

  def rate(self, s, d_model):
    return d_model**-0.5 * min(s**-0.5, s * self.warmup**-1.5)

  def corrected(self, moment, beta, s):
    return moment / (1 - beta**s)

  def gradients(self, fresh, before):
    return fresh

  def __call__(self, sources, targets, **weights):
    weights = {name: value.clone().requires_grad_() for name, value in weights.items()}
    first, second = ({name: torch.zeros_like(value) for name, value in weights.items()} for _ in range(2))
    losses, lengths, gradients, first_gradients = [], [], None, None
    for s in range(1, UPDATES + 1):
      loss = self.loss(sources, targets, weights)
      fresh = dict(zip(weights, torch.autograd.grad(loss, list(weights.values()))))
      gradients = self.gradients(fresh, gradients)
      first_gradients = first_gradients or gradients
      losses.append(loss.item())
      lengths.append(torch.cat([gradient.flatten() for gradient in gradients.values()]).norm().item())
      rate = self.rate(s, weights["embedding"].shape[1])
      with torch.no_grad():
        for name, gradient in gradients.items():
          first[name] = self.beta_1 * first[name] + (1 - self.beta_1) * gradient
          second[name] = self.beta_2 * second[name] + (1 - self.beta_2) * gradient**2
          m, v = self.corrected(first[name], self.beta_1, s), self.corrected(second[name], self.beta_2, s)
          weights[name] -= rate * m / (v.sqrt() + self.epsilon)
    losses.append(self.loss(sources, targets, weights).item())
    return named(losses, lengths, first_gradients, weights)


def named(losses, lengths, gradients, weights):
  return {"losses": np.array([losses]), "gradient_lengths": np.array([lengths]),
          **{f"gradient.{name}": value.numpy() for name, value in gradients.items()},
          **{f"after.{name}": value.detach().numpy() for name, value in weights.items()}}


MEANINGS = {
  "losses": "the loss before each update, and after the last",
  "gradient_lengths": "the root of the sum of the squares of all entries of the gradient, at each update",
  **{f"gradient.{name}": f"the gradient of the loss by {name}, at the first update" for name in WEIGHTS},
  **{f"after.{name}": f"{name} after the ten updates" for name in WEIGHTS},
}

# ---- The others that must agree ----------------------------------------------------------------------------


def without_padding(row):
  return row[:, row[0] != PAD]


def sentence_by_sentence(settings, sources, targets, **weights):
  """The same by torch.optim.Adam, its gradients added up from one sentence after the other, no PAD anywhere."""
  training = Training(**settings)
  training.mean = lambda losses, counted: losses.sum() / (targets != PAD).sum()
  weights = {name: value.clone().requires_grad_() for name, value in weights.items()}
  adam = torch.optim.Adam(weights.values(), lr=1, betas=(settings["beta_1"], settings["beta_2"]),
                          eps=settings["epsilon"])
  schedule = torch.optim.lr_scheduler.LambdaLR(
    adam, lambda done: training.rate(done + 1, weights["embedding"].shape[1]))

  def backward():
    adam.zero_grad()
    total = 0
    for i in range(len(sources)):
      loss = training.loss(without_padding(sources[i:i + 1]), without_padding(targets[i:i + 1]), weights)
      loss.backward()
      total += loss.item()
    return total

  losses, lengths, first_gradients = [], [], None
  for _ in range(UPDATES):
    losses.append(backward())
    gradients = {name: value.grad.clone() for name, value in weights.items()}
    first_gradients = first_gradients or gradients
    lengths.append(torch.cat([gradient.flatten() for gradient in gradients.values()]).norm().item())
    adam.step()
    schedule.step()
  losses.append(backward())
  return named(losses, lengths, first_gradients, weights)


def loss_by_loops(settings, sources, targets, weights):
  """Single numbers, straight from the formulas."""
  terms, e = [], settings["label_smoothing"]
  for source, target in zip(sources, targets):
    logits = model.transformer(source[None], target[None], settings["h"], DIALECTS[settings["dialect"]],
                               **weights)["decoder.logits"]
    for row, wanted in zip(logits, target):
      log_total = max(row) + math.log(math.fsum(math.exp(s - max(row)) for s in row))
      if wanted != PAD:
        terms.append((1 - e) * (log_total - row[wanted]) + e * math.fsum(log_total - s for s in row) / len(row))
  return math.fsum(terms) / len(terms)


def loss_in_numpy(settings, sources, targets, weights):
  total, e, numpy_model = 0, settings["label_smoothing"], Model(DIALECTS[settings["dialect"]], settings["h"])
  for source, target in zip(sources, targets):
    logits = numpy_model.transformer(source[None], target[None], **weights)["decoder.logits"]
    log_p = logits - logits.max(axis=1, keepdims=True)
    log_p -= np.log(np.exp(log_p).sum(axis=1, keepdims=True))
    losses = -(1 - e) * log_p[np.arange(len(target)), target] - e * log_p.mean(axis=1)
    total += losses[target != PAD].sum()
  return total / (targets != PAD).sum()


EVERY = 5


def gradients_by_differences(settings, sources, targets, weights, step=3e-5):
  """Central differences of fourth order, at every fifth entry of each weight; the others are NaN."""
  weights, gradients = {name: value.copy() for name, value in weights.items()}, {}

  def moved(value, place, by):
    old = value[place]
    value[place] = old + by
    loss = loss_in_numpy(settings, sources, targets, weights)
    value[place] = old
    return loss

  for name, value in weights.items():
    gradients[f"gradient.{name}"] = gradient = np.full_like(value, math.nan)
    for place in list(np.ndindex(value.shape))[::EVERY]:
      near, far = (moved(value, place, by * step) - moved(value, place, -by * step) for by in (1, 2))
      gradient[place] = (8 * near - far) / (12 * step)
  return gradients

# ---- The cases ---------------------------------------------------------------------------------------------


def training_case(name, title, loss, settings, mistakes):
  case, tolerance = f"10-training/{name}", TOLERANCE

  def run(training=Training, settings=settings, to=lambda array: array):
    return training(**settings)(**converted(converted({**BATCH, **WEIGHTS}, to), torch.tensor))

  right = run()
  tensors = converted({**BATCH, **WEIGHTS}, torch.tensor)
  in_float = greatest_difference(right, run(to=in_single))
  by_sentence = greatest_difference(right, sentence_by_sentence(settings, **tensors))
  after = {key: right[f"after.{key}"] for key in WEIGHTS}
  by_loops = max(difference(right["losses"][:, i], np.array([loss_by_loops(settings, **BATCH, weights=weights)]))
                 for i, weights in ((0, WEIGHTS), (UPDATES, after)))
  differences = gradients_by_differences(settings, **BATCH, weights=WEIGHTS)
  by_differences = max(np.nanmax(np.abs(differences[key] - right[key])) for key in differences)
  require(max(by_sentence, by_loops) < tolerance["float64"] / 10, case, "the cross-checks disagree")
  require(by_differences < 1e-9, case, f"central differences disagree: {by_differences:.1e}")
  require(in_float < tolerance["float32"] / 10, case, f"the float32 tolerance is too small: {in_float:.1e}")

  # A mistake's tensors that come too near the truth are left out as if it did not change them.
  wrong = []
  for mistake in mistakes:
    found = run(**mistake.steps)
    apart = {key: difference(right[key], found[key]) for key in right}
    require(apart["losses"] >= 100 * tolerance["float32"], case, f"{mistake.name} hardly changes the losses")
    wrong.append((mistake, {key: found[key] if apart[key] >= 100 * tolerance["float32"] else right[key]
                            for key in right}))
  source = {
    "producer": f"golden/generate/{Path(sys.argv[0]).name}",
    "versions": f"PyTorch {torch.__version__}, {VERSIONS}",
    "cross_check": f"torch.optim.Adam, one unpadded sentence after the other, all outputs: {by_sentence:.1e}; "
                   f"loops over single numbers, first and last loss: {by_loops:.1e}; central differences of "
                   "fourth order in NumPy, every fifth entry of each first gradient: "
                   f"{by_differences:.1e}; PyTorch in single precision, all outputs: {in_float:.1e}",
    "reference": PAPER,
  }
  formula = f"L = {loss}; θ ← θ − lr m̂ / (√v̂ + ε), lr = d_model^−0.5 min(s^−0.5, s warmup^−1.5)"
  return Case(case, 10, title, formula, "training_steps", {**BATCH, **WEIGHTS},
              {key: (value, MEANINGS[key]) for key, value in right.items()},
              judged(case, right, wrong, tolerance), tolerance, source, settings,
              {key: f"../../09-full-model/weights/{key}.npy" for key in WEIGHTS})


def wrong_training(name, says, **methods):
  return wrong_step(name, says, training=type("Wrong", (Training,), methods))


def mean_of_means(self, losses, counted):
  return (losses.sum(dim=1) / counted.sum(dim=1)).mean()


def share_on_top(self, targets, classes, dtype):
  return Training.share(self, targets, classes, dtype) + self.label_smoothing * one_hot(targets, classes)


MISTAKES = [
  wrong_training("padding-counted",
                 "The places whose target is PAD count like the others; leave them out of the sum and of the "
                 "number by which it is divided.",
                 counted=lambda self, targets: torch.ones_like(targets, dtype=torch.bool)),
  wrong_training("mean-of-means",
                 "Each sentence's loss was divided by its own length and then the mean of the three taken; divide "
                 "the sum over all three by the number of all their targets.",
                 mean=mean_of_means),
  wrong_training("look-up-gradient-forgotten",
                 "The embedding got only the gradient of the logits; it is looked up too, in the encoder and in "
                 "the decoder: add the gradients of all three uses.",
                 looked_up=lambda self, embedding: embedding.detach()),
  wrong_training("logits-gradient-forgotten",
                 "The embedding got only the gradient of the look-up; it makes the logits too: add the gradients "
                 "of all three uses.",
                 multiplied=lambda self, embedding: embedding.detach()),
  wrong_training("gradients-not-cleared",
                 "The gradient of each update was added to those of the updates before; set it to 0 after each "
                 "update.",
                 gradients=lambda self, fresh, before:
                   {name: value + before[name] for name, value in fresh.items()} if before else fresh),
  wrong_training("step-counted-from-zero",
                 "The first update has the rate for s = 0, which is 0, and each later one the rate of the update "
                 "before it; count s from 1.",
                 rate=lambda self, s, d_model: Training.rate(self, s - 1, d_model) if s > 1 else 0.0),
  wrong_training("bias-correction-forgotten",
                 "The moments are used as they are; they start at 0, so divide them by 1 − βˢ first.",
                 corrected=lambda self, moment, beta, s: moment),
]

SMOOTHING_MISTAKES = [
  wrong_step("not-smoothed",
             "All weight lies on the target; label smoothing leaves it 1 − epsilon and spreads the rest.",
             settings={**SETTINGS, "label_smoothing": 0.0}),
  wrong_training("smoothing-added-on-top",
                 "The spread was added, but the target kept all of its weight, so that the shares sum to more "
                 "than 1; leave it 1 − epsilon.",
                 share=share_on_top),
]

main("10-training", [
  training_case("ten-steps", "Ten updates by Adam with warm-up, on three sentence pairs of different lengths.",
                "mean of −log p(target)", SETTINGS, MISTAKES),
  training_case("ten-steps-smoothed", "The same with a tenth of each target's weight spread over all classes.",
                "mean of −Σ q log p, q = (1 − ε) on the target + ε/V on all",
                {**SETTINGS, "label_smoothing": 0.1}, SMOOTHING_MISTAKES),
])
