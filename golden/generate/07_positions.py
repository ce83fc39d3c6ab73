"""Golden cases of chapter 7: sines and cosines that tell where a token stands, in three published forms."""

import math

import numpy as np
import torch

from common import TOLERANCE, main, make_case, matrices, wrong_step

PAPER = "Vaswani et al. 2017, section 3.5"
T2T = f"{PAPER}, in the form of tensor2tensor (common_attention.py, get_timing_signal_1d)"
FAIRSEQ = f"{T2T}, counted as in fairseq (sinusoidal_positional_embedding.py)"
MARIAN = f"{PAPER}, in the form of Hugging Face's Marian (modeling_marian.py, MarianSinusoidalPositionalEmbedding)"

FORMULAS = {
  "interleaved": "X + P, P[p, 2i] = sin(p / 10000^(2i/d)), P[p, 2i + 1] = cos(p / 10000^(2i/d))",
  "halves": "X + P, P[p, i] = sin(p / 10000^(2i/d)) for i < ⌈d/2⌉, P[p, ⌈d/2⌉ + i] = cos(p / 10000^(2i/d))",
  "halves_t2t": "X + P, with m = ⌊d/2⌋: P[p, i] = sin(p / 10000^(i/max(m - 1, 1))) for i < m, "
                "P[p, m + i] = cos of the same, and 0 in the last column of an odd d",
}

ROUNDED_ONCE = {
  "float64": TOLERANCE["float64"],
  "float32": 5e-7,
  "reason": "Angles, sines and cosines are computed in double and rounded once; an angle near 50 that is computed "
            "in single precision is off by up to 2e-6, and one near 5000 by 2e-4.",
}

# ---- The truth: one number after the other -----------------------------------------------------------------


