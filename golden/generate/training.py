"""What the cases of chapter 10 share that train a Transformer: its loss and its updates in PyTorch."""

import math

import torch
from torch.nn.functional import layer_norm, one_hot

import model
import model_torch
from common import wrong_step
from model import BOS, DIALECTS, PAD, SUBLAYERS, layers_of, within

PAPER = "Vaswani et al. 2017, sections 3.4, 5.3 and 5.4; Kingma and Ba 2015, algorithm 1"


def weight_names(layers=2):
  """Those of the dialect `paper`, in the order in which the cases list them."""
  attention, norm = ["W_Q", "W_K", "W_V", "W_O"], ["norm.gamma", "norm.beta"]
  parts = {"self": attention + norm, "cross": attention + norm,
           "feed_forward": ["W_1", "b_1", "W_2", "b_2"] + norm}
  return ["embedding", *(f"{kind}.{layer}.{name}.{part}" for kind in ("encoder", "decoder")
                         for layer in range(layers) for name in SUBLAYERS[kind] for part in parts[name])]


class Training:
  """A mistake overrides one method."""

  def __init__(self, h, dialect, label_smoothing, warmup, beta_1, beta_2, epsilon, rate_scale=1.0):
    self.h, self.dialect, self.label_smoothing, self.warmup = h, DIALECTS[dialect], label_smoothing, warmup
    self.beta_1, self.beta_2, self.epsilon, self.rate_scale = beta_1, beta_2, epsilon, rate_scale

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

  def scaled(self, rows):
    return rows * math.sqrt(rows.shape[2])

  def multiplied(self, embedding):
    return embedding

  def causal_mask(self, n):
    return torch.ones(n, n, dtype=torch.bool).tril()

  def logits(self, sources, targets, weights):
    table = self.looked_up(weights["embedding"])
    shifted = torch.cat([torch.full_like(targets[:, :1], BOS), targets[:, :-1]], dim=1)

    def embedded(tokens):
      positions = model_torch.positions(tokens.shape[1], table.shape[1], self.dialect).to(table.dtype)
      return self.scaled(table[tokens]) + positions

    source_mask = (sources != PAD)[:, None, :]
    memory = embedded(sources)
    for own in layers_of("encoder", weights):
      memory = self.layer(memory, own, source_mask)
    target_mask = self.causal_mask(shifted.shape[1]) & (shifted != PAD)[:, None, :]
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
    return self.rate_scale * d_model**-0.5 * min(s**-0.5, s * self.warmup**-1.5)

  def corrected(self, moment, beta, s):
    return moment / (1 - beta**s)

  def gradients(self, fresh, before):
    return fresh

  def update(self, weights, gradients, moments, s):
    rate = self.rate(s, weights["embedding"].shape[1])
    with torch.no_grad():
      for name, gradient in gradients.items():
        first, second = moments[name]
        first = self.beta_1 * first + (1 - self.beta_1) * gradient
        second = self.beta_2 * second + (1 - self.beta_2) * gradient**2
        moments[name] = first, second
        m, v = self.corrected(first, self.beta_1, s), self.corrected(second, self.beta_2, s)
        weights[name] -= rate * m / (v.sqrt() + self.epsilon)

  def __call__(self, batches, weights):
    """The loss and the gradients of each batch, one after the other; the weights are updated in between."""
    moments = {name: (torch.zeros_like(value), torch.zeros_like(value)) for name, value in weights.items()}
    gradients = None
    for updates, (sources, targets) in enumerate(batches):
      if updates > 0:
        self.update(weights, gradients, moments, updates)
      loss = self.loss(sources, targets, weights)
      fresh = dict(zip(weights, torch.autograd.grad(loss, list(weights.values()))))
      gradients = self.gradients(fresh, gradients)
      yield loss.item(), gradients


def trainable(weights):
  return {name: value.clone().requires_grad_() for name, value in weights.items()}

# ---- The others that must agree ----------------------------------------------------------------------------


def without_padding(row):
  return row[:, row[0] != PAD]


class SentenceBySentence(Training):
  """The same by torch.optim.Adam, its gradients added up from one sentence after the other, no PAD anywhere."""

  def mean(self, losses, counted):
    return losses.sum() / self.all_counted

  def __call__(self, batches, weights):
    adam = torch.optim.Adam(weights.values(), lr=1, betas=(self.beta_1, self.beta_2), eps=self.epsilon)
    schedule = torch.optim.lr_scheduler.LambdaLR(
      adam, lambda done: self.rate(done + 1, weights["embedding"].shape[1]))
    for updates, (sources, targets) in enumerate(batches):
      if updates > 0:
        adam.step()
        schedule.step()
      adam.zero_grad()
      self.all_counted, total = (targets != PAD).sum(), 0
      for i in range(len(sources)):
        loss = self.loss(without_padding(sources[i:i + 1]), without_padding(targets[i:i + 1]), weights)
        loss.backward()
        total += loss.item()
      yield total, {name: value.grad.clone() for name, value in weights.items()}


def loss_by_loops(settings, sources, targets, weights):
  """Single numbers, straight from the formulas."""
  terms, e = [], settings["label_smoothing"]
  for source, target in zip(sources, targets):
    source, target = source[source != PAD], target[target != PAD]
    logits = model.transformer(source[None], target[None], settings["h"], DIALECTS[settings["dialect"]],
                               **weights)["decoder.logits"]
    for row, wanted in zip(logits, target):
      log_total = max(row) + math.log(math.fsum(math.exp(s - max(row)) for s in row))
      terms.append((1 - e) * (log_total - row[wanted]) + e * math.fsum(log_total - s for s in row) / len(row))
  return math.fsum(terms) / len(terms)

# ---- Mistakes that both cases know -------------------------------------------------------------------------


def wrong_training(name, says, **methods):
  return wrong_step(name, says, training=type("Wrong", (Training,), methods))


PADDING_COUNTED = wrong_training(
  "padding-counted",
  "The places whose target is PAD count like the others; leave them out of the sum and of the number by which "
  "it is divided.",
  counted=lambda self, targets: torch.ones_like(targets, dtype=torch.bool))

MEAN_OF_MEANS = wrong_training(
  "mean-of-means",
  "Each sentence's loss was divided by its own length and then the mean of these taken; divide the sum over all "
  "sentences by the number of all their targets.",
  mean=lambda self, losses, counted: (losses.sum(dim=1) / counted.sum(dim=1)).mean())

NOT_CLEARED = wrong_training(
  "gradients-not-cleared",
  "The gradient of each update was added to those of the updates before; set it to 0 after each update.",
  gradients=lambda self, fresh, before:
    {name: value + before[name] for name, value in fresh.items()} if before else fresh)

STEP_FROM_ZERO = wrong_training(
  "step-counted-from-zero",
  "The first update has the rate for s = 0, which is 0, and each later one the rate of the update before it; "
  "count s from 1.",
  rate=lambda self, s, d_model: Training.rate(self, s - 1, d_model) if s > 1 else 0.0)

NOT_CORRECTED = wrong_training(
  "bias-correction-forgotten",
  "The moments are used as they are; they start at 0, so divide them by 1 − βˢ first.",
  corrected=lambda self, moment, beta, s: moment)
