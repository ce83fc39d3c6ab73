"""Golden cases of chapter 1: softmax(X Xᵀ) X."""

from common import (ALREADY_SCALED, AXIS_DROPPED, NO_MAXIMUM, SOFTMAX_MISTAKES, TOLERANCE, attend, main,
                    make_case, matrices, product, row_softmax, wrong_step)

MEANINGS = {
  "scores": "X Xᵀ, the inner product of every row with every row",
  "weights": "softmax of each row of the scores",
  "output": "weights X",
}


def truth(X):
  scores = product(X, X.T)
  weights = row_softmax(scores)
  return {"scores": scores, "weights": weights, "output": product(weights, X)}


def by_torch(X):
  scores = X @ X.T
  weights = scores.softmax(dim=1)
  return {"scores": scores, "weights": weights, "output": weights @ X}


def steps(X, **replaced):
  tensors = attend(X, X, X, **replaced)
  return {name: tensors[name] for name in MEANINGS}


RESHAPED = wrong_step(
  "reshaped-not-transposed",
  "X was reshaped to the shape of Xᵀ, which leaves the numbers in their order; transpose it, so that column "
  "j is row j of X.",
  score=lambda Q, K: Q @ K.reshape(K.shape[::-1]))

MISSING_TRANSPOSE = wrong_step(
  "missing-transpose",
  "The scores are X X; it must be X Xᵀ, so that entry (i, j) is row i times row j.",
  score=lambda Q, K: Q @ K)

FEATURES_BY_FEATURES = wrong_step(
  "features-by-features",
  "The scores are Xᵀ X, which compares columns (features); it must be X Xᵀ, which compares rows (words).",
  score=lambda Q, K: Q.T @ K)

LARGE_TOLERANCE = {
  "float64": 1e-11,
  "float32": 2e-4,
  "reason": "Near 1000 neighbouring numbers lie 1e-13 apart in double and 6e-5 in float; the exponential "
            "turns such a step of a score into a relative step of its weight.",
}


def case(name, title, X, mistakes, tolerance=TOLERANCE):
  return make_case(f"01-similarity/{name}", 1, title, "softmax(X Xᵀ) X", "similarity_attention",
                   matrices(X=X), MEANINGS, truth, steps, by_torch, mistakes, tolerance)


main("01-similarity", [
  case("distinct", "Five vectors of length 3 attend to each other without any weights.",
       [[0.0, 0.3, 1.1], [-0.4, 0.4, -0.2], [0.8, 0.3, -0.6], [0.2, -0.5, -0.9], [-0.8, -0.2, -1.0]],
       [*SOFTMAX_MISTAKES, RESHAPED, ALREADY_SCALED]),
  case("square", "Four vectors of length 4: no shape betrays a mistake.",
       [[0.7, 0.8, -0.8, 0.2], [0.0, 0.0, -0.7, 1.0], [-0.3, 1.0, 0.0, -0.4], [-0.3, -0.4, 0.8, 0.8]],
       [*SOFTMAX_MISTAKES, AXIS_DROPPED, MISSING_TRANSPOSE, FEATURES_BY_FEATURES, ALREADY_SCALED]),
  case("large", "Scores near 1000: a softmax that does not subtract the maximum overflows.",
       [[31.62, 0.5], [31.6, -1.0], [31.65, 0.25]],
       [*SOFTMAX_MISTAKES, NO_MAXIMUM], LARGE_TOLERANCE),
])
