"""Somebody else's hand: reads a .safetensors file that safetensors_test.cpp wrote, and writes one for it to read.

  python3 safetensors_peer.py FOLDER

reads ours.safetensors there and writes theirs.safetensors. It needs the standard library alone; where the packages
safetensors and numpy are installed they read ours too, and write package.safetensors. The checksum is computed here
from its description in safetensors.hpp.
"""

import json
import pathlib
import struct
import sys

try:
  import numpy
  import safetensors.numpy
except ImportError:
  safetensors = None

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "BOOL": 1}

# What the test writes: type, shape, data.
OURS = {
  "longs": ("I64", [2], struct.pack("<2q", -1, 2**40)),
  "number": ("F64", [], struct.pack("<d", 2.5)),
  "nothing": ("F64", [0, 3], b""),
  "floats": ("F32", [2, 3], struct.pack("<6f", 0.0, -0.0, 1.5, -1e38, 2**-149, float("inf"))),
  "größe \"温度\"\n\\": ("F32", [1], struct.pack("<f", 7.0)),
  "ints": ("I32", [3, 1], struct.pack("<3i", 1, -2, 3)),
  "bools": ("BOOL", [3], b"\1\0\1"),
}
OUR_METADATA = {"title": "Überschrift\t1", "": "no name"}


def checksum(metadata, tensors):
  total = 14695981039346656037

  def add(word):
    nonlocal total
    total = (total ^ word) * 11400714819323198485 % 2**64
    total ^= total >> 32

  def add_bytes(data):
    add(len(data))
    data += bytes(-len(data) % 8)
    for word in struct.unpack(f"<{len(data) // 8}Q", data):
      add(word)

  add(len(metadata))
  for key, text in sorted((key.encode(), text.encode()) for key, text in metadata.items()):
    add_bytes(key)
    add_bytes(text)
  for name, (dtype, shape, data) in sorted((name.encode(), tensor) for name, tensor in tensors.items()):
    add_bytes(name)
    add_bytes(dtype.encode())
    add(len(shape))
    for length in shape:
      add(length)
    add_bytes(data)
  return f"{total:016x}"


def read(content):
  """Metadata and tensors, the tensors in the order of their data."""
  length, = struct.unpack("<Q", content[:8])
  header, data = json.loads(content[8:8 + length].decode()), content[8 + length:]
  assert content[8:9] == b"{" and length % 8 == 0 and length <= 100_000_000
  metadata, tensors, at = header.pop("__metadata__", {}), {}, 0
  for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
    begin, end = entry["data_offsets"]
    assert begin == at and begin % SIZES[entry["dtype"]] == 0, name
    tensors[name], at = (entry["dtype"], entry["shape"], data[begin:end]), end
  assert at == len(data)
  return metadata, tensors


def write(metadata, tensors):
  header, data = {"__metadata__": metadata}, b""
  for name, (dtype, shape, values) in tensors.items():
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
    data += values
  text = json.dumps(header).encode()
  return struct.pack("<Q", len(text)) + text + data


def write_by_package(metadata, tensors):
  types = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "BOOL": "?"}
  arrays = {name: numpy.frombuffer(values, types[dtype]).reshape(shape)
            for name, (dtype, shape, values) in tensors.items()}
  return safetensors.numpy.save(arrays, metadata)


def check_ours(content):
  metadata, tensors = read(content)
  assert tensors == OURS, tensors
  assert metadata.pop("attn.checksum") == checksum(OUR_METADATA, OURS)
  assert metadata == OUR_METADATA, metadata
  if safetensors:
    theirs = {name: (t["dtype"], t["shape"], bytes(t["data"])) for name, t in safetensors.deserialize(content)}
    assert theirs == OURS, theirs


def make_theirs():
  """All numbers of 16 bits, and the same in 32; a name with an escape; something without numbers."""
  codes = struct.pack("<65536H", *range(65536))
  tensors = {
    "f16": ("F16", [256, 256], codes),
    "f16.wide": ("F32", [256, 256], struct.pack("<65536f", *struct.unpack("<65536e", codes))),
    "bf16": ("BF16", [65536], codes),
    "bf16.wide": ("F32", [65536], b"".join(struct.pack("<HH", 0, code) for code in range(65536))),
    "größe": ("F64", [], struct.pack("<d", -0.5)),
    "nothing": ("I64", [0, 2**40], b""),
    "bools": ("BOOL", [1, 2], b"\0\1"),
  }
  return {"made by": "Python"}, tensors


def sealed(metadata, tensors):
  return {**metadata, "attn.checksum": checksum(metadata, tensors)}


def main():
  folder = pathlib.Path(sys.argv[1])
  check_ours((folder / "ours.safetensors").read_bytes())
  metadata, tensors = make_theirs()
  (folder / "theirs.safetensors").write_bytes(write(sealed(metadata, tensors), tensors))
  if safetensors:
    del tensors["bf16"]  # numpy has no such type
    (folder / "package.safetensors").write_bytes(write_by_package(sealed(metadata, tensors), tensors))


if __name__ == "__main__":
  main()
