"""Golden cases of chapter 10: the way back through attention and the loss, Adam, and training."""

import torch

import training_adam
import training_backward
import training_curve
import training_steps
from common import main

torch.set_num_threads(1)

main("10-training", [
  *training_backward.cases(),
  *training_adam.cases(),
  *training_steps.cases(),
  *training_curve.cases(),
])
