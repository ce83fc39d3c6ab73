#!/bin/sh
# attn bench and its twin in PyTorch, in turns, on all threads: the ratios that may be quoted come from one such run.
#   tests/bench/run.sh [TOKENS ...]
# PyTorch gets what makes it fastest: the OpenMP flavour of OpenBLAS where Debian has it, large pages, and a malloc
# that keeps its memory. PYTHON names another Python, ATTN another attn.
set -e
here=$(cd "$(dirname "$0")" && pwd)
attn=${ATTN:-$here/../../build/release/bin/attn}
python=${PYTHON:-python3}
threads=${OMP_NUM_THREADS:-$(getconf _NPROCESSORS_ONLN)}
openblas=/usr/lib/$(uname -m)-linux-gnu/openblas-openmp
pages=glibc.malloc.hugetlb=1
keep=glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=8589934592
[ $# -gt 0 ] || set -- 512 1024 4096
twin() {  # NAME GLIBC_TUNABLES OPTIONS ...
  name=$1 tunables=$2
  shift 2
  printf '%s: ' "$name"
  LD_LIBRARY_PATH=$openblas${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} OMP_NUM_THREADS=$threads GLIBC_TUNABLES=$tunables \
    "$python" "$here/torch_twin.py" --threads "$threads" --runs "${RUNS:-3}" "$@"
}
for tokens in "$@"; do
  "$attn" bench --tokens "$tokens" --threads "$threads" --all-threads-only --runs "${RUNS:-3}"
  twin "the same work, tuned" "$pages:$keep" --tokens "$tokens"
  twin "the same work, large pages only" "$pages" --tokens "$tokens"
  twin "PyTorch's modules, tuned" "$pages:$keep" --tokens "$tokens" --modules
  twin "PyTorch's modules, large pages only" "$pages" --tokens "$tokens" --modules
done
