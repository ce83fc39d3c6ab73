// Chapter 07.
#include "attn/reference/positions.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "attn/core/errors.hpp"
#include "attn/core/trace.hpp"

namespace attn {
namespace {

// [frequency]
/// How far a pair of channels turns from one position to the next: 10000^(-exponent).
double frequency(double exponent) { return std::pow(10000.0, -exponent); }
// [frequency]

// [channel]
/// One number of the table: channel c of position p.
double encode(std::size_t p, std::size_t c, std::size_t d, PositionLayout layout) {
  const bool interleaved = layout == PositionLayout::interleaved, t2t = layout == PositionLayout::halves_t2t;
  const std::size_t sines = t2t ? d / 2 : (d + 1) / 2;
  const bool cosine = interleaved ? c % 2 == 1 : c >= sines;
  const std::size_t i = interleaved ? c / 2 : cosine ? c - sines : c;
  if (t2t && i == sines) return 0.0;  // tensor2tensor fills up an odd d
  const double slowest = t2t ? std::max(static_cast<double>(sines) - 1.0, 1.0) : static_cast<double>(d) / 2.0;
  const double angle = static_cast<double>(p) * frequency(static_cast<double>(i) / slowest);
  return cosine ? std::cos(angle) : std::sin(angle);
}
// [channel]

}  // namespace

// [positional_encoding]
Matrix positional_encoding(std::size_t n, std::size_t d_model, PositionLayout layout, std::size_t first) {
  Matrix table({n, d_model});
  for (std::size_t p = 0; p < n; ++p) {
    for (std::size_t c = 0; c < d_model; ++c) table(p, c) = encode(first + p, c, d_model, layout);
  }
  return table;
}

Matrix add_positions(const Matrix& X, PositionLayout layout, std::size_t first) {
  const Matrix positions = trace("positions", positional_encoding(X.shape(0), X.shape(1), layout, first));
  return trace("output", X + positions);
}
// [positional_encoding]

// [shift_matrix]
Matrix shift_matrix(std::size_t k, std::size_t d_model) {
  if (d_model % 2 != 0) refuse("d_model", "an even number, a cosine for every sine", std::to_string(d_model));
  Matrix M = xt::zeros<double>({d_model, d_model});
  for (std::size_t c = 0; c < d_model; c += 2) {
    const double angle = static_cast<double>(k) * frequency(static_cast<double>(c) / static_cast<double>(d_model));
    M(c, c) = M(c + 1, c + 1) = std::cos(angle);
    M(c + 1, c) = std::sin(angle);   // sin(a + b) = sin a cos b + cos a sin b
    M(c, c + 1) = -std::sin(angle);  // cos(a + b) = cos a cos b - sin a sin b
  }
  return M;
}
// [shift_matrix]

// [learned_positions]
Matrix learned_positions(const Matrix& table, std::size_t n) {
  if (n > table.shape(0)) {
    refuse("learned_positions", "at most " + std::to_string(table.shape(0)) + " tokens, the rows of the table",
           std::to_string(n));
  }
  return xt::view(table, xt::range(std::size_t{0}, n), xt::all());
}
// [learned_positions]

}  // namespace attn
