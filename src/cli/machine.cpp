#include "cli/machine.hpp"

#include <omp.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "attn/core/blas.hpp"
#include "attn/core/errors.hpp"

namespace attn {

void use_available_threads() {
  const char* asked = std::getenv("OMP_NUM_THREADS");
  if (asked != nullptr && *asked != '\0') return;
  const auto visible = static_cast<std::size_t>(omp_get_max_threads());
  omp_set_num_threads(static_cast<int>(threads_within(visible, cpu_quota())));
}

void check_products() {
  if (const std::string advice = kernel_advice(); !advice.empty()) std::cerr << "attn: " << advice << '\n';
  if (const std::string wrong = wrong_product(); !wrong.empty()) {
    const BlasInfo blas = blas_info();
    refuse_input(blas.library + ", " + blas.kernel + " kernels",
                 "right products (another OPENBLAS_CORETYPE, or another version of the library, may give them)",
                 wrong);
  }
}

}  // namespace attn
