/// @file
/// @brief The backend that every machine has: OpenBLAS and plain loops, on all cores.
#pragma once

#include <memory>

#include "attn/engine/backend/backend.hpp"

namespace attn::engine {

/// What a CPU backend leaves out, to find out what the rest costs.
enum class CpuWork {
  all,              ///< nothing
  products_only,    ///< everything but the matrix products: the floor that nothing can be faster than
  even_products,    ///< the same, with products cut into equal parts; only for measuring
  library_products  ///< the same, with products cut by the BLAS library; only for measuring
};

/// A backend on this machine's CPU, with as many threads as OpenMP has. For the same input it gives the same bits
/// with any number of threads, if BLAS is OpenBLAS. Denormal numbers count as 0.
/// @return the backend
/// @throws InputError when OpenBLAS cannot get the memory for its products
std::unique_ptr<Backend> make_cpu_backend();

/// Makes a CPU backend leave out work, from now on.
/// @param backend  what make_cpu_backend() gave
/// @param work     what to do
void set_cpu_work(Backend& backend, CpuWork work);

}  // namespace attn::engine
