/// @file
/// @brief Which BLAS library does the matrix products.
#pragma once

#include <string>

namespace attn {

/// What the BLAS library says about itself.
struct BlasInfo {
  std::string library;    ///< such as "OpenBLAS 0.3.21"; "unknown" for libraries that do not tell
  std::string file;       ///< the file that was loaded
  std::string threading;  ///< "openmp", "pthread", "none" or "unknown"
  std::string
      kernel;       ///< the processor family whose kernels it chose, such as "Haswell"; empty if it does not tell
  int threads = 0;  ///< how many threads it uses; 0 if it does not tell
};

/// Asks the library that is loaded, not the one that was meant to be.
/// @return what it answers
BlasInfo blas_info();

/// Keeps a BLAS library that has threads of its own from starting them, for whoever calls it from many threads.
/// One that shares OpenMP's does so by itself.
void leave_threads_to_callers();

}  // namespace attn
