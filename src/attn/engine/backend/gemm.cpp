#include "attn/engine/backend/gemm.hpp"

#include <omp.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "attn/core/blas.hpp"
#include "attn/core/errors.hpp"
#include "attn/engine/backend/parallel.hpp"

// The interface of CBLAS, whose numbers are the same in every library; the headers of two of them clash.
extern "C" {
void cblas_sgemm(int order, int turn_a, int turn_b, int m, int n, int k, float alpha, const float* a, int lda,
                 const float* b, int ldb, float beta, float* c, int ldc);
void cblas_sgemv(int order, int turn_a, int m, int n, float alpha, const float* a, int lda, const float* x,
                 int step_x, float beta, float* y, int step_y);
}

namespace attn::engine {
namespace {

constexpr int by_rows = 101, as_it_is = 111, transposed = 112;

int whole(std::size_t n) { return static_cast<int>(n); }

/// One row times a matrix: BLAS has a function of its own for it, which does not pack the matrix first.
void gemv(float scale, View A, bool A_turned, View B, bool B_turned, View C, bool add) {
  const int step = A_turned ? whole(A.stride) : 1;
  cblas_sgemv(by_rows, B_turned ? as_it_is : transposed, whole(B.rows), whole(B.columns), scale, B.data,
              whole(B.stride), A.data, step, add ? 1.0f : 0.0f, C.data, 1);
}

/// Where C may be cut without another bit in it, with OpenBLAS. Its kernels compute a group of rows at once,
/// through all columns, and round the last rows of a call differently; some take another way for small products.
struct Grain {
  std::size_t rows = 24;                          ///< a block begins at a multiple of this
  std::size_t least_work = std::size_t{1} << 23;  ///< multiplications: a block has at least so many
};

Grain grain_of_kernels() {
  static const bool avx2 = kernel_vectors(blas_info().kernel) == Vectors::avx2;
  return avx2 ? Grain{12, std::size_t{1} << 20} : Grain();
}

// A call of more rows is cut inside OpenBLAS where its buffers end.
constexpr std::size_t most_rows = 12288;

// Columns may not be cut freely: kernels work ahead from one group of columns to the next. So they are cut by the
// shape alone, for one thread too, and only where there are too few rows to cut.
constexpr std::size_t few_rows = 128, panel_columns = 512;

/// Into how many blocks C is cut.
struct Grid {
  std::size_t rows = 1;     ///< blocks of about the same height
  std::size_t columns = 1;  ///< panels of panel_columns; the last one is up to twice as wide
};

Grid choose_grid(std::size_t rows, std::size_t columns, std::size_t k, std::size_t threads) {
  if (rows < few_rows) return {1, std::max<std::size_t>(1, columns / panel_columns)};
  const Grain grain = grain_of_kernels();
  return {std::max<std::size_t>(1, std::min({threads, rows / grain.rows, rows * columns * k / grain.least_work})),
          1};
}

/// Where block i of `blocks` begins in 0 to rows.
std::size_t row_begin(std::size_t rows, std::size_t blocks, std::size_t i) {
  if (i == blocks) return rows;
  const std::size_t grain = grain_of_kernels().rows;
  return (2 * (rows / grain) * i + blocks) / (2 * blocks) * grain;
}

std::size_t column_begin(std::size_t columns, std::size_t panels, std::size_t i) {
  return i == panels ? columns : i * panel_columns;
}

/// C and what makes it.
struct Product {
  View A;
  bool A_turned;
  View B;
  bool B_turned;
  View C;
  bool add;

  std::size_t k() const { return A_turned ? A.rows : A.columns; }

