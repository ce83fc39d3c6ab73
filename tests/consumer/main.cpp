#include <attn/core/table.hpp>
#include <attn/golden/check.hpp>
#include <attn/reference/scaling.hpp>
#include <iostream>

int main(int, char** argv) {
  attn::print(std::cout, "output", attn::attention({{1, 0}}, {{1, 0}, {0, 1}}, {{1, 2, 3}, {4, 5, 6}}));
  std::cout << attn::load_case(argv[1]).name << '\n';
}
