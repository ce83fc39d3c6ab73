"""Golden cases of chapter 9: the whole Transformer in six dialects, and its loss."""

import math
from dataclasses import replace

import numpy as np
import torch

import model
import model_torch
from common import main, make_case, matrices, wrong_input, wrong_step
from model import BOS, DIALECTS, EOS, PAD, drawn, layer_weights, layers_of, model_meanings, norm_weights
from model_steps import Model, wrong_dialect, wrong_part

PAPER = "Vaswani et al. 2017, sections 3.1 to 3.5"
LOSS = "Vaswani et al. 2017, section 5.4; Szegedy et al. 2016, section 7"
TOLERANCE = {
  "float64": 1e-12,
  "float32": 2e-5,
  "reason": "Numbers of size 1 to 10 and some forty sums of at most 10 terms behind each other, with ten layer "
            "norms between them: the order of summation moves them by about 1e-14 in double and 4e-6 in float.",
}
LOSS_TOLERANCE = {
  "float64": 1e-12,
  "float32": 1e-5,
  "reason": "Logarithms of sums of 7 exponentials, of size 1 to 10: the order of summation moves them by about "
            "1e-15 in double and 1e-6 in float.",
}
H, LAYERS, D_MODEL, D_FF, VOCABULARY = 2, 2, 6, 10, 11

# ---- Weights that the cases share --------------------------------------------------------------------------

WEIGHTS = {
  "embedding": drawn("09/embedding", VOCABULARY, D_MODEL, 0.9),
  "projection.b": drawn("09/projection.b", 1, VOCABULARY, 0.6),
}
for kind in "encoder", "decoder":
  for layer in range(LAYERS):
    own = layer_weights(kind, f"09/{kind}.{layer}", D_MODEL, D_FF, bias=True)
    WEIGHTS |= {f"{kind}.{layer}.{name}": value for name, value in own.items()}
WEIGHTS |= {name: value for kind in ("encoder", "decoder")
            for name, value in norm_weights(f"{kind}.norm", "09", D_MODEL).items()}

SOURCE = np.array([[4, 9, 3, 8, PAD]], dtype=np.int64)
TARGET = np.array([[5, 7, 10, EOS]], dtype=np.int64)


def used_by(dialect):
  """The names of the weights that a dialect has."""
  def has(name):
    if name == "projection.b":
      return dialect.output_bias
    if name.startswith(("encoder.norm", "decoder.norm")):
      return dialect.final_norm
    return dialect.attention_bias or not name.split(".")[-1] in ("b_Q", "b_K", "b_V", "b_O")
  return [name for name in WEIGHTS if has(name)]


# ---- The model ---------------------------------------------------------------------------------------------


def model_case(name, title, mistakes):
  dialect = DIALECTS[name]
  used = used_by(dialect)
  inputs = {"source": SOURCE, "target": TARGET, **{key: WEIGHTS[key] for key in used}}

  def truth(**tensors):
    return model.transformer(h=H, dialect=dialect, **tensors)

  def by_torch(**tensors):
    return model_torch.transformer(h=H, dialect=dialect, **tensors)

  def steps(source, target, model=Model, dialect=dialect, **weights):
    return model(dialect, H).transformer(source, target, **weights)

  bias = " + b" if dialect.output_bias else ""
  return make_case(f"09-full-model/{name}", 9, title,
                   f"Decoder(shifted target, Encoder(source)) embeddingᵀ{bias}", "transformer", inputs,
                   model_meanings(dialect, LAYERS), truth, steps, by_torch, mistakes(dialect), TOLERANCE,
                   {"h": H, "dialect": name}, shared={key: f"../weights/{key}.npy" for key in used},
                   reference=PAPER)


def sees_all(self, source, n):
  return np.ones((n, len(source)), dtype=bool)


def first_layers_weights(self, kind, weights):
  first, *others = layers_of(kind, weights)
  return [first] * (1 + len(others))


def scaled_after_positions(self, embedded, positions):
  root = embedded.dtype.type(math.sqrt(embedded.shape[1]))
  return (embedded / root + positions) * root


def softmax(logits):
  powers = np.exp(logits - logits.max(axis=1, keepdims=True))
  return powers / powers.sum(axis=1, keepdims=True)


