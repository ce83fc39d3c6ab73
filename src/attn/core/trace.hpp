/// @file
/// @brief The trace: every intermediate result, by name, for whoever wants to look.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "attn/core/matrix.hpp"

namespace attn {

/// A matrix and what it is called.
struct NamedMatrix {
  std::string name;  ///< such as "scores" or "encoder.0.self.weights"
  Matrix value;      ///< its value at that moment
};

/// Collects what the functions on this thread hand to trace(), from here until the end of the block. Where one
/// Trace lives inside another, the inner one collects.
class Trace {
 public:
  Trace();
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// @return all tensors so far, in the order in which they were computed
  const std::deque<NamedMatrix>& tensors() const { return tensors_; }

  /// The last tensor of a name.
  /// @param name  what it was traced as, scopes included
  /// @return      its value, there as long as the trace is
  /// @throws std::invalid_argument naming the tensors that there are
  const Matrix& operator[](std::string_view name) const;

 private:
  friend const Matrix& trace(std::string_view name, const Matrix& value);
  std::deque<NamedMatrix> tensors_;  // a reference into it stays good while it grows
  Trace* outer_;
};

/// Shows an intermediate result to the Trace of this thread, if there is one, and hands it on.
/// @param name   what the formula calls it
/// @param value  its value
/// @return       the value
const Matrix& trace(std::string_view name, const Matrix& value);

/// The same for a result that has no name of its own yet: `const Matrix scores = trace("scores", product(Q,
/// K_T));`
/// @param name   what the formula calls it
/// @param value  its value
/// @return       the value
Matrix trace(std::string_view name, Matrix&& value);

/// Puts a prefix before the names traced until the end of the block: "encoder.0" makes "weights" into
/// "encoder.0.weights".
class TraceScope {
 public:
  /// @param name  the prefix, without the dot
  explicit TraceScope(std::string_view name);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  std::size_t length_before_;
};

}  // namespace attn