  /// The block of C that begins at (i, j).
  void compute(std::size_t i, std::size_t rows, std::size_t j, std::size_t columns) const {
    gemm(1.0f, A_turned ? A.columns_from(i, rows) : A.rows_from(i, rows), A_turned,
         B_turned ? B.rows_from(j, columns) : B.columns_from(j, columns), B_turned,
         C.rows_from(i, rows).columns_from(j, columns), add);
  }
};

/// By the BLAS library's own threads.
void library_gemm(const Product& p) {
  const FlushDenormals flush;
  p.compute(0, p.C.rows, 0, p.C.columns);
}

/// One block of C, cut further where it has very many rows.
void block_gemm(const Product& p, std::size_t i, std::size_t last_i, std::size_t j, std::size_t last_j) {
  while (i < last_i) {
    const std::size_t end = std::min(last_i, (i / most_rows + 1) * most_rows);
    p.compute(i, end - i, j, last_j - j);
    i = end;
  }
}

void blocks_gemm(const Product& p) {
  const std::size_t rows = p.C.rows, columns = p.C.columns;
  const Grid grid = choose_grid(rows, columns, p.k(), most_threads());
  parallel_for(grid.rows * grid.columns, 1, [&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t b = first; b < last; ++b) {
      const std::size_t i = b / grid.columns, j = b % grid.columns;
      block_gemm(p, row_begin(rows, grid.rows, i), row_begin(rows, grid.rows, i + 1),
                 column_begin(columns, grid.columns, j), column_begin(columns, grid.columns, j + 1));
    }
  });
}

void even_gemm(const Product& p) {
  const std::size_t grain = 16;
  const bool by_row = p.C.rows >= grain * most_threads() || p.C.rows >= p.C.columns;
  parallel_for(by_row ? p.C.rows : p.C.columns, grain, [&](std::size_t first, std::size_t last, std::size_t) {
    by_row ? p.compute(first, last - first, 0, p.C.columns) : p.compute(0, p.C.rows, first, last - first);
  });
}

}  // namespace

void gemm(float scale, View A, bool A_turned, View B, bool B_turned, View C, bool add) {
  const std::size_t k = A_turned ? A.rows : A.columns;
  if (C.rows == 0 || C.columns == 0) return;
  if (k == 0) {
    for (std::size_t i = 0; i < C.rows && !add; ++i) std::fill_n(C.data + i * C.stride, C.columns, 0.0f);
    return;
  }
  if (C.rows == 1) return gemv(scale, A, A_turned, B, B_turned, C, add);
  cblas_sgemm(by_rows, A_turned ? transposed : as_it_is, B_turned ? transposed : as_it_is, whole(C.rows),
              whole(C.columns), whole(k), scale, A.data, whole(A.stride), B.data, whole(B.stride),
              add ? 1.0f : 0.0f, C.data, whole(C.stride));
}

void reserve_blas_memory() {
  static std::atomic<std::size_t> reserved = 0;
  if (reserved >= most_threads()) return;
  if (blas_info().library.rfind("OpenBLAS", 0) != 0) return;
  constexpr std::size_t block = (std::size_t{128} << 20) + (std::size_t{64} << 10);  // its BUFFER_SIZE on x86-64
  std::vector<void*> blocks;
  while (blocks.size() < most_threads()) {
    void* memory = mmap(nullptr, block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) break;
    blocks.push_back(memory);
  }
  for (void* memory : blocks) munmap(memory, block);
  if (blocks.size() < most_threads()) {
    refuse_input("memory for OpenBLAS",
                 "129 MiB for each of " + std::to_string(most_threads()) + " threads (ulimit -v limits it)",
                 "enough for " + std::to_string(blocks.size()));
  }
  constexpr std::size_t n = 256;
  std::vector<float> numbers(n * n * (1 + most_threads()));
  const View A = {numbers.data(), n, n, n};
  for (int round = 0; round < 2; ++round) {
    parallel_for(most_threads(), 1, [&](std::size_t, std::size_t, std::size_t thread) {
#pragma omp barrier
      gemm(1.0f, A, false, A, false, {numbers.data() + (1 + thread) * n * n, n, n, n}, false);
    });
  }
  reserved = most_threads();
}

void parallel_gemm(View A, bool A_turned, View B, bool B_turned, View C, bool add, Cutting cutting) {
  const Product product = {A, A_turned, B, B_turned, C, add};
  switch (cutting) {
    case Cutting::blocks:
      return blocks_gemm(product);
    case Cutting::even:
      return even_gemm(product);
    case Cutting::library:
      return library_gemm(product);
  }
}

}  // namespace attn::engine