def true_position(form, p, c, d):
  if form == "interleaved":
    angle = p / math.pow(10000, 2 * (c // 2) / d)
    return math.sin(angle) if c % 2 == 0 else math.cos(angle)
  if form == "halves":
    sines = (d + 1) // 2
    return (math.sin(p / math.pow(10000, 2 * c / d)) if c < sines
            else math.cos(p / math.pow(10000, 2 * (c - sines) / d)))
  half = d // 2
  if c == 2 * half:
    return 0.0
  angle = p / math.pow(10000, c % half / max(half - 1, 1))
  return math.sin(angle) if c < half else math.cos(angle)


def truth_of(form, first):
  def of(X):
    n, d = X.shape
    positions = np.array([[true_position(form, first + row, c, d) for c in range(d)] for row in range(n)])
    output = np.array([[x + p for x, p in zip(*rows)] for rows in zip(X, positions)])
    return {"positions": positions, "output": output}
  return of

# ---- The same in NumPy; a wrong table can take the place of the right one ----------------------------------


def angles(p, d, exponent, base=10000):
  """One row for each position, one column for each frequency."""
  i = np.arange((d + 1) // 2)
  return p[:, None] * np.power(float(base), -exponent(i, d))


def doubled(i, d):
  return 2 * i / d


def by_t2t(i, d):
  return i / max(d // 2 - 1, 1)


def interleaved(p, d, exponent=doubled, base=10000, even=np.sin, odd=np.cos):
  at = angles(p, d, exponent, base)
  return np.stack([even(at), odd(at)], axis=2).reshape(len(p), -1)[:, :d]


def halves(p, d, exponent=doubled, base=10000, left=np.sin, right=np.cos):
  at = angles(p, d, exponent, base)
  return np.hstack([left(at), right(at[:, :d // 2])])


def halves_t2t(p, d, exponent=by_t2t, base=10000, left=np.sin, right=np.cos):
  at = angles(p, d, exponent, base)[:, :d // 2]
  return np.hstack([left(at), right(at), np.zeros((len(p), d % 2))])


FORMS = {"interleaved": interleaved, "halves": halves, "halves_t2t": halves_t2t}


def add(X, positions):
  return X + positions


def steps_of(form, right_first):
  def of(X, table=FORMS[form], first=right_first, combine=add):
    positions = table(np.arange(first, first + len(X), dtype=float), X.shape[1]).astype(X.dtype)
    return {"positions": positions, "output": combine(X, positions)}
  return of

# ---- The same in PyTorch -----------------------------------------------------------------------------------


def torch_of(form, first):
  def of(X):
    n, d = X.shape
    p = torch.arange(first, first + n, dtype=torch.float64)[:, None]
    positions = torch.zeros_like(X)
    if form == "interleaved":
      i = torch.arange(0, d, 2, dtype=torch.float64)
      at = p * torch.exp(-i / d * math.log(10000))
      positions[:, 0::2] = at.sin()
      positions[:, 1::2] = at[:, :d // 2].cos()
    else:
      sines = (d + 1) // 2 if form == "halves" else d // 2
      i = torch.arange(sines, dtype=torch.float64)
      exponent = 2 * i / d if form == "halves" else i / max(sines - 1, 1)
      at = p * torch.exp(-exponent * math.log(10000))
      positions[:, :sines] = at.sin()
      positions[:, sines:sines + d // 2] = at[:, :d // 2].cos()
    return {"positions": positions, "output": X + positions}
  return of

# ---- Mistakes ----------------------------------------------------------------------------------------------


def counted_from(first, says):
  return wrong_step(f"counted-from-{('zero', 'one')[first]}", says, first=first)


FROM_ONE = counted_from(1, "The first row has position 1; here positions count from 0.")

HALVES = wrong_step(
  "halves-not-interleaved",
  "All sines stand on the left and all cosines on the right; here they alternate, each sine with its "
  "cosine on its right.",
  table=halves)

INTERLEAVED = wrong_step(
  "interleaved-not-halves",
  "Sines and cosines alternate, as in the paper; in this form the sines stand on the left and the cosines on the "
  "right.",
  table=interleaved)


def the_wrong_way_round(table, where, **functions):
  return wrong_step("sine-and-cosine-swapped", f"Sine and cosine changed places; {where}.",
                    table=lambda p, d: table(p, d, **functions))


def wrong_frequencies(name, says, table, **replaced):
  return wrong_step(name, says, table=lambda p, d: table(p, d, **replaced))


def t2t_exponent(table):
  return wrong_frequencies(
    "t2t-exponent",
    "The exponent is i/(d/2 - 1), as in tensor2tensor, so that the slowest frequency is exactly 1/10000; here "
    "it is 2i/d.",
    table, exponent=by_t2t)


def exponent_not_doubled(table):
  return wrong_frequencies(
    "exponent-not-doubled", "The exponent is i/d, where i counts the pairs of sine and cosine; it is 2i/d.",
    table, exponent=lambda i, d: i / d)


def base_1000(table):
  return wrong_frequencies("base-1000", "The base of the frequencies is 1000; it is 10000.", table, base=1000)


NOT_ADDED = [
  wrong_step("scaled-not-added", "X is multiplied by the positions; add them.",
             combine=lambda X, positions: X * positions),
  wrong_step("not-added", "The output is X itself; add the positions.", combine=lambda X, positions: X),
]

EVEN = "channel 0 is a sine, channel 1 its cosine, and so on"
LEFT = "the sines stand on the left"


def by_channel(p, d):
  at = p[:, None] * np.power(10000.0, -np.arange(d) / d)
  return np.where(np.arange(d) % 2 == 0, np.sin(at), np.cos(at))


EXPONENT_BY_CHANNEL = wrong_step(
  "exponent-by-channel",
  "Channel c has the exponent c/d, so that a sine and its cosine have different frequencies; channels 2i and "
  "2i + 1 share 2i/d.",
  table=by_channel)

ONLY_SINES = wrong_frequencies("only-sines", "Every channel is a sine; odd channels are cosines.", interleaved,
                               odd=np.sin)


def paper():
  return [
    FROM_ONE, HALVES, the_wrong_way_round(interleaved, EVEN, even=np.cos, odd=np.sin), ONLY_SINES,
    exponent_not_doubled(interleaved), EXPONENT_BY_CHANNEL, t2t_exponent(interleaved), base_1000(interleaved),
    wrong_frequencies("exponent-always-zero",
                      "All frequencies are 1, because the exponent was divided as whole numbers and became 0; "
                      "divide 2i by d as real numbers.",
                      interleaved, exponent=lambda i, d: 0 * i),
    wrong_frequencies("exponent-positive",
                      "The position is multiplied by 10000^(2i/d); divide it, so that the frequencies fall.",
                      interleaved, exponent=lambda i, d: -2 * i / d),
    *NOT_ADDED,
    wrong_step("multiplied-by-root-d_model",
               "X was multiplied by √d_model; that belongs to the embedding and not here: X is added as it is.",
               combine=lambda X, positions: X * X.dtype.type(math.sqrt(X.shape[1])) + positions),
  ]


def odd():
  return [
    FROM_ONE, HALVES, the_wrong_way_round(interleaved, EVEN, even=np.cos, odd=np.sin), ONLY_SINES,
    exponent_not_doubled(interleaved), EXPONENT_BY_CHANNEL,
    wrong_step("positions-along-features",
               "Rows and columns of the table changed places; row p belongs to position p, and its columns to the "
               "channels.",
               table=lambda p, d: interleaved(p, d).T),
    wrong_frequencies("d-rounded-up",
                      "The frequencies are those of d + 1 channels, of which the last was cut off; divide by the "
                      "true d.",
                      interleaved, exponent=lambda i, d: 2 * i / (d + 1)),
    wrong_frequencies("d-rounded-down", "The frequencies are those of d - 1 channels; divide by the true d.",
                      interleaved, exponent=lambda i, d: 2 * i / (d - 1)),
    wrong_step("last-channel-zero",
               "The last channel of an odd d is left at 0; it is a sine without its cosine.",
               table=lambda p, d: interleaved(p, d) * (np.arange(d) < d - 1)),
    *NOT_ADDED,
  ]


def paper_halves():
  return [
    FROM_ONE, INTERLEAVED, the_wrong_way_round(halves, LEFT, left=np.cos, right=np.sin),
    exponent_not_doubled(halves), t2t_exponent(halves), base_1000(halves), *NOT_ADDED,
  ]


def fewer_sines(p, d):
  at = angles(p, d, doubled)
  return np.hstack([np.sin(at[:, :d // 2]), np.cos(at)])


def paper_halves_odd():
  return [
    FROM_ONE, INTERLEAVED, the_wrong_way_round(halves, LEFT, left=np.cos, right=np.sin),
    exponent_not_doubled(halves),
    wrong_step("more-cosines-than-sines",
               "An odd d ends with a cosine too many; the sines get the larger half: there are ⌈d/2⌉ of "
               "them.",
               table=fewer_sines),
    wrong_step("last-channel-zero",
               "The last channel of an odd d is left at 0 and there is a sine too few; there are ⌈d/2⌉ sines and "
               "⌊d/2⌋ cosines.",
               table=lambda p, d: halves_t2t(p, d, exponent=doubled)),
    wrong_frequencies("d-rounded-down", "The frequencies are those of d - 1 channels; divide by the true d.",
                      halves, exponent=lambda i, d: 2 * i / (d - 1)),
    *NOT_ADDED,
  ]


PAPER_EXPONENT = wrong_frequencies(
  "paper-exponent",
  "The exponent is 2i/d, as in the paper; in this form it is i/(d/2 - 1), so that the slowest frequency is "
  "exactly 1/10000.",
  halves_t2t, exponent=doubled)


def t2t():
  return [
    FROM_ONE, INTERLEAVED, PAPER_EXPONENT, the_wrong_way_round(halves_t2t, LEFT, left=np.cos, right=np.sin),
    wrong_frequencies("interleaved-with-this-exponent",
                      "The frequencies are right but sines and cosines alternate; in this form the sines stand on "
                      "the left and the cosines on the right.",
                      interleaved, exponent=by_t2t),
    wrong_frequencies("exponent-by-d", "The exponent is i/d; it is i/(d/2 - 1).", halves_t2t,
                      exponent=lambda i, d: i / d),
    base_1000(halves_t2t), *NOT_ADDED,
  ]


def t2t_odd():
  return [
    FROM_ONE, INTERLEAVED, PAPER_EXPONENT, the_wrong_way_round(halves_t2t, LEFT, left=np.cos, right=np.sin),
    wrong_step("halves-of-the-paper",
               "There are ⌈d/2⌉ sines, and the exponent is 2i/d; in this form there are ⌊d/2⌋, the exponent is "
               "i/max(⌊d/2⌋ - 1, 1), and the last channel is 0.",
               table=halves),
    wrong_frequencies("half-not-rounded",
                      "The exponent is i/(d/2 - 1) with d/2 not a whole number; round d/2 down first.",
                      halves_t2t, exponent=lambda i, d: i / (d / 2 - 1)),
    wrong_step("zero-in-front",
               "The channel that is 0 in an odd d stands in front; it is the last.",
               table=lambda p, d: np.roll(halves_t2t(p, d), 1, axis=1)),
    wrong_step("zero-in-the-middle",
               "The channel that is 0 in an odd d stands between the sines and the cosines; it is the last.",
               table=lambda p, d: np.insert(halves_t2t(p, d)[:, :-1], d // 2, 0, axis=1)),
    wrong_step("last-channel-wrapped",
               "The last channel of an odd d is a cosine of the first frequency, as if the frequencies began "
               "again; it is 0.",
               table=lambda p, d: np.column_stack([halves_t2t(p, d)[:, :-1], np.cos(p)])),
    *NOT_ADDED,
  ]


def fairseq():
  return [
    counted_from(0, "The first row has position 0; with this setting the first position is 2."),
    counted_from(1, "The first row has position 1; with this setting the first position is 2."),
    INTERLEAVED, PAPER_EXPONENT, the_wrong_way_round(halves_t2t, LEFT, left=np.cos, right=np.sin), *NOT_ADDED,
  ]


def far():
  return [
    counted_from(0, "The first row has position 0 (or 5000 was wrapped round); with this setting it is 5000."),
    wrong_step("one-too-far", "The first row has position 5001; with this setting it is 5000.", first=5001),
    wrong_step("table-ends-at-5000",
               "Every row has position 4999, the last of a table of 5000 rows; compute positions on demand, there "
               "is no last one.",
               table=lambda p, d: interleaved(np.minimum(p, 4999), d)),
    HALVES, the_wrong_way_round(interleaved, EVEN, even=np.cos, odd=np.sin), t2t_exponent(interleaved),
    *NOT_ADDED,
  ]


def case(name, title, X, mistakes, form="interleaved", first=0, reference=PAPER):
  counted = f"row r is position {first} + r" if first else "row r is position r"
  meanings = {"positions": f"P, one row for each row of X; {counted}", "output": "X + positions"}
  return make_case(f"07-positions/{name}", 7, title, FORMULAS[form], "add_positions", X, meanings,
                   truth_of(form, first), steps_of(form, first), torch_of(form, first), mistakes(),
                   tolerance=ROUNDED_ONCE, settings={"positions": form, "first_position": first},
                   reference=reference)


main("07-positions", [
  case("paper", "Six tokens of 8 channels, in the form of the paper.", matrices(
    X=[[0.0, 0.4, -0.1, -0.1, 0.4, 0.4, 0.3, -1.1],
       [-0.5, -0.2, 0.6, 0.0, -0.3, 0.3, 0.3, -0.9],
       [0.4, -0.3, 0.2, 0.4, -0.8, 1.0, -0.8, 0.7],
       [0.5, -0.1, 1.0, -0.5, -1.1, 0.0, -0.7, -0.1],
       [0.2, 1.2, -0.2, 0.1, 0.5, 0.6, -0.1, 0.7],
       [-0.8, -0.4, -0.6, -0.3, 0.5, 0.0, 0.8, -1.1]]), paper),
  case("odd", "Five tokens of 5 channels, in the form of the paper: the last sine has no cosine.", matrices(
    X=[[-0.8, 0.0, 0.5, -1.3, -1.1],
       [-0.8, 0.8, 0.9, 0.3, 0.4],
       [-0.5, -0.9, 0.4, 0.6, -0.1],
       [-1.6, 0.2, 0.1, -0.6, 0.6],
       [1.2, 0.7, 0.1, -0.5, 0.4]]), odd),
  case("halves", "The sines on the left, the cosines on the right, the frequencies those of the paper.", matrices(
    X=[[-0.9, 0.6, -0.3, 0.2, 0.3, -1.6],
       [0.4, -0.8, -1.0, 0.9, -1.3, -1.3],
       [-0.7, 1.1, 0.7, -0.1, 1.4, -0.6],
       [-1.4, 0.5, 0.2, 0.3, -0.9, 0.5]]), paper_halves, form="halves", reference=MARIAN),
  case("halves-odd", "The same with 5 channels: three sines and two cosines.", matrices(
    X=[[0.2, 0.2, 0.6, -0.2, -0.7],
       [-0.3, 0.0, 0.1, -0.2, 0.7],
       [1.2, 0.8, -0.3, 0.1, 0.3],
       [0.2, -0.8, -1.2, 0.1, 1.2]]), paper_halves_odd, form="halves", reference=MARIAN),
  case("halves-t2t", "Sines on the left, cosines on the right, other frequencies: the last is exactly 1/10000.",
       matrices(
    X=[[-0.9, 0.3, 0.3, 0.3, 0.4, 0.0],
       [0.4, 0.9, 1.5, -0.1, -0.7, -1.1],
       [0.2, -0.1, 1.3, -1.0, -0.4, -0.7],
       [0.2, -0.2, -0.7, -0.5, 0.8, 1.0]]), t2t, form="halves_t2t", reference=T2T),
  case("halves-t2t-odd", "The same with 5 channels: two sines, two cosines and a 0.", matrices(
    X=[[-0.5, 1.4, 0.8, 0.4, 0.9],
       [-1.3, 0.5, 1.1, 1.1, -1.2],
       [-0.7, 0.4, 0.3, -0.6, 1.0],
       [0.0, -0.1, -0.3, 1.2, -1.0]]), t2t_odd, form="halves_t2t", reference=T2T),
  case("fairseq", "The form of tensor2tensor with positions that count from 2.", matrices(
    X=[[0.3, -0.5, 1.6, -1.3, 0.5, -0.1],
       [-0.3, 0.9, -1.5, -0.8, -0.1, 1.4],
       [0.1, 0.7, -1.5, -1.0, 0.8, -0.5],
       [-0.1, 0.6, -1.6, -1.0, -0.1, -1.2],
       [-0.6, 0.0, -0.5, -0.2, 0.0, 1.1]]), fairseq, form="halves_t2t", first=2, reference=FAIRSEQ),
  case("far", "Three tokens behind position 5000, where many tables end.", matrices(
    X=[[-0.5, 0.3, -0.3, -0.9], [0.6, -0.3, 0.0, 0.6], [1.6, -0.4, 0.4, 0.7]]), far, first=5000),
])
