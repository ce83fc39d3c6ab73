"""What the generators share: the truth in plain loops, the mistakes in NumPy, and the case folders."""

import argparse
import io
import json
import math
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from posixpath import normpath

try:
  import numpy as np
  import torch
except ImportError as missing:
  print(f"golden: {missing}; the generators need NumPy and PyTorch", file=sys.stderr)
  sys.exit(2)

GOLDEN = Path(__file__).resolve().parent.parent
PAPER = "Vaswani et al. 2017, section 3.2.1, equation (1)"
VERSIONS = f"NumPy {np.__version__}, Python {sys.version_info.major}.{sys.version_info.minor}"
TOLERANCE = {
  "float64": 1e-12,
  "float32": 1e-5,
  "reason": "Numbers of size 1 to 10 and sums of at most 8 terms: the order of summation moves them by about "
            "1e-15 in double and 1e-6 in float.",
}

# ---- The truth: loops over single numbers, each sum rounded only once --------------------------------------


def product(A, B):
  """A B, entry by entry."""
  return np.array([[math.fsum(a * b for a, b in zip(row, column)) for column in B.T] for row in A])


def row_softmax(S):
  """e^(s - max) / sum, row by row: each row sums to 1."""
  weights = []
  for row in S:
    powers = [math.exp(s - max(row)) for s in row]
    weights.append([p / math.fsum(powers) for p in powers])
  return np.array(weights)


# ---- The same in NumPy, step by step, so that a wrong step can take the place of a right one ---------------


def softmax(S):
  powers = np.exp(S - S.max(axis=1, keepdims=True))
  return powers / powers.sum(axis=1, keepdims=True)


def keys_transposed(Q, K):
  return Q @ K.T


def weighted_sum(A, V):
  return A @ V


def attend(Q, K, V, score=keys_transposed, scale=1, softmax=softmax, mix=weighted_sum):
  """Attention in NumPy; every step can be replaced."""
  scores = score(Q, K)
  scaled_scores = scores * Q.dtype.type(scale)
  weights = softmax(scaled_scores)
  return {"scores": scores, "scaled_scores": scaled_scores, "weights": weights, "output": mix(weights, V)}


def softmax_over_queries(S):
  return softmax(S.T).T


def softmax_over_everything(S):
  return softmax(S.reshape(1, -1)).reshape(S.shape)


def row_sums_only(S):
  return S / S.sum(axis=1, keepdims=True)


def exponentials_only(S):
  return np.exp(S - S.max(axis=1, keepdims=True))


def axis_dropped(S):
  powers = np.exp(S - S.max(axis=1))
  return powers / powers.sum(axis=1)


def no_maximum(S):
  with np.errstate(over="ignore", invalid="ignore"):
    powers = np.exp(S)
    return powers / powers.sum(axis=1, keepdims=True)


@dataclass
class Mistake:
  name: str
  says: str      # what went wrong and what to do
  steps: dict    # steps of attend that are replaced
  inputs: dict   # inputs that are replaced


def wrong_step(name, says, **steps):
  return Mistake(name, says, steps, {})


def wrong_input(name, says, **inputs):
  return Mistake(name, says, {}, inputs)


# Mistakes that more than one chapter knows.

SOFTMAX_MISTAKES = [
  wrong_step(
    "softmax-over-queries",
    "The softmax runs over the queries (down each column); it must run over the keys, so that each row sums "
    "to 1.",
    softmax=softmax_over_queries),
  wrong_step(
    "softmax-over-everything",
    "One softmax runs over the whole matrix, so that all weights together sum to 1; each row needs a softmax "
    "of its own.",
    softmax=softmax_over_everything),
  wrong_step(
    "no-softmax-but-row-sums",
    "Each row is divided by its sum, but the exponential is missing; take e to the power of each score "
    "first.",
    softmax=row_sums_only),
  wrong_step(
    "not-normalised",
    "The exponentials are not divided by the sum of their row; divide, so that each row sums to 1.",
    softmax=exponentials_only),
]

AXIS_DROPPED = wrong_step(
  "softmax-axis-dropped",
  "The maximum and the sum of row i are used for column i: the reduced axis was dropped and broadcast the "
  "wrong way; keep it as an axis of size 1 (keepdims).",
  softmax=axis_dropped)

NO_MAXIMUM = wrong_step(
  "no-maximum-subtracted",
  "e to the power of a large score overflows, and infinity / infinity is NaN; subtract the maximum of the "
  "row before the exponential, which changes nothing else.",
  softmax=no_maximum)

MISSING_TRANSPOSE = wrong_step(
  "missing-transpose",
  "The scores are Q K; the keys must be transposed, so that entry (i, j) is query i times key j.",
  score=lambda Q, K: Q @ K)

FEATURES_BY_FEATURES = wrong_step(
  "features-by-features",
  "The scores are Qᵀ K, which compares features with features; it must be Q Kᵀ, each query with each key.",
  score=lambda Q, K: Q.T @ K)

