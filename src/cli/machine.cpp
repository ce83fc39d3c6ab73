#include "cli/machine.hpp"

#include <iostream>
#include <string>

#include "attn/core/blas.hpp"
#include "attn/core/errors.hpp"

namespace attn {

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
