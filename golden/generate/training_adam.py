"""The updates of Adam, by torch.optim.Adam; loops over single numbers must agree."""

import math

import numpy as np
import torch

from common import matrices, wrong_input, wrong_step
from torch_truth import torch_case

TOLERANCE = {
  "float64": 1e-12,
  "float32": 1e-5,
  "reason": "Numbers of size 1 to 10, moved a few times by a tenth; 1 − beta_2 alone has lost a part in 10⁶ in "
            "float, which moves a parameter by less than 1e-6.",
}
MEANINGS = {
  "m": "beta_1 m + (1 − beta_1) g after each update, 0 before the first",
  "v": "beta_2 v + (1 − beta_2) g² after each update, 0 before the first",
  "after": "the parameters after each update",
}


def by_torch(beta_1, beta_2, epsilon):
  def of(start, gradients, rates):
    parameter = start[0].clone().requires_grad_()
    adam = torch.optim.Adam([parameter], betas=(beta_1, beta_2), eps=epsilon)
    rows = {name: [] for name in MEANINGS}
    for gradient, rate in zip(gradients, rates[0]):
      parameter.grad, adam.param_groups[0]["lr"] = gradient.clone(), rate.item()
      adam.step()
      state = adam.state[parameter]
      for name, value in ("m", state["exp_avg"]), ("v", state["exp_avg_sq"]), ("after", parameter):
        rows[name].append(value.detach().clone())
    return {name: torch.stack(of_name) for name, of_name in rows.items()}
  return of


def by_loops(beta_1, beta_2, epsilon, start, gradients, rates):
  result = {name: np.empty_like(gradients) for name in MEANINGS}
  for i in range(gradients.shape[1]):
    m, v, parameter = 0.0, 0.0, start[0, i]
    for s, (g, rate) in enumerate(zip(gradients[:, i], rates[0]), 1):
      m, v = beta_1 * m + (1 - beta_1) * g, beta_2 * v + (1 - beta_2) * g * g
      parameter -= rate * (m / (1 - beta_1**s)) / (math.sqrt(v / (1 - beta_2**s)) + epsilon)
      result["m"][s - 1, i], result["v"][s - 1, i], result["after"][s - 1, i] = m, v, parameter
  return result


class Adam:
  """In NumPy, a row of parameters at once; a mistake overrides one method."""

  def __init__(self, beta_1, beta_2, epsilon):
    self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

  def first(self, m, g):
    return self.beta_1 * m + (1 - self.beta_1) * g

  def second(self, v, g):
    return self.beta_2 * v + (1 - self.beta_2) * g**2

  def corrected(self, m, v, s):
    return m / (1 - self.beta_1**s), v / (1 - self.beta_2**s)

  def divisor(self, v_hat, s):
    return np.sqrt(v_hat) + self.epsilon

  def kept(self, moment, corrected):
    return moment

  def moved(self, x, step):
    return x - step

  def __call__(self, start, gradients, rates):
    x = start[0]
    m, v, rows = np.zeros_like(x), np.zeros_like(x), []
    for s, (g, rate) in enumerate(zip(gradients, rates.T), 1):
      m, v = self.first(m, g), self.second(v, g)
      m_hat, v_hat = self.corrected(m, v, s)
      m, v = self.kept(m, m_hat), self.kept(v, v_hat)
      x = self.moved(x, rate * m_hat / self.divisor(v_hat, s))
      rows.append((m, v, x))
    return dict(zip(MEANINGS, map(np.array, zip(*rows))))


def wrong_adam(name, says, **methods):
  return wrong_step(name, says, adam=type("Wrong", (Adam,), methods))


BETAS_SWAPPED = wrong_step(
  "betas-swapped",
  "beta_1 and beta_2 changed places; m keeps beta_1 of itself, and v, the mean of the squares, beta_2.",
  swapped=True)

