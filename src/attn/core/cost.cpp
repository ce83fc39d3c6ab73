#include "attn/core/cost.hpp"

namespace attn {
namespace {

thread_local std::uint64_t total = 0;

}  // namespace

MultiplyAdds::MultiplyAdds() : before_(total) {}

std::uint64_t MultiplyAdds::count() const { return total - before_; }

void count_multiply_adds(std::uint64_t more) { total += more; }

}  // namespace attn
