/// @file
/// @brief All parameters of a model in one row of floats, with their gradients beside them.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "attn/core/config.hpp"
#include "attn/core/matrix.hpp"
#include "attn/engine/backend/backend.hpp"

namespace attn::engine {

/// Where a parameter lies in the row of all floats.
struct ParameterPlace {
  std::size_t offset = 0;   ///< of its first number
  std::size_t rows = 0;     ///< its shape
  std::size_t columns = 0;  ///< its shape
  std::size_t stride = 0;   ///< from one of its rows to the next
};

/// The parameters of core's parameters(), under their names. Matrices that are multiplied with the same input lie
/// side by side, so that one product serves for all: W_Q|W_K|W_V of self-attention, W_K|W_V of cross-attention.
class Parameters {
 public:
  /// All of them, 0.
  /// @param config   sizes and choices
  /// @param backend  whose memory
  Parameters(const Config& config, Backend& backend);
  ~Parameters();
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  /// Gives each its value.
  /// @param value  the matrix for a parameter
  /// @throws std::invalid_argument when a matrix has another shape
  void set(const std::function<Matrix(const Parameter&)>& value);

  /// @param name  of a parameter
  /// @return      its value, in double
  /// @throws std::invalid_argument when there is none of that name
  Matrix value(const std::string& name) const;

  /// @param name  of a parameter
  /// @return      its gradient, in double
  /// @throws std::invalid_argument when there is none of that name
  Matrix gradient(const std::string& name) const;

  /// Whether there is such a parameter.
  /// @param name  of a parameter
  /// @return      true if so
  bool has(const std::string& name) const { return places_.count(name) > 0; }

  /// A parameter where it lies, or several side by side.
  /// @param name   of the first
  /// @param parts  how many
  /// @return       one view of all
  View at(const std::string& name, std::size_t parts = 1) const { return in(values_, name, parts); }

  /// Its gradient, where it lies.
  /// @param name   of the first
  /// @param parts  how many
  /// @return       one view of all
  View gradient_at(const std::string& name, std::size_t parts = 1) const { return in(gradients_, name, parts); }

  /// The place of a parameter in another row of as many floats, such as Adam's means.
  /// @param row   size() floats
  /// @param name  of a parameter
  /// @return      a view of that part of the row
  View place_in(View row, const std::string& name) const { return in(row.data, name, 1); }

  /// @return all values in one row
  View values() const { return {values_, 1, size_, size_}; }

  /// @return all gradients in one row
  View gradients() const { return {gradients_, 1, size_, size_}; }

  /// @return how many floats all take, the gaps between them included
  std::size_t size() const { return size_; }

 private:
  View in(float* memory, const std::string& name, std::size_t parts) const;
  Matrix download(View view) const;

  Backend& backend_;
  std::vector<Parameter> list_;
  std::map<std::string, ParameterPlace> places_;
  std::size_t size_ = 0;
  float* values_ = nullptr;
  float* gradients_ = nullptr;
};

}  // namespace attn::engine
