/// @file
/// @brief Random numbers that are the same on every machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "attn/core/matrix.hpp"

namespace attn {

/// One block of Philox 4x32-10, the counter-based generator: a scrambled function of (counter, key), with no
/// state.
/// @param counter  which block
/// @param key      which sequence of blocks
/// @return         four words of 32 random bits
/// @see Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011)
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// A sequence of random numbers, made by counting upwards through philox(). The `std::` distributions differ
/// between standard libraries; these do not: bits and uniforms are equal everywhere, and normals as nearly
/// as two math libraries agree on a logarithm and a cosine.
class Random {
 public:
  /// @param seed  which sequence
  explicit Random(std::uint64_t seed);

  /// @return 32 random bits
  std::uint32_t bits();

  /// @return a number in [0, 1), a multiple of 2^-53
  double uniform();

  /// A normally distributed number, mean 0 and variance 1 (Box and Muller 1958).
  /// @return the number
  double normal();

  /// A matrix of independent normals.
  /// @param rows                how many rows
  /// @param columns             how many columns
  /// @param standard_deviation  of each entry; the mean is 0
  /// @return                    a matrix of shape (rows, columns), filled row by row
  Matrix normal_matrix(std::size_t rows, std::size_t columns, double standard_deviation = 1.0);

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint64_t next_block_ = 0;
  std::array<std::uint32_t, 4> block_{};
  std::size_t used_ = 4;
};

}  // namespace attn
