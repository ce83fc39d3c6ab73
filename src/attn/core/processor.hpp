/// @file
/// @brief What this processor can do, and how much of it this program may use.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace attn {

/// The widest vector instructions of an x86-64 processor that matrix products are written for, in increasing
/// order.
enum class Vectors {
  unknown,  ///< not an x86-64 processor
  sse,      ///< 4 floats at once
  avx,      ///< 8 floats at once
  avx2,     ///< 8 floats at once, multiplied and added in one instruction
  avx512    ///< 16 floats at once, multiplied and added in one instruction
};

/// Asks the processor and the operating system.
/// @return the widest vectors that both support
Vectors processor_vectors();

/// @return whether AMD made the processor
bool is_amd();

/// @param vectors  any
/// @return         such as "AVX-512"
std::string name(Vectors vectors);

/// How many processors' worth of time the control groups of this process allow: in a container this can be less
/// than the number of processors that are visible.
/// @param root  the root of the file system; tests give another
/// @return      such as 1.5; infinity where there is no limit
/// @see The Linux kernel's documentation of control groups: cpu.max (version 2), cpu.cfs_quota_us (version 1)
double cpu_quota(const std::filesystem::path& root = "/");

/// How many threads to start unless the user says otherwise: more than the quota would wait for each other.
/// @param processors  how many are visible
/// @param quota       what cpu_quota() gave
/// @return            the smaller of the two, rounded up, at least 1
std::size_t threads_within(std::size_t processors, double quota);

}  // namespace attn