ANYWHERE = [
  wrong_adam("bias-correction-forgotten",
             "The moments are used as they are; they start at 0, so divide them by 1 − βˢ first.",
             corrected=lambda self, m, v, s: (m, v)),
  wrong_adam("second-moment-not-corrected",
             "Only m is divided by 1 − beta_1ˢ; v starts at 0 too: divide it by 1 − beta_2ˢ.",
             corrected=lambda self, m, v, s: (m / (1 - self.beta_1**s), v)),
  wrong_adam("corrected-one-update-ahead",
             "The bias correction has s + 1 in place of s; at the first update s is 1.",
             corrected=lambda self, m, v, s: Adam.corrected(self, m, v, s + 1)),
  wrong_adam("corrected-moments-kept",
             "The corrected moments took the place of the moments, so that each update corrects them again; keep "
             "m and v as they are, and correct copies.",
             kept=lambda self, moment, corrected: corrected),
  wrong_adam("epsilon-inside-the-root",
             "epsilon is added under the root, where it weighs as much as its own root does outside; add it to "
             "the root.",
             divisor=lambda self, v_hat, s: np.sqrt(v_hat + self.epsilon)),
  wrong_adam("epsilon-before-the-correction",
             "epsilon is added to the root of v before the bias correction (TensorFlow's form, the paper's "
             "epsilon hat); add it to the root of the corrected v.",
             divisor=lambda self, v_hat, s:
               np.sqrt(v_hat) + self.epsilon / v_hat.dtype.type(math.sqrt(1 - self.beta_2**s))),
  wrong_adam("root-forgotten",
             "The step is divided by the mean of the squares; divide it by the root of it.",
             divisor=lambda self, v_hat, s: v_hat + self.epsilon),
  wrong_adam("first-moment-not-decayed",
             "m grows by (1 − beta_1) g but keeps all of itself; it keeps beta_1 of itself.",
             first=lambda self, m, g: m + (1 - self.beta_1) * g),
  wrong_adam("upwards",
             "The step was added, which climbs; subtract it, for the gradient points up.",
             moved=lambda self, x, step: x + step),
  BETAS_SWAPPED,
]


def square_only(i):
  return [
    wrong_input("gradients-transposed",
                "Column s was taken for the gradient of update s; rows are updates and columns are parameters.",
                gradients=i["gradients"].T),
    wrong_step("rates-by-parameter",
               "Rate i was used for parameter i; rate s belongs to all parameters at update s.",
               by_parameter=True),
  ]


def adam_case(name, title, settings, inputs, mistakes):
  def steps(start, gradients, rates, adam=Adam, swapped=False, by_parameter=False):
    beta_1, beta_2 = (settings[key] for key in (("beta_2", "beta_1") if swapped else ("beta_1", "beta_2")))
    rates = np.repeat(rates.T, len(gradients), axis=1) if by_parameter else rates
    return adam(beta_1, beta_2, settings["epsilon"])(start, gradients, rates)

  return torch_case(
    f"10-training/{name}", 10, title,
    "m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g², θ ← θ − rate m̂ / (√v̂ + ε), m̂ = m / (1 − β₁ˢ), "
    "v̂ = v / (1 − β₂ˢ)",
    "adam_steps", inputs, MEANINGS, by_torch(**settings), steps,
    [("loops over single numbers", by_loops(**settings, **inputs), TOLERANCE["float64"] / 4)], mistakes, TOLERANCE,
    "Kingma and Ba 2015, algorithm 1; Vaswani et al. 2017, section 5.3", settings)

# ---- The cases ---------------------------------------------------------------------------------------------


SETTINGS = {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-9}

BY_HAND = matrices(start=[[1, 2, 3]],
                   gradients=[[0.5, -2, 1e-9], [0, -2, 1e-9]],
                   rates=[[0.1, 0.1]])

DISTINCT = matrices(start=[[0.8, -1.4, 0.3, 2.1, -0.6]],
                    gradients=[[0.7, -1.9, 1e-9, 0.04, -0.5],
                               [-0.3, -0.8, -1e-9, 0.11, 2.4],
                               [0, 0, 0, 0, 0],
                               [1.2, 0.5, 1e-9, -0.06, 0.9],
                               [1e-9, 1e-9, -1e-9, 1e-9, -1e-9],
                               [-0.9, 1.6, 1e-9, 0.02, -1.3]],
                    rates=[[0.05, 0.1, 0.15, 0.2, 0.18, 0.16]])

SQUARE = matrices(start=[[-0.7, 1.2, 0.4, -1.8]],
                  gradients=[[0.9, -0.2, 1e-9, 1.5], [-1.1, 0.6, 1e-9, 0.3], [0.4, 0.8, -1e-9, -2.2],
                             [1.7, -1.3, 1e-9, 0.5]],
                  rates=[[0.05, 0.2, 0.15, 0.1]])


def cases():
  return [
    adam_case("adam", "Six updates of five parameters; one gradient is always tiny, one row is 0.", SETTINGS,
              DISTINCT, ANYWHERE),
    adam_case("adam-square", "Four updates of four parameters: no shape betrays a mistake.", SETTINGS, SQUARE,
              [*ANYWHERE, *square_only(SQUARE)]),
    adam_case("adam-by-hand",
              "Two updates that can be followed by hand; a gradient as small as epsilon makes half a step.",
              SETTINGS, BY_HAND, ANYWHERE),
  ]
