#include "attn/core/blas.hpp"

#include <dlfcn.h>

#include <sstream>

extern "C" void cblas_dgemm();  // only its address is taken here

namespace attn {
namespace {

/// OpenBLAS has functions that tell about it and other libraries have not, so they are looked up at run time.
template <typename Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

BlasInfo blas_info() {
  BlasInfo info{"unknown", "unknown", "unknown", "", 0};
  Dl_info where{};
  if (dladdr(reinterpret_cast<void*>(&cblas_dgemm), &where) != 0) info.file = where.dli_fname;
  if (auto* config = find<char*()>("openblas_get_config")) {
    std::istringstream words(config());
    std::string name;
    std::string version;
    words >> name >> version;
    info.library = name + " " + version;
  }
  if (auto* parallel = find<int()>("openblas_get_parallel")) {
    const int kind = parallel();
    info.threading = kind == 0 ? "none" : kind == 1 ? "pthread" : kind == 2 ? "openmp" : "unknown";
  }
  if (auto* kernel = find<char*()>("openblas_get_corename")) info.kernel = kernel();
  if (auto* threads = find<int()>("openblas_get_num_threads")) info.threads = threads();
  return info;
}

void leave_threads_to_callers() {
  if (blas_info().threading != "pthread") return;
  if (auto* set_threads = find<void(int)>("openblas_set_num_threads")) set_threads(1);
}

}  // namespace attn
