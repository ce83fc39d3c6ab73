"""The same layers by PyTorch's own modules in double precision: the cross-check."""

import math

import torch
from torch import nn

from model import KEPT, START, layers_of


class AnnotatedNorm(nn.Module):
  """With the unbiased standard deviation and epsilon outside the root."""

  def __init__(self, d_model, eps):
    super().__init__()
    self.weight, self.bias, self.eps = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(1)), eps

  def forward(self, x):
    deviation = x.std(dim=-1, unbiased=True, keepdim=True) + self.eps
    return self.weight * (x - x.mean(dim=-1, keepdim=True)) / deviation + self.bias


def norm_module(gamma, beta, dialect):
  form = nn.LayerNorm if dialect.norm == "standard" else AnnotatedNorm
  module = form(gamma.shape[1], eps=dialect.epsilon)
  module.weight, module.bias = nn.Parameter(gamma[0]), nn.Parameter(beta[0])
  return module


def load_attention(module, name, weights):
  def joined(letter, names, missing):
    return torch.cat([weights.get(f"{name}.{letter}_{x}", missing).T for x in names])
  none = torch.zeros(1, module.embed_dim, dtype=torch.float64)
  module.in_proj_weight = nn.Parameter(joined("W", "QKV", None))
  module.in_proj_bias = nn.Parameter(joined("b", "QKV", none)[:, 0])
  module.out_proj.weight = nn.Parameter(joined("W", "O", None))
  module.out_proj.bias = nn.Parameter(joined("b", "O", none)[:, 0])


def layer_module(kind, weights, h, dialect):
  """nn.TransformerEncoderLayer or nn.TransformerDecoderLayer with these weights, and the tensors it will
  have computed."""
  d_model, d_ff = weights["feed_forward.W_1"].shape
  form = nn.TransformerEncoderLayer if kind == "encoder" else nn.TransformerDecoderLayer
  activation = nn.functional.relu if dialect.activation == "relu" else nn.functional.silu
  module = form(d_model, h, d_ff, dropout=0, activation=activation, layer_norm_eps=dialect.epsilon,
                norm_first=dialect.order == "pre", dtype=torch.float64).eval()
  attentions = {"self": module.self_attn}
  norms = {"self": "norm1", "feed_forward": "norm2"}
  if kind == "decoder":
    attentions["cross"] = module.multihead_attn
    norms = {"self": "norm1", "cross": "norm2", "feed_forward": "norm3"}
  for name, attention in attentions.items():
    load_attention(attention, name, weights)
  for i, linear in (1, module.linear1), (2, module.linear2):
    linear.weight = nn.Parameter(weights[f"feed_forward.W_{i}"].T.contiguous())
    linear.bias = nn.Parameter(weights[f"feed_forward.b_{i}"][0])
  for name, norm in norms.items():
    setattr(module, norm, norm_module(weights[f"{name}.norm.gamma"], weights[f"{name}.norm.beta"], dialect))

  tensors = {}

  def keep(part, of, name):
    def hook(_, inputs, output):
      value = inputs[0] if of == "input" else output[0] if isinstance(output, tuple) else output
      tensors[name] = value.detach()
    part.register_forward_hook(hook)

  before = None
  for name, norm in norms.items():
    keep(getattr(module, norm), "output", f"{name}.norm")
    if dialect.order == "post":
      keep(getattr(module, norm), "input", f"{name}.sum")
    elif before:
      keep(getattr(module, norm), "input", f"{before}.sum")
    before = name
  if dialect.order == "pre":
    keep(module, "output", "feed_forward.sum")
  for name, attention in attentions.items():
    keep(attention, "output", f"{name}.output")
  keep(module.linear2, "input", "feed_forward.hidden")
  keep(module.linear2, "output", "feed_forward.output")
  keep(module, "output", "output")
  return module, tensors


def encoder_layer(x, mask, h, dialect, **weights):
  module, tensors = layer_module("encoder", weights, h, dialect)
  module(x, src_mask=~mask)
  return tensors


def decoder_layer(x, memory, self_mask, cross_mask, h, dialect, **weights):
  module, tensors = layer_module("decoder", weights, h, dialect)
  module(x, memory, tgt_mask=~self_mask, memory_mask=~cross_mask)
  return tensors


def positions(rows, d_model, dialect):
  double = torch.float64
  place = torch.arange(rows, dtype=double).unsqueeze(1) + dialect.first_position
  half = d_model // 2
  if d_model % 2:
    raise ValueError("the cross-check knows even d_model only")
  channels = torch.arange(half, dtype=double)
  step = 1 / max(half - 1, 1) if dialect.positions == "halves_t2t" else 1 / half
  angles = place * torch.exp(-math.log(10000) * step * channels)
  if dialect.positions == "interleaved":
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)
  return torch.cat([angles.sin(), angles.cos()], dim=1)


def transformer(source, target, h, dialect, **weights):
  embedding, tensors = weights["embedding"], {}
  d_model = embedding.shape[1]
  source, target = source[0], target[0]
  start = START[dialect.decoder_start]
  rows = nn.functional.embedding(target[:-1], embedding)
  first = torch.zeros(d_model, dtype=torch.float64) if start is None else embedding[start]
  embedded = {"encoder": nn.functional.embedding(source, embedding) * math.sqrt(d_model),
              "decoder": torch.cat([first[None], rows]) * math.sqrt(d_model)}

  def stack(kind, **more):
    tensors[f"{kind}.embedding"] = embedded[kind]
    tensors[f"{kind}.positions"] = positions(len(embedded[kind]), d_model, dialect)
    tensors[f"{kind}.input"] = embedded[kind] + tensors[f"{kind}.positions"]
    made = [layer_module(kind, own, h, dialect) for own in layers_of(kind, weights)]
    norm = None
    if dialect.final_norm:
      norm = norm_module(weights[f"{kind}.norm.gamma"], weights[f"{kind}.norm.beta"], dialect)
    if kind == "encoder":
      model = nn.TransformerEncoder(made[0][0], len(made), norm, enable_nested_tensor=False)
    else:
      model = nn.TransformerDecoder(made[0][0], len(made), norm)
    model.layers = nn.ModuleList([module for module, _ in made])
    result = model.eval()(tensors[f"{kind}.input"], **more).detach()
    for i, (_, inner) in enumerate(made):
      tensors.update({f"{kind}.{i}.{name}": inner[name] for name in KEPT[kind]})
    if norm:
      tensors[f"{kind}.norm"] = result
    return result

  padding = source == 0
  memory = tensors["encoder.memory"] = stack("encoder", src_key_padding_mask=padding)
  future = torch.ones(len(target), len(target), dtype=torch.bool).triu(1)
  states = tensors["decoder.states"] = stack("decoder", memory=memory, tgt_mask=future,
                                     memory_key_padding_mask=padding)
  bias = weights["projection.b"][0] if dialect.output_bias else None
  return {**tensors, "decoder.logits": nn.functional.linear(states, embedding, bias)}
