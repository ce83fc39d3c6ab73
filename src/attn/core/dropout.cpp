#include "attn/core/dropout.hpp"

#include <string>

#include "attn/core/errors.hpp"
#include "attn/core/random.hpp"

namespace attn {

double Dropout::factor(std::uint32_t site, std::uint32_t index) const {
  if (!(p >= 0.0 && p < 1.0)) refuse("dropout", "a share of at least 0 and less than 1", std::to_string(p));
  const auto bits = philox({index / 4, site, step, sequence}, {static_cast<std::uint32_t>(seed) ^ dropout_key,
                                                               static_cast<std::uint32_t>(seed >> 32)});
  const double uniform = static_cast<double>(bits[index % 4]) * 0x1p-32;
  return uniform < p ? 0.0 : 1.0 / (1.0 - p);
}

}  // namespace attn
