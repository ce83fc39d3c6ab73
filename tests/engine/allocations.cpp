// Counts what is asked for anywhere in the program. (In a file of its own, so that no compiler sees through it.)
#include "allocations.hpp"

#include <cstdlib>
#include <new>

namespace attn::tests {

std::atomic<std::size_t> allocations{0};

}  // namespace attn::tests

// Sanitizers bring allocators of their own; there nothing is counted.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ATTN_SANITIZED
#endif
#endif
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(ATTN_SANITIZED)

void* operator new(std::size_t size) {
  ++attn::tests::allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

#endif
