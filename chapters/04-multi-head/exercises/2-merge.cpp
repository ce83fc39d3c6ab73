// Exercise 4.2: heads in memory.
// Fast programs keep all heads in one piece of memory: the rows of head 0, one after the other, then the rows of
// head 1, and so on. To go through W_O, the numbers must lie token by token: for token 0 what head 0 says, then
// what head 1 says ..., then the same for token 1. Copy each number to its place.
#include <vector>

#include "exercise.hpp"

// [task]
std::vector<double> merged(const std::vector<double>& heads, [[maybe_unused]] std::size_t h,
                           [[maybe_unused]] std::size_t n, [[maybe_unused]] std::size_t d_v) {
  return heads;  // your code here
}
// [task]

void expect_numbers(const std::vector<double>& got, const std::vector<double>& wanted, const std::string& what) {
  exercise::expect(got.size() == wanted.size(), what + " should be " + std::to_string(wanted.size()) + " numbers");
  for (std::size_t i = 0; i < got.size(); ++i) {
    exercise::expect_near(got[i], wanted[i], what + ", number " + std::to_string(i));
  }
}

void checks() {
  // by hand: head 0 says (1, 2) for token 0 and (3, 4) for token 1; head 1 says (5, 6) and (7, 8)
  expect_numbers(merged({1, 2, 3, 4, 5, 6, 7, 8}, 2, 2, 2), {1, 2, 5, 6, 3, 4, 7, 8}, "two heads of two tokens");
  // by hand: 120 is head 1, token 2, column 0
  expect_numbers(merged({0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121}, 2, 3, 2),
                 {0, 1, 100, 101, 10, 11, 110, 111, 20, 21, 120, 121}, "two heads of three tokens");
  expect_numbers(merged({1, 2, 3, 4, 5, 6}, 1, 2, 3), {1, 2, 3, 4, 5, 6}, "one head");
  expect_numbers(merged({1, 2, 3, 4, 5, 6}, 3, 2, 1), {1, 3, 5, 2, 4, 6}, "three heads of one column");
}

int main() { return exercise::run(checks); }
