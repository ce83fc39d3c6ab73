#include "attn/engine/backend/memory.hpp"

#include <sys/mman.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>

namespace attn::engine {
namespace {

constexpr std::size_t large_page = std::size_t{2} << 20;

std::atomic<std::size_t> allocations = 0;

/// What is mapped for so many floats: whole large pages, and one more so that the address can be moved to a
/// multiple.
std::size_t mapped_bytes(std::size_t count) {
  if (count > SIZE_MAX / sizeof(float) - 2 * large_page) throw std::bad_alloc();
  return (count * sizeof(float) + large_page - 1) / large_page * large_page + large_page;
}

}  // namespace

float* allocate_floats(std::size_t count) {
  if (count == 0) return nullptr;
  const std::size_t bytes = mapped_bytes(count);
#ifdef __GLIBC__
  malloc_trim(0);  // first what the heap keeps and nobody uses goes back, such as the doubles that weights were
#endif
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  const auto address = reinterpret_cast<std::uintptr_t>(mapped);
  const std::uintptr_t aligned = (address + large_page - 1) / large_page * large_page;
  if (aligned > address) munmap(mapped, aligned - address);
  const std::size_t after = large_page - (aligned - address);
  if (after > 0) munmap(reinterpret_cast<void*>(aligned + bytes - large_page), after);
#ifdef MADV_HUGEPAGE
  const bool fills_one = count * sizeof(float) >= large_page;
  if (fills_one) madvise(reinterpret_cast<void*>(aligned), bytes - large_page, MADV_HUGEPAGE);  // only a wish
#endif
  ++allocations;
  return reinterpret_cast<float*>(aligned);
}

std::size_t allocations_of_floats() { return allocations; }

void release_floats(float* memory, std::size_t count) {
  if (memory != nullptr) munmap(memory, mapped_bytes(count) - large_page);
}

}  // namespace attn::engine
