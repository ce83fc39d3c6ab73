#include "attn/engine/arena.hpp"

#include <algorithm>

namespace attn::engine {
namespace {

constexpr std::size_t line = 16;  // floats: each matrix begins with a cache line of its own

}  // namespace

Arena::~Arena() { release(); }

View Arena::matrix(std::size_t rows, std::size_t columns) {
  const std::size_t size = (rows * columns + line - 1) / line * line;
  while (block_ < blocks_.size() && used_ + size > blocks_[block_].size) ++block_, used_ = 0;
  if (block_ == blocks_.size()) add_block(size);
  const View view = {blocks_[block_].memory + used_, rows, columns, columns};
  used_ += size;
  taken_ += size;
  most_taken_ = std::max(most_taken_, taken_);
  return view;
}

void Arena::reset() {
  if (blocks_.size() > 1) {
    release();
    add_block(most_taken_);
  }
  block_ = used_ = taken_ = 0;
}

std::size_t Arena::capacity() const {
  std::size_t sum = 0;
  for (const Block& block : blocks_) sum += block.size;
  return sum;
}

void Arena::add_block(std::size_t size) {
  const std::size_t at_least = std::max(size, std::size_t{1} << 20);
  blocks_.push_back({backend_.allocate(at_least), at_least});
}

void Arena::release() {
  for (const Block& block : blocks_) backend_.release(block.memory, block.size);
  blocks_.clear();
  block_ = used_ = taken_ = 0;
}

}  // namespace attn::engine
