#include "attn/engine/positions.hpp"

#include "attn/reference/positions.hpp"
#include "matrices.hpp"

using namespace attn;

TEST_CASE("the table of positions is the reference's, to the last float") {
  for (const PositionLayout layout :
       {PositionLayout::interleaved, PositionLayout::halves, PositionLayout::halves_t2t}) {
    for (const std::size_t d : {1, 2, 5, 6, 64}) {
      Dialect dialect;
      dialect.positions = layout;
      dialect.first_position = d % 3;
      const std::vector<float> table = engine::position_table(50, d, dialect);
      std::size_t at = 0;
      for (const double wanted : positional_encoding(50, d, layout, dialect.first_position)) {
        CHECK(std::abs(table[at++] - wanted) <= 6e-8);
      }
    }
  }
}
