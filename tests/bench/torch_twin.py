"""The same work as `attn bench`, by PyTorch: forward pass and training step of the base model.

  python3 tests/bench/torch_twin.py --tokens 1024 --threads 2 [--json FILE]

The model has the paper's order and places of dropout, no biases in attention, one tied matrix, V = 8192; the loss is
smoothed by 0.1; Adam has the paper's numbers. Sentences of 32 tokens, so that there is no padding.
"""

import argparse
import json
import math
import resource
import statistics
import time

import torch
from torch import nn

D_MODEL, D_FF, HEADS, LAYERS, VOCABULARY, LENGTH = 512, 2048, 8, 6, 8192, 32


class Attention(nn.Module):
  def __init__(self, cross):
    super().__init__()
    self.cross = cross
    self.asking = nn.Linear(D_MODEL, (1 if cross else 3) * D_MODEL, bias=False)
    self.answering = nn.Linear(D_MODEL, 2 * D_MODEL, bias=False) if cross else None
    self.out = nn.Linear(D_MODEL, D_MODEL, bias=False)

  def forward(self, x, memory, mask):
    if self.cross:
      q, (k, v) = self.asking(x), self.answering(memory).chunk(2, dim=-1)
    else:
      q, k, v = self.asking(x).chunk(3, dim=-1)
    q, k, v = (t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in (q, k, v))
    if hasattr(nn.functional, "scaled_dot_product_attention"):
      heads = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=mask is not None)
    else:
      scores = q @ k.transpose(-1, -2) / math.sqrt(D_MODEL // HEADS)
      heads = (scores if mask is None else scores + mask).softmax(dim=-1) @ v
    return self.out(heads.transpose(1, 2).flatten(2))


class Layer(nn.Module):
  def __init__(self, decoder, dropout):
    super().__init__()
    self.attentions = nn.ModuleList([Attention(False), Attention(True)] if decoder else [Attention(False)])
    self.feed_forward = nn.Sequential(nn.Linear(D_MODEL, D_FF), nn.ReLU(), nn.Linear(D_FF, D_MODEL))
    self.norms = nn.ModuleList(nn.LayerNorm(D_MODEL, eps=1e-6) for _ in range(3 if decoder else 2))
    self.dropout = nn.Dropout(dropout)

  def forward(self, x, memory=None, mask=None):
    for attention, norm in zip(self.attentions, self.norms):
      x = norm(x + self.dropout(attention(x, memory, None if attention.cross else mask)))
    return self.norms[-1](x + self.dropout(self.feed_forward(x)))


class Transformer(nn.Module):
  def __init__(self, dropout=0.1):
    super().__init__()
    self.embedding = nn.Embedding(VOCABULARY, D_MODEL)
    nn.init.normal_(self.embedding.weight, std=D_MODEL ** -0.5)
    self.encoder = nn.ModuleList(Layer(False, dropout) for _ in range(LAYERS))
    self.decoder = nn.ModuleList(Layer(True, dropout) for _ in range(LAYERS))
    self.dropout = nn.Dropout(dropout)
    angle = torch.arange(LENGTH)[:, None] * 10000.0 ** (-torch.arange(0, D_MODEL, 2) / D_MODEL)
    self.register_buffer("positions", torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1))
    self.register_buffer("mask", torch.full((LENGTH, LENGTH), -math.inf).triu(1))

  def embed(self, tokens):
    return self.dropout(self.embedding(tokens) * math.sqrt(D_MODEL) + self.positions)

  def forward(self, source, target):
    memory = self.embed(source)
    for layer in self.encoder:
      memory = layer(memory)
    x = self.embed(target)
    for layer in self.decoder:
      x = layer(x, memory, self.mask)
    return x @ self.embedding.weight.T


class OfModules(Transformer):
  """The same of PyTorch's own layers, as most people put them together: with biases, and dropout inside."""

  def __init__(self, dropout=0.1):
    super().__init__(dropout)
    sizes = {"d_model": D_MODEL, "nhead": HEADS, "dim_feedforward": D_FF, "dropout": dropout, "batch_first": True}
    self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**sizes), LAYERS)
    self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**sizes), LAYERS)

  def forward(self, source, target):
    x = self.decoder(self.embed(target), self.encoder(self.embed(source)), tgt_mask=self.mask)
    return x @ self.embedding.weight.T


def main():
  parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
  parser.add_argument("--tokens", type=int, default=1024, help="target tokens of a batch")
  parser.add_argument("--threads", type=int, default=torch.get_num_threads())
  parser.add_argument("--runs", type=int, default=3)
  parser.add_argument("--modules", action="store_true", help="PyTorch's own nn.TransformerEncoderLayer and its like")
  parser.add_argument("--json", help="a file for every figure")
  options = parser.parse_args()
  if options.tokens < LENGTH or options.tokens % LENGTH:
    parser.error(f"--tokens: wanted whole sentences of {LENGTH} tokens, got {options.tokens}")
  torch.set_num_threads(options.threads)
  torch.manual_seed(1)
  model = OfModules() if options.modules else Transformer()
  adam = torch.optim.Adam(model.parameters(), lr=1e-5, betas=(0.9, 0.98), eps=1e-9)
  loss_of = nn.CrossEntropyLoss(label_smoothing=0.1)
  source, target, wanted = (torch.randint(3, VOCABULARY, (options.tokens // LENGTH, LENGTH)) for _ in range(3))

  def loss():
    return loss_of(model(source, target).flatten(0, 1), wanted.flatten())

  def step():
    model.train()
    adam.zero_grad(set_to_none=False)
    loss().backward()
    adam.step()

  def forward():
    model.eval()
    with torch.no_grad():
      loss().item()

  def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start

  step(), forward(), step()
  steps, forwards, faults = [], [], 0
  for _ in range(options.runs):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    steps.append(seconds(step))
    forwards.append(seconds(forward))
    faults = max(faults, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
  result = {
    "torch": torch.__version__, "target_tokens": options.tokens, "threads": options.threads,
    "parameters": sum(p.numel() for p in model.parameters()),
    "forward": {"best_s": min(forwards), "median_s": statistics.median(forwards)},
    "step": {"best_s": min(steps), "median_s": statistics.median(steps)},
    "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "page_faults": faults,
  }
  print(f"PyTorch {torch.__version__}, {options.threads} threads, {options.tokens} tokens: "
        f"forward {options.tokens / min(forwards):.0f} tok/s, step {options.tokens / min(steps):.0f} tok/s, "
        f"peak {result['peak_bytes'] / 1e6:.0f} MB, {faults} page faults")
  if options.json:
    with open(options.json, "w") as file:
      json.dump(result, file, indent=2)


if __name__ == "__main__":
  main()
