/// @file
/// @brief The backend that every machine has: OpenBLAS and plain loops, on all cores.
#pragma once

#include <memory>

#include "attn/engine/backend/backend.hpp"

namespace attn::engine {

/// What a CPU backend leaves out, to find out what the rest costs.
enum class CpuWork {
  all,           ///< nothing
  products_only  ///< everything but the matrix products: the floor that nothing can be faster than
};

/// A backend on this machine's CPU, with as many threads as OpenMP has.
/// @return the backend
std::unique_ptr<Backend> make_cpu_backend();

/// Makes a CPU backend leave out work, from now on.
/// @param backend  what make_cpu_backend() gave
/// @param work     what to do
void set_cpu_work(Backend& backend, CpuWork work);

}  // namespace attn::engine
