#include "attn/engine/positions.hpp"

#include <algorithm>
#include <cmath>

namespace attn::engine {
namespace {

/// Where a channel belongs: which frequency, and whether it is a cosine. An odd width of tensor2tensor's ends with
/// a channel of zeros.
struct Channel {
  double frequency = 0.0;
  bool cosine = false, empty = false;
};

Channel channel(std::size_t c, std::size_t d, PositionLayout layout) {
  const bool t2t = layout == PositionLayout::halves_t2t;
  const std::size_t sines = t2t ? d / 2 : (d + 1) / 2;
  const bool interleaved = layout == PositionLayout::interleaved;
  const bool cosine = interleaved ? c % 2 == 1 : c >= sines;
  const std::size_t i = interleaved ? c / 2 : cosine ? c - sines : c;
  if (t2t && i == sines) return {0.0, true, true};
  const double width =
      t2t ? static_cast<double>(std::max<std::size_t>(sines, 2) - 1) : static_cast<double>(d) / 2.0;
  return {std::pow(10000.0, -static_cast<double>(i) / width), cosine, false};
}

}  // namespace

std::vector<float> position_table(std::size_t n, std::size_t d_model, const Dialect& dialect) {
  std::vector<float> table(n * d_model);
  for (std::size_t c = 0; c < d_model; ++c) {
    const Channel at = channel(c, d_model, dialect.positions);
    for (std::size_t p = 0; p < n && !at.empty; ++p) {
      const double angle = static_cast<double>(dialect.first_position + p) * at.frequency;
      table[p * d_model + c] = static_cast<float>(at.cosine ? std::cos(angle) : std::sin(angle));
    }
  }
  return table;
}

}  // namespace attn::engine
