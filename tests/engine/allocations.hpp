// How often this program has asked for memory.
#pragma once

#include <atomic>
#include <cstddef>

namespace attn::tests {

extern std::atomic<std::size_t> allocations;

}  // namespace attn::tests
