/// @file
/// @brief Work for all threads of the CPU, cut so that the result does not depend on how many there are.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstddef>

#include "attn/engine/backend/flush_denormals.hpp"

namespace attn::engine {

/// @return how many threads a parallel region may have
inline std::size_t most_threads() { return static_cast<std::size_t>(omp_get_max_threads()); }

/// While this lives, products that this thread asks for are computed by it alone, and denormal numbers count as 0.
class OneThread {
 public:
  OneThread() { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_ = omp_get_max_threads();
  FlushDenormals flush_;
};

/// Calls f(first, last, thread) once on each thread that has a part of 0 to count. Parts begin at multiples of
/// `grain`: where the numbers of one row are cut, vectors then always hold the same numbers, and each is rounded
/// the same way for any number of threads.
/// @param count  how much there is to do
/// @param grain  what is not cut
/// @param f      the work; it must not throw
template <class F>
void parallel_for(std::size_t count, std::size_t grain, const F& f) {
  const std::size_t grains = (count + grain - 1) / grain;
  if (grains <= 1 || most_threads() == 1) {
    const OneThread here;
    if (count > 0) f(std::size_t{0}, count, std::size_t{0});
    return;
  }
#pragma omp parallel
  {
    const OneThread here;
    const auto threads = static_cast<std::size_t>(omp_get_num_threads());
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    const std::size_t first = grains * thread / threads * grain;
    const std::size_t last = std::min(count, grains * (thread + 1) / threads * grain);
    if (first < last) f(first, last, thread);
  }
}

/// A cut into pieces that the length alone decides. A sum is taken for each piece and then over the pieces in
/// order, so that its bits do not depend on the number of threads.
class Pieces {
 public:
  /// @param count  how many rows, or numbers
  /// @param least  how many are worth a piece of their own
  Pieces(std::size_t count, std::size_t least) : count_(count) {
    constexpr std::size_t most = 64;
    length_ = std::max(least, ((count + most - 1) / most + least - 1) / least * least);
  }

  /// @return how many there are
  std::size_t size() const { return (count_ + length_ - 1) / length_; }

  /// @param piece  which
  /// @return       where it begins
  std::size_t first(std::size_t piece) const { return piece * length_; }

  /// @param piece  which
  /// @return       where it ends
  std::size_t last(std::size_t piece) const { return std::min(count_, (piece + 1) * length_); }

 private:
  std::size_t count_, length_;
};

}  // namespace attn::engine