def paper_mistakes(paper):
  return [
    wrong_part("embedding-not-scaled",
               "The rows of the embedding are not multiplied by √d_model; multiply them, in the encoder and in "
               "the decoder, before the positions are added.",
               embed=lambda self, tokens, embedding: embedding[tokens]),
    wrong_part("positions-scaled-too",
               "√d_model multiplies the sum of embedding and positions; only the embedding is multiplied.",
               with_positions=scaled_after_positions),
    wrong_part("output-scaled-too",
               "The embedding is multiplied by √d_model where it makes the logits too; there it stays as it is.",
               logits=lambda self, states, embedding, bias:
                 states @ embedding.T * states.dtype.type(math.sqrt(embedding.shape[1]))),
    wrong_part("probabilities-not-logits",
               "The softmax was taken already; logits are what comes before it.",
               logits=lambda self, states, embedding, bias: softmax(states @ embedding.T)),
    wrong_part("no-positions",
               "The position encodings are missing; add them to the input of the encoder and of the decoder.",
               positions=lambda self, kind, rows, d_model: np.zeros((rows, d_model))),
    wrong_part("positions-in-the-encoder-only",
               "The decoder's input has no position encodings; add them there too.",
               positions=lambda self, kind, rows, d_model:
                 Model.positions(self, kind, rows, d_model) * (kind == "encoder")),
    wrong_dialect("halves-of-positions",
                  "The positions hold all sines first and then all cosines; here they take turns, sine in the "
                  "even channels and cosine in the odd ones.",
                  replace(paper, positions="halves")),
    wrong_dialect("positions-from-one", "The positions are counted from 1; count them from 0.",
                  replace(paper, first_position=1)),
    wrong_part("no-shift",
               "The decoder was fed the target itself, so that each place sees the token it should say; feed a "
               "start symbol and then the target without its last token.",
               shifted=lambda self, target: target),
    wrong_dialect("zero-vector-at-the-start",
                  "The decoder starts with a row of zeros; in this dialect it starts with the embedding of "
                  "BOS (1).",
                  replace(paper, decoder_start="zero_vector")),
    wrong_part("no-causal-mask",
               "The decoder looks at what it has yet to say; query i may see only the keys 0 to i.",
               causal_mask=lambda self, n: np.ones((n, n), dtype=bool)),
    wrong_part("source-padding-seen",
               "PAD (0) in the source is looked at like a word; hide it as a key in the encoder and in the "
               "attention to memory.",
               encoder_mask=sees_all, cross_mask=lambda self, source, n: sees_all(self, source, n)),
    wrong_part("source-padding-seen-in-cross-attention",
               "The decoder looks at memory's rows for PAD; hide them there too, not only in the encoder.",
               cross_mask=sees_all),
    wrong_dialect("pre-norm",
                  "Each sub-layer computes x + F(LN(x)), the pre-norm form; here it is LN(x + F(x)).",
                  replace(paper, order="pre")),
    extra_final_norm(paper),
    wrong_part("cross-from-itself",
               "The second attention of the decoder takes its keys and values from the decoder itself; they "
               "must come from memory.",
               cross_attention=lambda self, x, layer_input, memory, mask, weights:
                 self.attention(x, x, np.ones((len(x), len(x)), dtype=bool), weights)),
    wrong_part("memory-of-the-first-layer",
               "memory is the output of the first encoder layer; it must be that of the last.",
               memory_of=lambda self, outputs, normed: outputs[0]),
    wrong_part("layers-share-weights",
               "All layers use the weights of layer 0; each layer has its own.",
               weights_of_layers=first_layers_weights),
    wrong_part("scaled-by-root-d_model",
               "The scores are divided by √d_model; divide them by √d_k, the length of a query of one head.",
               scale=lambda self, d_k, d_model: d_model**-0.5),
  ]


def extra_final_norm(paper):
  """As a new nn.Transformer has it: gamma 1, beta 0."""
  mistake = wrong_dialect(
    "extra-final-norm",
    "The encoder and the decoder end with one more layer norm, as nn.Transformer's do; here the last layer's "
    "output is the result.",
    replace(paper, final_norm=True))
  fresh = {"gamma": np.ones((1, D_MODEL)), "beta": np.zeros((1, D_MODEL))}
  mistake.inputs = {f"{kind}.norm.{x}": fresh[x] for kind in ("encoder", "decoder") for x in fresh}
  return mistake


