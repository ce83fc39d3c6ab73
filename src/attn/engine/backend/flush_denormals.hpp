/// @file
/// @brief Numbers too small for a normal float count as 0.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <cstdint>
#endif

namespace attn::engine {

/// While this lives, the processor takes denormal numbers (below 1.18e-38) for 0 on this thread, and makes none.
/// Many processors compute with them far more slowly, and a moment of Adam whose gradient has become 0 decays into
/// them and stays there.
class FlushDenormals {
 public:
#if defined(__SSE2__)
  FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | flush_to_zero | denormals_are_zero); }
  ~FlushDenormals() { _mm_setcsr(before_); }
#elif defined(__aarch64__)
  FlushDenormals() : before_(control()) { set_control(before_ | std::uint64_t{1} << 24); }
  ~FlushDenormals() { set_control(before_); }
#else
  FlushDenormals() {}
  ~FlushDenormals() {}
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__SSE2__)
  static constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;
  unsigned before_;
#elif defined(__aarch64__)
  static std::uint64_t control() {
    std::uint64_t value = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void set_control(std::uint64_t value) { __asm__ volatile("msr fpcr, %0" : : "r"(value)); }
  std::uint64_t before_;
#endif
};

}  // namespace attn::engine
