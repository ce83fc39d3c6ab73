// Runs the operation that a golden case names, with the reference.
#pragma once

#include <functional>

#include "attn/core/dialect.hpp"
#include "attn/golden/case.hpp"

namespace attn::tests {

/// Hands every tensor of the operation to the Trace of this thread; `edit` may change the switches of the dialect.
void run(const GoldenCase& golden, const std::function<void(Dialect&)>& edit = {});

}  // namespace attn::tests
