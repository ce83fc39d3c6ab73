/// @file
/// @brief Counts multiplications: what a computation costs, whatever the machine.
#pragma once

#include <cstdint>

namespace attn {

/// Counts the multiply-adds of every product() on this thread, from here on: (n, k) times (k, m) is nkm.
class MultiplyAdds {
 public:
  MultiplyAdds();

  /// @return how many so far
  std::uint64_t count() const;

 private:
  std::uint64_t before_;
};

/// Adds to all counts on this thread.
/// @param more  how many multiply-adds
void count_multiply_adds(std::uint64_t more);

}  // namespace attn
