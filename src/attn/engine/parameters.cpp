#include "attn/engine/parameters.hpp"

#include <algorithm>

#include "attn/core/errors.hpp"
#include "attn/core/shape.hpp"

namespace attn::engine {
namespace {

constexpr std::size_t line = 16;  // floats: each parameter begins with a cache line of its own

/// How many parts lie side by side beginning with this one; 0 if it lies beside another.
std::size_t side_by_side(const std::string& name) {
  const bool self = name.find(".self.") != std::string::npos, cross = name.find(".cross.") != std::string::npos;
  const char map = name.back();
  const bool of_attention = (self || cross) && name[name.size() - 2] == '_' && map != 'O';
  if (!of_attention) return 1;
  if (self) return map == 'Q' ? 3 : 0;
  return map == 'Q' ? 1 : map == 'K' ? 2 : 0;
}

}  // namespace

Parameters::Parameters(const Config& config, Backend& backend) : backend_(backend), list_(parameters(config)) {
  std::map<std::string, ParameterPlace> last;  // the part on the left, by kind: "encoder.0.self.W_"
  for (const Parameter& p : list_) {
    const std::size_t parts = side_by_side(p.name);
    const std::string kind = p.name.substr(0, p.name.size() - 1);
    if (parts == 0) {
      const ParameterPlace& left = last.at(kind);
      places_[p.name] = {left.offset + left.columns, p.rows, p.columns, left.stride};
    } else {
      places_[p.name] = {size_, p.rows, p.columns, parts * p.columns};
      size_ += (p.rows * parts * p.columns + line - 1) / line * line;
    }
    last[kind] = places_[p.name];
  }
  values_ = backend_.allocate(2 * size_);
  gradients_ = values_ + size_;
}

Parameters::~Parameters() { backend_.release(values_, 2 * size_); }

void Parameters::set(const std::function<Matrix(const Parameter&)>& value) {
  std::vector<float> numbers;
  for (const Parameter& p : list_) {
    const Matrix matrix = value(p);
    expect_shape(matrix, {p.rows, p.columns}, p.name);
    numbers.resize(matrix.size());
    std::transform(matrix.begin(), matrix.end(), numbers.begin(), [](double x) { return static_cast<float>(x); });
    backend_.upload(at(p.name), numbers);
  }
}

Matrix Parameters::value(const std::string& name) const { return download(at(name)); }

Matrix Parameters::gradient(const std::string& name) const { return download(gradient_at(name)); }

View Parameters::in(float* memory, const std::string& name, std::size_t parts) const {
  const auto found = places_.find(name);
  if (found == places_.end()) refuse("parameters", "the name of a parameter", name);
  const ParameterPlace& place = found->second;
  return {memory + place.offset, place.rows, parts * place.columns, place.stride};
}

Matrix Parameters::download(View view) const {
  std::vector<float> numbers(view.rows * view.columns);
  backend_.download(view, numbers);
  Matrix matrix({view.rows, view.columns});
  std::copy(numbers.begin(), numbers.end(), matrix.begin());
  return matrix;
}

}  // namespace attn::engine