def read_as_paper(says):
  return wrong_dialect("read-as-paper", f"These weights were used with the paper's switches; {says}",
                       DIALECTS["paper"])


def tensor2tensor_mistakes(dialect):
  return [
    read_as_paper("this dialect has the positions in halves and starts the decoder with a row of zeros."),
    wrong_dialect("frequencies-of-the-paper",
                  "The positions stand in halves, but with the paper's frequencies; here the exponent is "
                  "i / (d_model/2 − 1).",
                  replace(dialect, positions="halves")),
  ]


def annotated_mistakes(dialect):
  return [
    read_as_paper("this dialect norms first, and has a last norm, another form of layer norm, and biases."),
    wrong_part("final-norm-missing",
               "The last layer norm of the encoder and of the decoder is missing; the pre-norm form needs it.",
               norm_of=lambda self, name, x, weights:
                 x if name in ("encoder", "decoder") else Model.norm_of(self, name, x, weights)),
  ]


def marian_mistakes(dialect):
  return [
    read_as_paper("this dialect has biases in attention and for the logits, positions in halves, and a row of "
                  "zeros at the decoder's start."),
    wrong_dialect("output-bias-forgotten", "projection.b is missing; add it to the logits.",
                  replace(dialect, output_bias=False)),
  ]


def fairseq_mistakes(dialect):
  return [
    read_as_paper("this dialect has biases in attention, positions in halves counted from 2, and EOS (2) at the "
                  "decoder's start."),
    wrong_dialect("positions-from-zero", "The positions are counted from 0; this dialect counts them from 2.",
                  replace(dialect, first_position=0)),
  ]


def huggingface_mistakes(dialect):
  return [
    read_as_paper("this dialect has biases in attention and for the logits, positions in halves, swish, and a "
                  "row of zeros at the decoder's start."),
    wrong_dialect("relu", "The activation is relu; this dialect has swish, x times sigmoid(x).",
                  replace(dialect, activation="relu")),
  ]

# ---- The loss ----------------------------------------------------------------------------------------------


def shares(target, classes, label_smoothing, smoothing):
  """The distribution to which the prediction is compared."""
  if smoothing == "all_classes":
    return [(1 - label_smoothing) * (k == target) + label_smoothing / classes for k in range(classes)]
  spared = [target] if smoothing == "other_classes" else [target, PAD]
  return [1 - label_smoothing if k == target else 0 if k in spared else label_smoothing / (classes - len(spared))
          for k in range(classes)]


def loss_truth(logits, targets, label_smoothing, smoothing):
  losses, targets = [], targets[0].tolist()
  for row, target in zip(logits, targets):
    log_total = max(row) + math.log(math.fsum(math.exp(s - max(row)) for s in row))
    share = shares(target, len(row), label_smoothing, smoothing)
    terms = [q * (log_total - s) for q, s in zip(share, row) if q > 0]
    losses.append(0.0 if target == PAD else math.fsum(terms))
  counted = sum(target != PAD for target in targets)
  return {"losses": np.array([losses]), "loss": np.array([[math.fsum(losses) / counted]])}


def loss_by_torch(logits, targets, label_smoothing, smoothing):
  targets, classes = targets[0], logits.shape[1]
  if smoothing == "all_classes":
    both = {reduction: torch.nn.functional.cross_entropy(
      logits, targets, ignore_index=PAD, reduction=reduction, label_smoothing=label_smoothing)
      for reduction in ("none", "mean")}
    return {"losses": both["none"][None], "loss": both["mean"].reshape(1, 1)}
  spared = 1 if smoothing == "other_classes" else 2
  share = torch.full_like(logits, label_smoothing / (classes - spared))
  share.scatter_(1, targets[:, None], 1 - label_smoothing)
  if spared == 2:
    share[:, PAD] = 0
  share[targets == PAD] = 0
  divergence = torch.nn.functional.kl_div(logits.log_softmax(dim=1), share, reduction="none").sum(dim=1)
  losses = divergence + torch.special.entr(share).sum(dim=1)
  return {"losses": losses[None], "loss": (losses.sum() / (targets != PAD).sum()).reshape(1, 1)}


