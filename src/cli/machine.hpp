// What a command that computes much should know about this machine before it begins.
#pragma once

namespace attn {

/// Starts no more threads than the processor time that a container is given, unless OMP_NUM_THREADS says how many.
void use_available_threads();

/// Says on standard error when BLAS leaves a part of the processor unused; throws when its products are wrong.
void check_products();

}  // namespace attn