KEYS_RESHAPED = wrong_step(
  "keys-reshaped",
  "K was reshaped to the shape of Kᵀ, which leaves the numbers in their order; transpose it, so that "
  "column j is key j.",
  score=lambda Q, K: Q @ K.reshape(K.shape[::-1]))

SUM_OVER_QUERIES = wrong_step(
  "sum-over-queries",
  "The weighted sum is weightsᵀ V, which runs over the queries; it must be weights V: row i of the weights "
  "mixes the values into output i.",
  mix=lambda A, V: A.T @ V)

ALREADY_SCALED = wrong_step(
  "already-scaled",
  "The scores are divided by the root of the length of a key; this chapter does not scale yet (chapter 3 "
  "does).",
  score=lambda Q, K: Q @ K.T / Q.dtype.type(math.sqrt(K.shape[1])))


def queries_and_keys_swapped(i):
  return wrong_input(
    "queries-and-keys-swapped",
    "W_Q and W_K changed places, so that the scores are K Qᵀ; row i must belong to query i.",
    W_Q=i["W_K"], W_K=i["W_Q"])


def weights_column_by_column(i):
  return wrong_input(
    "weights-column-by-column",
    "W_Q, W_K and W_V were filled column by column; their numbers stand row by row in the file.",
    **{name: i[name].T.reshape(i[name].shape) for name in ("W_Q", "W_K", "W_V")})

# ---- One case ----------------------------------------------------------------------------------------------


@dataclass
class Case:
  name: str        # "03-scaling/square"
  chapter: int
  title: str
  formula: str
  function: str
  inputs: dict     # name: array
  outputs: dict    # name: (array, meaning), in the order in which they are computed
  mistakes: list   # (name, says, {tensor: array})
  tolerance: dict
  source: dict
  settings: dict   # what is no tensor: {"h": 2}
  shared: dict     # where an input lies that several cases share: {"embedding": "../weights/embedding.npy"}


def difference(a, b):
  """The greatest |a - b| / max(1, |a|, |b|); a number against NaN is infinitely wrong."""
  if a.shape != b.shape:
    sys.exit(f"golden: shapes {a.shape} and {b.shape} cannot be compared")
  if (np.isfinite(a) != np.isfinite(b)).any():
    return math.inf
  with np.errstate(invalid="ignore"):
    each = np.abs(a - b) / np.maximum(1, np.maximum(np.abs(a), np.abs(b)))
  return float(np.nanmax(each, initial=0))


def in_single(array):
  """Numbers in single precision; masks and tokens as they are."""
  return array.astype(np.float32) if array.dtype == np.float64 else array


def converted(matrices, to):
  return {name: to(matrix) for name, matrix in matrices.items()}


def greatest_difference(truth, other):
  return max(difference(truth[name], other[name].astype(float)) for name in truth)


def matrices(**lists):
  return {name: np.array(rows, dtype=np.float64) for name, rows in lists.items()}


def make_case(name, chapter, title, formula, function, inputs, meanings, truth, steps, by_torch, mistakes,
              tolerance=TOLERANCE, settings=None, shared=None, reference=PAPER):
  """Computes the truth by loops, checks it by NumPy and PyTorch, and judges the mistakes.

  truth(**inputs), by_torch(**inputs) and steps(**inputs, **replaced) return {tensor: matrix}."""
  right = truth(**inputs)
  in_torch = {key: value.numpy() for key, value in by_torch(**converted(inputs, torch.tensor)).items()}
  cross_check = greatest_difference(right, in_torch)
  in_numpy = greatest_difference(right, steps(**inputs))
  in_float = greatest_difference(right, steps(**converted(inputs, in_single)))
  in_double = max(cross_check, in_numpy)
  require(in_double < tolerance["float64"] / 4, name, f"NumPy or PyTorch says otherwise: {in_double:.1e}")
  require(in_float < tolerance["float32"] / 4, name, f"the float32 tolerance is too small: {in_float:.1e}")

  wrong = [(mistake, steps(**{**inputs, **mistake.inputs}, **mistake.steps)) for mistake in mistakes]
  source = {
    "producer": f"golden/generate/{Path(sys.argv[0]).name}",
    "versions": VERSIONS,
    "cross_check": f"PyTorch {torch.__version__}, greatest difference {cross_check:.1e}",
    "reference": reference,
  }
  outputs = {key: (value, meanings[key]) for key, value in right.items()}
  return Case(name, chapter, title, formula, function, inputs, outputs, judged(name, right, wrong, tolerance),
              tolerance, source, settings or {}, shared or {})


