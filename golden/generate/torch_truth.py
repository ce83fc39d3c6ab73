"""Cases whose truth is PyTorch's; NumPy and others must agree."""

import sys
from pathlib import Path

import torch

from common import VERSIONS, Case, converted, difference, greatest_difference, in_single, judged, require


def torch_case(name, chapter, title, formula, function, inputs, meanings, by_torch, steps, others, mistakes,
               tolerance, reference, settings=None, shared=None):
  """Computes the truth by PyTorch, checks it by NumPy and the others, and judges the mistakes.

  by_torch(**inputs) and steps(**inputs, **replaced) return {tensor: matrix}; each of the others is a name, the
  tensors that it found, and how near they must be."""
  right = {key: value.numpy() for key, value in by_torch(**converted(inputs, torch.tensor)).items()}
  in_float = greatest_difference(right, steps(**converted(inputs, in_single)))
  require(in_float < tolerance["float32"] / 4, name, f"the float32 tolerance is too small: {in_float:.1e}")
  agreed = []
  for who, tensors, near in [("NumPy", steps(**inputs), tolerance["float64"] / 4), *others]:
    worst = max(difference(right[key], tensors[key]) for key in tensors)
    require(worst < near, name, f"{who} says otherwise: {worst:.1e}")
    agreed.append(f"{who}, greatest difference {worst:.1e}")

  wrong = [(mistake, steps(**{**inputs, **mistake.inputs}, **mistake.steps)) for mistake in mistakes]
  source = {
    "producer": f"golden/generate/{Path(sys.argv[0]).name}",
    "versions": f"PyTorch {torch.__version__}, {VERSIONS}",
    "cross_check": "; ".join(agreed),
    "reference": reference,
  }
  outputs = {key: (value, meanings[key]) for key, value in right.items()}
  return Case(name, chapter, title, formula, function, inputs, outputs, judged(name, right, wrong, tolerance),
              tolerance, source, settings or {}, shared or {})


def slope(f, X, place, step):
  """How f(X) changes with one entry of X: a central difference of fourth order."""
  def at(steps):
    moved = X.copy()
    moved[place] += steps * step
    return f(moved)
  return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)
