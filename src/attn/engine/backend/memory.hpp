/// @file
/// @brief Large memory of this machine, in large pages.
#pragma once

#include <cstddef>

namespace attn::engine {

/// Floats, all 0, at an address divisible by 2 MiB. For 2 MiB and more the system is asked for large pages, which
/// cost far fewer faults; before that, it gets back what the heap does not use.
/// @param count  how many
/// @return       where; nullptr for none
/// @throws std::bad_alloc when there is not enough
float* allocate_floats(std::size_t count);

/// Gives them back.
/// @param memory  what allocate_floats() gave, or nullptr
/// @param count   how many it was asked for
void release_floats(float* memory, std::size_t count);

/// @return how often memory was given so far
std::size_t allocations_of_floats();

}  // namespace attn::engine
