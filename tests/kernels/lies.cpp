// Loaded before OpenBLAS (LD_PRELOAD), it plays two faults: a processor that OpenBLAS does not know, and kernels
// that compute wrong products. ATTN_TEST_WRONG_PRODUCTS names those kernels, or says "all".
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace {

bool kernels_are_wrong() {
  const char* wrong = std::getenv("ATTN_TEST_WRONG_PRODUCTS");
  const char* chosen = std::getenv("OPENBLAS_CORETYPE");
  if (wrong == nullptr) return false;
  return std::strcmp(wrong, "all") == 0 || (chosen != nullptr && std::strcmp(wrong, chosen) == 0);
}

}  // namespace

extern "C" {

char* openblas_get_corename() {
  static char slow[] = "Prescott";
  const char* chosen = std::getenv("OPENBLAS_CORETYPE");
  if (chosen == nullptr || *chosen == '\0') return slow;
  return reinterpret_cast<char* (*)()>(dlsym(RTLD_NEXT, "openblas_get_corename"))();
}

void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float* a,
                 int lda, const float* b, int ldb, float beta, float* c, int ldc) {
  using Sgemm =
      void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
  const auto real = reinterpret_cast<Sgemm>(dlsym(RTLD_NEXT, "cblas_sgemm"));
  real(order, transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  const bool last_column_is_lost = kernels_are_wrong() && n % 16 != 0;
  for (int i = 0; last_column_is_lost && i < m; ++i) c[i * ldc + n - 1] = 0.0f;
}
}
