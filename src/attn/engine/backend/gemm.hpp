/// @file
/// @brief Matrix products of floats: the one way of the engine to BLAS.
#pragma once

#include <cstddef>

#include "attn/engine/backend/view.hpp"

namespace attn::engine {

/// How a product is shared among threads.
enum class Cutting {
  blocks,  ///< into blocks of C that keep the bits of the whole product: what the engine does
  even,    ///< into equal blocks of rows, or of columns where there are few rows; the bits depend on the threads
  library  ///< by the BLAS library
};

/// \f$C = s\,\mathrm{op}(A)\,\mathrm{op}(B)\f$, or added to C, on this thread alone.
/// @param scale   s
/// @param A       the first factor
/// @param A_turned  whether it is transposed
/// @param B       the second factor
/// @param B_turned  whether it is transposed
/// @param C       the result
/// @param add     whether C keeps what it has
void gemm(float scale, View A, bool A_turned, View B, bool B_turned, View C, bool add);

/// The same by all threads, with s = 1. With Cutting::blocks the bits of the result do not depend on the number of
/// threads, if BLAS is OpenBLAS.
/// @param A         the first factor
/// @param A_turned  whether it is transposed
/// @param B         the second factor
/// @param B_turned  whether it is transposed
/// @param C         the result
/// @param add       whether C keeps what it has
/// @param cutting   how it is shared
void parallel_gemm(View A, bool A_turned, View B, bool B_turned, View C, bool add,
                   Cutting cutting = Cutting::blocks);

/// Makes OpenBLAS take the memory for products on all threads at once. Where it gets none, it would try for ever
/// during a product.
/// @throws InputError when there is not enough, such as under `ulimit -v`
void reserve_blas_memory();

}  // namespace attn::engine