def judged(case, right, wrong, tolerance):
  """Keeps of each mistake the tensors it changes; all of them far from the truth and from each other."""
  far, last = 100 * tolerance["float32"], list(right)[-1]
  kept = []
  for mistake, tensors in wrong:
    name = mistake.name
    apart = {key: difference(right[key], tensors[key]) for key in right}
    changed = {key: tensors[key] for key in right if apart[key] > tolerance["float64"]}
    require(last in changed, case, f"{name} does not change the {last}")
    for key in changed:
      require(apart[key] >= far, case, f"{name} is too near the truth in {key}: {apart[key]:.1e}")
    for other, _, others in kept:
      first, other_first = next(iter(changed)), next(iter(others))
      for key in {first, last} if first == other_first else {last}:
        between = difference(changed[key], others[key])
        require(between >= far, case, f"{name} is too near {other} in {key}: {between:.1e}")
    kept.append((name, mistake.says, changed))
  return kept


def require(holds, case, why):
  if not holds:
    sys.exit(f"golden: case {case}: {why}")


# ---- Case folders ------------------------------------------------------------------------------------------


def npy(array):
  file = io.BytesIO()
  little_endian = array.dtype.newbyteorder("<")
  np.lib.format.write_array(file, np.ascontiguousarray(array, dtype=little_endian), version=(1, 0))
  return file.getvalue()


def described(name, array, **more):
  return {"name": name, "shape": list(array.shape), "dtype": str(array.dtype), **more}


def case_json(case):
  text = json.dumps({
    "case": case.name,
    "chapter": case.chapter,
    "title": case.title,
    "formula": case.formula,
    "function": case.function,
    **({"settings": case.settings} if case.settings else {}),
    "inputs": [described(name, array, **({"file": case.shared[name]} if name in case.shared else {}))
               for name, array in case.inputs.items()],
    "outputs": [described(name, array, meaning=means) for name, (array, means) in case.outputs.items()],
    "tolerance": case.tolerance,
    "source": case.source,
    "mistakes": [{"name": name, "says": says, "tensors": list(tensors)}
                 for name, says, tensors in case.mistakes],
  }, indent=2, ensure_ascii=False) + "\n"
  # A list of plain numbers or names reads better on one line.
  return re.sub(r"\[\n[^][{}]+?\n *\]", lambda plain: re.sub(r"\n *", " ", plain[0]).replace("[ ", "[")
                .replace(" ]", "]"), text)


def files_of(case):
  files = {"case.json": case_json(case).encode()}
  files |= {case.shared.get(name, f"{name}.npy"): npy(array) for name, array in case.inputs.items()}
  files |= {f"{name}.npy": npy(array) for name, (array, _) in case.outputs.items()}
  for mistake, _, tensors in case.mistakes:
    files |= {f"mistakes/{mistake}/{name}.npy": npy(array) for name, array in tensors.items()}
  return {normpath(f"{case.name}/{path}"): content for path, content in files.items()}


def write(folder, files):
  part = GOLDEN / f"{folder}.part"
  shutil.rmtree(part, ignore_errors=True)
  for path, content in files.items():
    target = part / Path(path).relative_to(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
  shutil.rmtree(GOLDEN / folder, ignore_errors=True)
  part.rename(GOLDEN / folder)


def timeless(text):
  """A case.json without what depends on the tools of the day."""
  case = json.loads(text)
  del case["source"]["versions"], case["source"]["cross_check"]
  return case


def same(path, computed, committed):
  """Equal but for the last bits, which another math library may round otherwise."""
  try:
    if path.endswith(".json"):
      return timeless(computed) == timeless(committed)
    wanted, got = np.load(io.BytesIO(computed)), np.load(io.BytesIO(committed))
    alike = wanted.dtype == got.dtype and wanted.shape == got.shape
    return alike and difference(wanted.astype(float), got.astype(float)) < 1e-13
  except (ValueError, KeyError, TypeError):
    return False


def check(folder, files):
  there = {path.relative_to(GOLDEN).as_posix() for path in (GOLDEN / folder).rglob("*") if path.is_file()}
  for path in sorted(there | set(files)):
    if path not in there:
      sys.exit(f"golden/{path}: missing; run {sys.argv[0]} to write it")
    if path not in files:
      sys.exit(f"golden/{path}: no case has this file")
    if not same(path, files[path], (GOLDEN / path).read_bytes()):
      sys.exit(f"golden/{path}: differs from what {sys.argv[0]} computes")
  print(f"golden/{folder}: {len(files)} files, as computed")


def main(folder, cases):
  parser = argparse.ArgumentParser(description=f"Rewrites golden/{folder}/.")
  parser.add_argument("--check", action="store_true", help="write nothing; fail if the files differ")
  checking = parser.parse_args().check
  # An input that lies in another chapter's folder is that chapter's to write.
  files = {path: content for case in cases for path, content in files_of(case).items()
           if path.startswith(f"{folder}/")}
  if checking:
    check(folder, files)
  else:
    write(folder, files)
    print(f"golden/{folder}: {len(files)} files in {len(cases)} cases written")
