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

// A call of about 18,000 rows or more is cut inside OpenBLAS, where its buffers end. So very many rows are cut
// here first, into panels of so many; the last one is up to twice as high.
constexpr std::size_t panel_rows = 6144;

// Columns may not be cut freely: kernels work ahead from one group of columns to the next. So they are cut by the
// shape alone, for one thread too, and only where there are too few rows to cut.
constexpr std::size_t few_rows = 128, panel_columns = 512;

/// Where a panel begins; the last one takes what is left.
std::size_t panel_begin(std::size_t length, std::size_t panel, std::size_t panels, std::size_t i) {
  return i == panels ? length : i * panel;
}

/// How C is cut: into panels, by its shape alone, and each of them into blocks of rows, by the number of threads.
class Grid {
 public:
  Grid(std::size_t rows, std::size_t columns, std::size_t k, std::size_t threads)
      : rows_(rows), columns_(columns), high_(std::max<std::size_t>(1, rows / panel_rows)) {
    if (rows < few_rows) {
      wide_ = std::max<std::size_t>(1, columns / panel_columns);
      return;
    }
    const std::size_t least_rows = std::min(rows, panel_rows);  // of a panel
    const std::size_t worth = least_rows * columns * k / grain_.least_work;
    blocks_ = std::max<std::size_t>(1, std::min({threads, least_rows / grain_.rows, worth}));
  }

  std::size_t size() const { return high_ * blocks_ * wide_; }

  /// Calls f(first row, last row, first column, last column) of a block.
  template <class F>
  void block(std::size_t number, const F& f) const {
    const std::size_t j = number % wide_, i = number / wide_ % blocks_, panel = number / wide_ / blocks_;
    const std::size_t top = panel_begin(rows_, panel_rows, high_, panel);
    const std::size_t height = panel_begin(rows_, panel_rows, high_, panel + 1) - top;
    f(top + block_begin(height, i), top + block_begin(height, i + 1),
      panel_begin(columns_, panel_columns, wide_, j), panel_begin(columns_, panel_columns, wide_, j + 1));
  }

 private:
  /// Where block i of a panel begins: at the grain that is nearest to an equal share.
  std::size_t block_begin(std::size_t height, std::size_t i) const {
    if (i == blocks_) return height;
    return (2 * (height / grain_.rows) * i + blocks_) / (2 * blocks_) * grain_.rows;
  }

  Grain grain_ = grain_of_kernels();
  std::size_t rows_, columns_;
  std::size_t high_, wide_ = 1;  // panels
  std::size_t blocks_ = 1;       // of a panel
};

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

void blocks_gemm(const Product& p) {
  const Grid grid(p.C.rows, p.C.columns, p.k(), most_threads());
  parallel_for(grid.size(), 1, [&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t b = first; b < last; ++b) {
      grid.block(b, [&](std::size_t i, std::size_t last_i, std::size_t j, std::size_t last_j) {
        p.compute(i, last_i - i, j, last_j - j);
      });
    }
  });
}

void even_gemm(const Product& p) {
  const std::size_t grain = 16;
  const bool by_row = p.C.rows >= grain * most_threads() || p.C.rows >= p.C.columns;
  parallel_for(by_row ? p.C.rows : p.C.columns, grain, [&](std::size_t first, std::size_t last, std::size_t) {
    if (by_row) return p.compute(first, last - first, 0, p.C.columns);
    p.compute(0, p.C.rows, first, last - first);
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
  std::vector<void*> blocks;
  while (blocks.size() < most_threads()) {
    void* memory = mmap(nullptr, openblas_buffer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) break;
    blocks.push_back(memory);
  }
  for (void* memory : blocks) munmap(memory, openblas_buffer);
  if (blocks.size() < most_threads()) {
    refuse_input("memory for OpenBLAS",
                 "129 MiB for each of " + std::to_string(most_threads()) +
                     " threads (ulimit -v limits it; OMP_NUM_THREADS=1 needs the least)",
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
