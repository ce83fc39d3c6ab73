#include "attn/training/schedule.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/errors.hpp"

namespace attn::training {

// [paper_rate]
double paper_rate(std::size_t d_model, std::size_t warmup, std::uint64_t step) {
  if (warmup == 0) refuse("warmup", "at least 1 update", "0");
  if (step == 0) refuse("step", "the number of an update, from 1", "0");
  const auto s = static_cast<double>(step), w = static_cast<double>(warmup);
  return std::min(1.0 / std::sqrt(s), s / (w * std::sqrt(w))) / std::sqrt(static_cast<double>(d_model));
}
// [paper_rate]

double Schedule::rate(std::uint64_t step) const {
  const std::uint64_t from_the_peak = std::max<std::uint64_t>(step, warmup);
  return scale * paper_rate(d_model, warmup, warms_up || step == 0 ? step : from_the_peak);
}

}  // namespace attn::training
