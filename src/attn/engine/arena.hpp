/// @file
/// @brief Memory for one step: taken piece by piece, given back all at once.
#pragma once

#include <cstddef>
#include <vector>

#include "attn/engine/backend/backend.hpp"

namespace attn::engine {

/// A block of a backend's memory from which views are cut, one behind the other. What does not fit makes a block
/// of its own, and the next reset() makes one block of all: after the largest step nothing is allocated any more.
class Arena {
 public:
  /// @param backend  whose memory
  explicit Arena(Backend& backend) : backend_(backend) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// A matrix whose numbers are whatever was there before.
  /// @param rows     how many
  /// @param columns  how many
  /// @return         a view that is good until reset(), or until rewind() to a mark before it
  View matrix(std::size_t rows, std::size_t columns);

  /// Gives everything back.
  void reset();

  /// How far things have been taken; rewind() gives back what came after.
  struct Mark {
    std::size_t block = 0;  ///< which block
    std::size_t used = 0;   ///< how much of it
    std::size_t taken = 0;  ///< how much of all
  };

  /// @return where things stand now
  Mark mark() const { return {block_, used_, taken_}; }

  /// Gives back what was taken after a mark.
  /// @param mark  what mark() gave
  void rewind(Mark mark) { block_ = mark.block, used_ = mark.used, taken_ = mark.taken; }

  /// @return how many floats there are
  std::size_t capacity() const;

 private:
  struct Block {
    float* memory = nullptr;
    std::size_t size = 0;
  };
  void add_block(std::size_t size);
  void release();

  Backend& backend_;
  std::vector<Block> blocks_;
  std::size_t block_ = 0, used_ = 0;
  std::size_t taken_ = 0, most_taken_ = 0;  // without what is lost at the ends of blocks
};

}  // namespace attn::engine
