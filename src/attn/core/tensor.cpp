#include "attn/core/tensor.hpp"

#include <algorithm>
#include <array>

#include "attn/core/errors.hpp"

namespace attn {

std::string_view Tensor::dtype() const {
  constexpr std::array<std::string_view, 5> names = {"float32", "float64", "int32", "int64", "bool"};
  return names.at(values.index());
}

std::string shape_text(const std::vector<std::size_t>& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

Tensor to_tensor(const Matrix& A) { return {{A.shape(0), A.shape(1)}, std::vector<double>(A.begin(), A.end())}; }

Matrix to_matrix(const Tensor& tensor, std::string_view name) {
  if (tensor.shape.size() != 2) refuse(name, "a matrix (rank 2)", "shape " + shape_text(tensor.shape));
  Matrix A({tensor.shape[0], tensor.shape[1]});
  if (const auto* doubles = std::get_if<std::vector<double>>(&tensor.values)) {
    std::copy(doubles->begin(), doubles->end(), A.begin());
  } else if (const auto* floats = std::get_if<std::vector<float>>(&tensor.values)) {
    std::copy(floats->begin(), floats->end(), A.begin());
  } else {
    refuse(name, "float32 or float64", std::string(tensor.dtype()));
  }
  return A;
}

}  // namespace attn
