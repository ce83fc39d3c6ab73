// The checks of the exercises: each says what was expected and, when it is not so, ends the program with 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "attn/core/matrix.hpp"
#include "attn/core/shape.hpp"
#include "attn/core/table.hpp"

namespace exercise {

/// Ends the program: this is not right yet.
[[noreturn]] inline void not_yet(const std::string& why) {
  std::cerr << "Not yet: " << why << '\n';
  std::exit(1);
}

/// A condition that your code should make true.
inline void expect(bool condition, const std::string& why) {
  if (!condition) not_yet(why);
}

/// A number that your code should give.
inline void expect_near(double got, double wanted, const std::string& what, double tolerance = 1e-6) {
  if (!(std::abs(got - wanted) <= tolerance)) {
    not_yet(what + " should be " + attn::fixed(wanted) + ", and is " + attn::fixed(got));
  }
}

/// A matrix that your code should give.
inline void expect_near(const attn::Matrix& got, const attn::Matrix& wanted, const std::string& what,
                        double tolerance = 1e-6) {
  if (attn::shape(got) != attn::shape(wanted)) {
    not_yet(what + " should have the shape " + attn::shape_text(wanted) + ", and has " + attn::shape_text(got));
  }
  for (std::size_t i = 0; i < got.shape(0); ++i) {
    for (std::size_t j = 0; j < got.shape(1); ++j) {
      expect_near(got(i, j), wanted(i, j), what + " at (" + std::to_string(i) + ", " + std::to_string(j) + ")",
                  tolerance);
    }
  }
}

/// Runs an exercise; an exception is "not yet" too.
inline int run(void (*checks)()) {
  try {
    checks();
  } catch (const std::exception& error) {
    not_yet(error.what());
  }
  std::cout << "Well done: every check passes.\n";
  return 0;
}

}  // namespace exercise
