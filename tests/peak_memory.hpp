// How much memory a program has had at most.
#pragma once

#include <sys/resource.h>

namespace attn::tests {

/// In megabytes: of this program (RUSAGE_SELF), or of the largest that it has run (RUSAGE_CHILDREN).
inline long peak_megabytes(int whose) {
  rusage usage{};
  getrusage(whose, &usage);
#ifdef __APPLE__
  return usage.ru_maxrss >> 20;  // from bytes
#else
  return usage.ru_maxrss >> 10;  // from kilobytes
#endif
}

}  // namespace attn::tests