class Loss:
  """Cross-entropy in NumPy; a mistake overrides one method."""

  def __init__(self, label_smoothing, smoothing):
    self.label_smoothing, self.smoothing = label_smoothing, smoothing

  def log_softmax(self, logits):
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))

  def share(self, targets, classes):
    spread = np.ones((len(targets), classes))
    if self.smoothing != "all_classes":
      spread[np.arange(len(targets)), targets] = 0
    if self.smoothing == "other_classes_but_pad":
      spread[:, PAD] = 0
    spread *= self.label_smoothing / spread.sum(axis=1, keepdims=True)
    return (1 - self.label_smoothing) * np.eye(classes)[targets] + spread

  def of_rows(self, share, log_p):
    return -(share * log_p).sum(axis=1)

  def counted(self, targets):
    return targets != PAD

  def mean(self, losses, counted):
    return losses.sum() / losses.dtype.type(counted.sum())

  def __call__(self, logits, targets):
    targets = targets[0]
    share = self.share(targets, logits.shape[1]).astype(logits.dtype)
    counted = self.counted(targets)
    losses = np.where(counted, self.of_rows(share, self.log_softmax(logits)), 0)
    return {"losses": losses[None], "loss": np.array([[self.mean(losses, counted)]])}


def loss_case(name, title, formula, settings, mistakes, reference=LOSS):
  def truth(**tensors):
    return loss_truth(**tensors, **settings)

  def by_torch(**tensors):
    return loss_by_torch(**tensors, **settings)

  def steps(logits, targets, loss=Loss, settings=settings):
    return loss(**settings)(logits, targets)

  meanings = {"losses": "the loss of each row; 0 where the target is PAD",
              "loss": "their sum, divided by the number of targets that are not PAD"}
  return make_case(f"09-full-model/{name}", 9, title, formula, "cross_entropy", LOGITS, meanings, truth, steps,
                   by_torch, mistakes(LOGITS), LOSS_TOLERANCE, settings, reference=reference)


def wrong_loss(name, says, **methods):
  return wrong_step(name, says, loss=type("Wrong", (Loss,), methods))


def smoothed(name, says, label_smoothing, smoothing):
  return wrong_step(name, says, settings={"label_smoothing": label_smoothing, "smoothing": smoothing})


def loss_anywhere(i):
  return [
    wrong_loss("padding-counted",
               "The row whose target is PAD counts like the others; its loss is 0 and it is not counted.",
               counted=lambda self, targets: np.ones(len(targets), dtype=bool)),
    wrong_loss("divided-by-all-rows",
               "The sum is divided by the number of all rows; divide it by the number of targets that are not "
               "PAD.",
               mean=lambda self, losses, counted: losses.mean()),
    wrong_loss("sum-not-mean",
               "The loss is the sum over the rows; divide it by the number of targets that are not PAD.",
               mean=lambda self, losses, counted: losses.sum()),
    wrong_loss("softmax-of-softmax",
               "The softmax was taken twice; this function takes logits and does the softmax itself.",
               log_softmax=lambda self, logits: Loss.log_softmax(self, softmax(logits))),
    wrong_loss("base-2", "The logarithm is to base 2; take the natural one.",
               log_softmax=lambda self, logits: Loss.log_softmax(self, logits) / logits.dtype.type(math.log(2))),
    wrong_loss("no-logarithm", "The probabilities are summed without their logarithm; take it first.",
               log_softmax=lambda self, logits: softmax(logits)),
    wrong_loss("no-softmax", "The logits are taken for logarithms of probabilities; take the softmax first.",
               log_softmax=lambda self, logits: logits),
    wrong_input("decoder-input-as-target",
                "Each row is compared with the token that was fed in, not with the next; the targets are not "
                "shifted.",
                targets=np.hstack([[[BOS]], i["targets"][:, :-1]])),
  ]


def unsmoothed(i):
  return [
    *loss_anywhere(i),
    smoothed("smoothed", "The targets are smoothed by 0.1; in this case they are not.", 0.1, "all_classes"),
  ]


