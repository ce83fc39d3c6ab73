/// @file
/// @brief Holds somebody's tensors against a golden case, and names the mistake.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/golden/case.hpp"

namespace attn {

/// The worst place of a tensor.
struct Difference {
  std::vector<std::size_t> index;  ///< where
  double got = 0.0;                ///< the value there
  double wanted = 0.0;             ///< and the true one
  double allowed = 0.0;            ///< how far apart they may be
  std::size_t bad = 0;             ///< how many values of the tensor are too far off
};

/// Compares two tensors of floating-point numbers. NaN equals NaN, and infinities equal themselves.
/// @param got        float32 or float64
/// @param wanted     of the same shape
/// @param tolerance  which one counts depends on got's type
/// @return           the worst place, or nothing when every value is close enough
/// @throws std::invalid_argument when the shapes or types cannot be compared
std::optional<Difference> compare(const Tensor& got, const Tensor& wanted, const Tolerance& tolerance);

/// What became of one tensor.
struct TensorReport {
  /// Whether it was right.
  enum class State {
    right,        ///< every value is close enough
    wrong,        ///< of the right shape, but values are too far off
    wrong_shape,  ///< of another shape than it should be
    missing       ///< not there
  };
  std::string name;                      ///< such as "weights"
  std::string meaning;                   ///< such as "row softmax"
  State state = State::missing;          ///< what became of it
  std::optional<Difference> difference;  ///< the worst place, when it is wrong
  std::string shape_note;                ///< wanted and got, when it has the wrong shape
};

/// What became of a case.
struct Report {
  std::vector<TensorReport> tensors;  ///< in the order in which they are computed
  std::vector<Mistake> mistakes;      ///< those that give exactly this result; usually one or none
  bool right_in_single = false;       ///< whether all that is wrong is only as wrong as single precision makes it
  bool passed = false;                ///< whether every tensor that was there is right, the last one among them
};

/// Checks tensors against a case.
/// @param golden   the case
/// @param tensors  by name; the last output must be there, those before it help to find the fault
/// @return         the report
/// @throws InputError when the last output is missing
Report check(const GoldenCase& golden, const std::map<std::string, Tensor>& tensors);

/// Reads those outputs of a case that a folder holds as NAME.npy.
/// @param golden  the case
/// @param folder  the folder
/// @return        the tensors by name
/// @throws InputError when the folder or its last output is missing, or a file is damaged
std::map<std::string, Tensor> load_outputs(const GoldenCase& golden, const std::filesystem::path& folder);

/// Prints a report for people.
/// @param out     where to
/// @param golden  the case
/// @param report  what check() found
void print(std::ostream& out, const GoldenCase& golden, const Report& report);

}  // namespace attn
