/// @file
/// @brief A golden case: what somebody else's code computed, and the mistakes that are known.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "attn/core/tensor.hpp"

namespace attn {

/// One tensor of a case.
struct GoldenTensor {
  std::string name;     ///< such as "scores"
  std::string meaning;  ///< such as "Q Kᵀ"; empty for inputs
  Tensor value;         ///< from its .npy file
};

/// A way in which people have got it wrong, with what comes out then.
struct Mistake {
  std::string name;                       ///< such as "softmax-over-queries"
  std::string says;                       ///< what went wrong and what to do
  std::map<std::string, Tensor> tensors;  ///< the outputs that it changes
};

/// How far a value may be from the truth: |got - wanted| <= tolerance * max(1, |wanted|).
struct Tolerance {
  double float64 = 0.0;  ///< for values computed in double
  double float32 = 0.0;  ///< for values computed in float
  std::string reason;    ///< why these numbers
};

/// A folder of `golden/`.
struct GoldenCase {
  std::string name;                             ///< such as "03-scaling/square"
  int chapter = 0;                              ///< the chapter it belongs to
  std::string title;                            ///< what is computed, in words
  std::string formula;                          ///< and as a formula
  std::string function;                         ///< the operation: "similarity_attention", "attention" ...
  std::map<std::string, std::string> settings;  ///< what is no tensor: "h" is "2", "dialect" is "paper"
  std::vector<GoldenTensor> inputs;             ///< what to start from
  std::vector<GoldenTensor> outputs;            ///< in the order in which they are computed
  Tolerance tolerance;                          ///< how close is right
  std::string source;                           ///< who computed the values, and by which paper
  std::vector<Mistake> mistakes;                ///< what is known to go wrong

  /// An input by its name.
  /// @param name  such as "Q"
  /// @return      its value as a matrix
  /// @throws std::invalid_argument when the case has no such input
  Matrix input(const std::string& name) const;

  /// An input as it stands in its file: a mask or tokens.
  /// @param name  such as "mask"
  /// @return      the tensor
  /// @throws std::invalid_argument when the case has no such input
  const Tensor& tensor(const std::string& name) const;

  /// Whether the case has such an input.
  /// @param name  such as "b_Q"
  /// @return      true if so
  bool has_input(const std::string& name) const;

  /// A setting by its name.
  /// @param name  such as "h"
  /// @return      its value as text
  /// @throws std::invalid_argument when the case has no such setting
  const std::string& setting(const std::string& name) const;
};

/// Reads a case and all its tensors.
/// @param folder  the folder that holds case.json
/// @return        the case
/// @throws InputError saying which file is missing, damaged, or not as case.json says
GoldenCase load_case(const std::filesystem::path& folder);

/// Finds all cases.
/// @param golden  the folder `golden/`
/// @return        the folders that hold a case.json, in order
std::vector<std::filesystem::path> list_cases(const std::filesystem::path& golden);

}  // namespace attn