NOT_SMOOTHED = smoothed(
  "not-smoothed", "All weight lies on the target; label smoothing leaves it 1 − epsilon and spreads the rest.",
  0.0, "all_classes")


def minus_entropy(self, share, log_p):
  logs = np.log(np.where(share > 0, share, 1))
  return (share * logs).sum(axis=1) - (share * log_p).sum(axis=1)


def smoothed_anywhere(i):
  return [
    *loss_anywhere(i), NOT_SMOOTHED,
    wrong_loss("divergence-not-cross-entropy",
               "The entropy of the smoothed targets was subtracted, which gives the divergence; its gradient is "
               "the same, but the loss is the cross-entropy.",
               of_rows=minus_entropy),
    wrong_loss("smoothing-added-on-top",
               "The spread was added, but the target kept all of its weight, so that the shares sum to more "
               "than 1; leave it 1 − epsilon.",
               share=lambda self, targets, classes:
                 Loss.share(self, targets, classes) + self.label_smoothing * np.eye(classes)[targets]),
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

LOGITS = {
  **matrices(logits=[[0.4, -1.2, 0.9, 2.1, -0.3, 1.5, -0.8],
                     [-2.1, 0.6, 1.3, -0.5, 0.2, 0.7, 2.4],
                     [1.1, 0.3, -0.9, 1.8, 0.5, -1.4, 0.6],
                     [-1.6, -0.7, 2.9, 0.1, 1.2, -0.2, 0.8],
                     [0.2, 1.7, -1.1, 0.3, -0.6, 0.9, 1.0]]),
  "targets": np.array([[4, 6, 3, EOS, PAD]], dtype=np.int64),
}
OF_THE_AUTHORS = "Vaswani et al. 2017, section 5.4, as in the authors' tensor2tensor"
OF_ANNOTATED = "Vaswani et al. 2017, section 5.4, as in The Annotated Transformer"

main("09-full-model", [
  model_case("paper", "The Transformer of the paper: two layers, two heads, a padded source of five tokens.",
             paper_mistakes),
  model_case("tensor2tensor", "As the authors' tensor2tensor: positions in halves, a row of zeros at the start.",
             tensor2tensor_mistakes),
  model_case("annotated", "As The Annotated Transformer: pre-norm, a last norm, its form of layer norm, biases.",
             annotated_mistakes),
  model_case("marian", "As Marian: tensor2tensor's positions and start, and biases.", marian_mistakes),
  model_case("fairseq", "As fairseq: positions in halves from 2, EOS at the start, biases in attention.",
             fairseq_mistakes),
  model_case("huggingface", "As Hugging Face's Marian: halves with the paper's frequencies, swish, biases.",
             huggingface_mistakes),
  loss_case("loss", "The loss of five rows over seven classes; the last target is padding.",
            "mean of −log p(target)", {"label_smoothing": 0.0, "smoothing": "all_classes"}, unsmoothed,
            "Vaswani et al. 2017, section 3.4"),
  loss_case("loss-smoothed", "The same with a tenth of the weight spread over all classes.",
            "mean of −Σ q log p, q = (1 − ε) on the target + ε/V on all",
            {"label_smoothing": 0.1, "smoothing": "all_classes"},
            lambda i: [*smoothed_anywhere(i), OTHERS, OTHERS_BUT_PAD]),
  loss_case("loss-smoothed-others", "The same with a tenth of the weight spread over the other classes.",
            "mean of −Σ q log p, q = 1 − ε on the target, ε/(V − 1) elsewhere",
            {"label_smoothing": 0.1, "smoothing": "other_classes"},
            lambda i: [*smoothed_anywhere(i), ALL, OTHERS_BUT_PAD], OF_THE_AUTHORS),
  loss_case("loss-smoothed-others-but-pad", "The same, and the class of padding gets none of it.",
            "mean of −Σ q log p, q = 1 − ε on the target, 0 on PAD, ε/(V − 2) elsewhere",
            {"label_smoothing": 0.1, "smoothing": "other_classes_but_pad"},
            lambda i: [*smoothed_anywhere(i), ALL, OTHERS], OF_ANNOTATED),
])
