/// @file
/// @brief Matrix products of floats: the one way of the engine to BLAS.
#pragma once

#include "attn/engine/backend/view.hpp"

namespace attn::engine {

/// \f$C = s\,\mathrm{op}(A)\,\mathrm{op}(B)\f$, or added to C, on this thread alone when it is called from a
/// parallel region.
/// @param scale   s
/// @param A       the first factor
/// @param A_turned  whether it is transposed
/// @param B       the second factor
/// @param B_turned  whether it is transposed
/// @param C       the result
/// @param add     whether C keeps what it has
void gemm(float scale, View A, bool A_turned, View B, bool B_turned, View C, bool add);

/// The same by all threads: each takes some rows of C, or some columns where there are few rows. Inside a parallel
/// region it is gemm().
/// @param A         the first factor
/// @param A_turned  whether it is transposed
/// @param B         the second factor
/// @param B_turned  whether it is transposed
/// @param C         the result
/// @param add       whether C keeps what it has
void parallel_gemm(View A, bool A_turned, View B, bool B_turned, View C, bool add);

}  // namespace attn::engine
