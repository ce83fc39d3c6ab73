// What the tests say about matrices.
#pragma once

#include <cmath>
#include <string>

#include "attn/core/matrix.hpp"
#include "attn/core/shape.hpp"
#include "catch.hpp"

namespace attn::tests {

/// Equal shapes, and no two numbers further apart than the tolerance. NaN is near nothing.
inline void check_near(const Matrix& got, const Matrix& wanted, double tolerance) {
  REQUIRE(shape_text(got) == shape_text(wanted));
  for (std::size_t i = 0; i < got.shape(0); ++i) {
    for (std::size_t j = 0; j < got.shape(1); ++j) {
      INFO("at (" << i << ", " << j << "): got " << got(i, j) << ", wanted " << wanted(i, j));
      CHECK(std::abs(got(i, j) - wanted(i, j)) <= tolerance);
    }
  }
}

/// Equal to the last bit.
inline void check_same(const Matrix& got, const Matrix& wanted) { check_near(got, wanted, 0.0); }

/// The message of the exception that this throws; empty when it throws none.
template <typename Function>
std::string complaint(Function function) {
  try {
    function();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace attn::tests
