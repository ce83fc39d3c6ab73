#pragma once

#include <filesystem>

namespace attn::tests {

inline const std::filesystem::path golden_folder = ATTN_TEST_GOLDEN;

}  // namespace attn::tests
