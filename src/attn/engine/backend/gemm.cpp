#include "attn/engine/backend/gemm.hpp"

#include <omp.h>

#include <algorithm>

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

void parallel_gemm(View A, bool A_turned, View B, bool B_turned, View C, bool add) {
  const std::size_t threads = omp_in_parallel() != 0 ? 1 : static_cast<std::size_t>(omp_get_max_threads());
  constexpr std::size_t grain = 16;  // what BLAS likes to do at once
  const bool by_row = C.rows >= grain * threads || C.rows >= C.columns;
  const std::size_t length = by_row ? C.rows : C.columns;
  const std::size_t grains = (length + grain - 1) / grain;
  const std::size_t share = (grains + threads - 1) / threads * grain;
  if (threads == 1 || share >= length) return gemm(1.0f, A, A_turned, B, B_turned, C, add);
#pragma omp parallel for schedule(static, 1)
  for (std::size_t first = 0; first < length; first += share) {
    const std::size_t count = std::min(share, length - first);
    if (by_row) {
      const View rows = A_turned ? A.columns_from(first, count) : A.rows_from(first, count);
      gemm(1.0f, rows, A_turned, B, B_turned, C.rows_from(first, count), add);
    } else {
      const View columns = B_turned ? B.rows_from(first, count) : B.columns_from(first, count);
      gemm(1.0f, A, A_turned, columns, B_turned, C.columns_from(first, count), add);
    }
  }
}

}  // namespace attn::engine
