/// @file
/// @brief Which BLAS library does the matrix products, whether it uses the processor, and whether it is right.
#pragma once

#include <cstddef>
#include <string>

#include "attn/core/processor.hpp"

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

/// The memory that OpenBLAS takes for each thread on x86-64, in bytes: its BUFFER_SIZE, and some pages.
constexpr std::size_t openblas_buffer = (std::size_t{128} << 20) + (std::size_t{64} << 10);

/// Keeps a BLAS library that has threads of its own from starting them, for a caller that has threads already.
/// One that shares OpenMP's does so by itself.
void leave_threads_to_callers();

/// @param kernel  what BlasInfo::kernel says, such as "Haswell"
/// @return        the vectors that these kernels of OpenBLAS use; `unknown` for a name that is not known here
Vectors kernel_vectors(const std::string& kernel);

/// The value of OPENBLAS_CORETYPE that makes OpenBLAS use a processor.
/// @param vectors  what the processor has
/// @param amd      whether AMD made it
/// @return         such as "SkylakeX"; empty for `unknown`
std::string kernel_for(Vectors vectors, bool amd);

/// Explains when OpenBLAS uses kernels with narrower vectors than the processor has, and what to do about it.
/// OpenBLAS chooses its kernels from a list of processors, and takes its slowest ones for some that are newer than
/// the list.
/// @param info       what the library says about itself
/// @param processor  what the processor has
/// @param amd        whether AMD made it
/// @param chosen     the value of OPENBLAS_CORETYPE; empty if it is not set
/// @return           sentences for the user; empty when there is nothing to say
/// @see OpenMathLib/OpenBLAS, issue 4267
std::string kernel_advice(const BlasInfo& info, Vectors processor, bool amd, const std::string& chosen);

/// kernel_advice() for this process.
/// @return sentences for the user; empty when there is nothing to say
std::string kernel_advice();

/// Compares products of small matrices, with shapes that end in the middle of a vector, with plain loops in
/// double. It takes a few milliseconds.
/// @return what is wrong, such as "sgemm of 33 x 67 times 67 x 49 is off by 0.3"; empty when all is right
std::string wrong_product();

/// Makes OpenMP start as many threads as there may be, and no more: not more than OMP_THREAD_LIMIT allows, and,
/// unless OMP_NUM_THREADS says how many, not more than the processor time of a container. OpenBLAS waits for ever
/// when it gets fewer threads than it has asked for, so OMP_DYNAMIC is switched off.
void use_available_threads();

/// Starts this program again with OPENBLAS_CORETYPE set when OpenBLAS leaves a part of the processor unused and
/// the user has not set that variable. The best kernels are taken whose products are right; each is first tried by
/// a process of its own, which ends in this function. Call it first in main(), before any thread is started:
/// OpenBLAS chooses its kernels when it is loaded, and cannot choose again. Returns when there is nothing to
/// change, or when the program cannot be started again. Only Linux is supported; elsewhere it returns.
/// @param argv  the program's arguments
/// @throws InputError when the user asks for kernels that the processor cannot run
void use_best_kernels(char** argv);

}  // namespace attn
