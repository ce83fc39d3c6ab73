// Runs before main(), and before OpenBLAS is initialised. OpenBLAS takes a block of memory for each thread when it
// is loaded, and tries for ever where it gets none (such as under `ulimit -v`): then the program has to say so
// first.
#include <algorithm>

#if defined(__linux__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ATTN_CHECKS_MEMORY_FIRST 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef ATTN_CHECKS_MEMORY_FIRST  // the sanitizers are not ready so early
#endif
#endif

#ifdef ATTN_CHECKS_MEMORY_FIRST
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "attn/core/blas.hpp"

extern "C" char* openblas_get_config() __attribute__((weak));  // absent from other BLAS libraries

namespace {

constexpr std::size_t block = attn::openblas_buffer;
constexpr int most_blocks = 512;

/// A number in the environment, or 0; of several, as in "4,2", the first. The C library's own copy of the
/// environment is not there yet.
int number_in(char** environment, const char* name) {
  const std::size_t length = std::strlen(name);
  for (char** entry = environment; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, name, length) != 0 || (*entry)[length] != '=') continue;
    int number = 0;
    const char* digit = *entry + length + 1;
    while (*digit == ' ' || *digit == '\t' || *digit == '+') ++digit;
    for (; *digit >= '0' && *digit <= '9' && number < most_blocks; ++digit) {
      number = 10 * number + (*digit - '0');
    }
    return number;
  }
  return 0;
}

int processors() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

/// Whether so many blocks can be had at once.
bool there_is_room_for(int blocks) {
  void* taken[most_blocks + 1];
  int count = 0;
  for (; count < blocks; ++count) {
    taken[count] = mmap(nullptr, block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (taken[count] == MAP_FAILED) break;
  }
  for (int i = 0; i < count; ++i) munmap(taken[i], block);
  return count == blocks;
}

void expect_memory_for_blas(int, char**, char** environment) {
  if (&openblas_get_config == nullptr) return;
  int threads = number_in(environment, "OMP_NUM_THREADS");
  if (threads == 0) threads = processors();
  threads = std::max(threads, number_in(environment, "OPENBLAS_NUM_THREADS"));
  // One for each thread from the beginning, and one for a first product.
  if (there_is_room_for(std::min(threads, most_blocks) + 1)) return;
  constexpr char text[] =
      "attn: memory for OpenBLAS: wanted 129 MiB for each thread and once more, got less (ulimit -v limits it; "
      "OMP_NUM_THREADS=1 needs the least)\n";
  const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  _exit(written < 0 ? 3 : 2);
}

}  // namespace

__attribute__((section(".preinit_array"), used)) static void (*const before_all)(int, char**,
                                                                                 char**) = expect_memory_for_blas;
#endif
