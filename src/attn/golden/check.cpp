#include "attn/golden/check.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "attn/core/errors.hpp"
#include "attn/core/numbers.hpp"
#include "attn/formats/npy.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

std::vector<double> doubles(const Tensor& tensor, std::string_view name) {
  if (const auto* values = std::get_if<std::vector<double>>(&tensor.values)) return *values;
  if (const auto* values = std::get_if<std::vector<float>>(&tensor.values)) {
    return {values->begin(), values->end()};
  }
  refuse(name, "float32 or float64", std::string(tensor.dtype()));
}

/// How far off a value is, in tolerances; infinite when only one of the two is finite.
double distance(double got, double wanted, double allowed) {
  if (got == wanted || (std::isnan(got) && std::isnan(wanted))) return 0.0;
  const double d = std::abs(got - wanted) / allowed;
  return std::isnan(d) ? INFINITY : d;
}

std::vector<std::size_t> index_of(std::size_t flat, const std::vector<std::size_t>& shape) {
  std::vector<std::size_t> index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0; flat /= shape[i]) index[i] = flat % shape[i];
  return index;
}

TensorReport check_one(const GoldenTensor& wanted, const std::map<std::string, Tensor>& tensors,
                       const Tolerance& tolerance) {
  using State = TensorReport::State;
  TensorReport report{wanted.name, wanted.meaning, State::missing, std::nullopt, ""};
  const auto got = tensors.find(wanted.name);
  if (got == tensors.end()) return report;
  doubles(got->second, wanted.name);  // refuses whole numbers by the tensor's name
  const auto& shape = got->second.shape;
  if (shape != wanted.value.shape) {
    report.state = State::wrong_shape;
    report.shape_note = "wanted shape " + shape_text(wanted.value.shape) + ", got " + shape_text(shape);
    const std::vector<std::size_t> reversed(shape.rbegin(), shape.rend());
    if (reversed == wanted.value.shape) report.shape_note += ", the shape of the transpose";
    return report;
  }
  report.difference = compare(got->second, wanted.value, tolerance);
  report.state = report.difference ? State::wrong : State::right;
  return report;
}

/// Whether this tensor came out as the mistake makes it.
bool gives(const Mistake& mistake, const std::string& name, const Tensor& got, const Tolerance& tolerance) {
  const auto wrong = mistake.tensors.find(name);
  return wrong != mistake.tensors.end() && got.shape == wrong->second.shape &&
         !compare(got, wrong->second, tolerance);
}

/// The mistakes that give both the first wrong tensor and the last one. Those between may differ: whoever swapped
/// Q and K only inside their product has a right Q and a wrong product.
std::vector<Mistake> explanations(const GoldenCase& golden, const Report& report,
                                  const std::map<std::string, Tensor>& tensors) {
  const auto is_wrong = [](const TensorReport& tensor) { return tensor.state == TensorReport::State::wrong; };
  const auto first = std::find_if(report.tensors.begin(), report.tensors.end(), is_wrong);
  std::vector<Mistake> found;
  if (first == report.tensors.end()) return found;
  for (const Mistake& mistake : golden.mistakes) {
    const std::string& last = golden.outputs.back().name;
    if (gives(mistake, first->name, tensors.at(first->name), golden.tolerance) &&
        gives(mistake, last, tensors.at(last), golden.tolerance)) {
      found.push_back(mistake);
    }
  }
  return found;
}

bool is_right_in_single(const GoldenCase& golden, const Report& report,
                        const std::map<std::string, Tensor>& tensors) {
  const Tolerance single = {golden.tolerance.float32, golden.tolerance.float32, ""};
  for (std::size_t i = 0; i < report.tensors.size(); ++i) {
    const TensorReport& tensor = report.tensors[i];
    if (tensor.state == TensorReport::State::wrong_shape) return false;
    if (tensor.state != TensorReport::State::wrong) continue;
    if (compare(tensors.at(tensor.name), golden.outputs[i].value, single)) return false;
  }
  return true;
}

/// With as many digits as tell the two apart.
std::string number(double value, int digits = 17) { return to_text(value, std::chars_format::general, digits); }

void print_difference(std::ostream& out, const TensorReport& tensor, std::size_t size) {
  const Difference& worst = *tensor.difference;
  out << "    worst at [";
  for (std::size_t i = 0; i < worst.index.size(); ++i)
    out << (i == 0 ? "" : ", ") << std::to_string(worst.index[i]);
  out << "]: got " << number(worst.got) << ", wanted " << number(worst.wanted) << ", off by "
      << number(std::abs(worst.got - worst.wanted), 3) << " where " << number(worst.allowed, 3) << " is allowed\n";
  out << "    " << std::to_string(worst.bad) << " of " << std::to_string(size) << " values are too far off\n";
}

}  // namespace

std::optional<Difference> compare(const Tensor& got, const Tensor& wanted, const Tolerance& tolerance) {
  if (got.shape != wanted.shape) refuse("got", "shape " + shape_text(wanted.shape), shape_text(got.shape));
  const std::vector<double> a = doubles(got, "got");
  const std::vector<double> b = doubles(wanted, "wanted");
  const double relative = got.dtype() == "float32" ? tolerance.float32 : tolerance.float64;
  std::optional<Difference> worst;
  double worst_distance = 1.0;
  std::size_t bad = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double allowed = relative * (std::isfinite(b[i]) ? std::max(1.0, std::abs(b[i])) : 1.0);
    const double d = distance(a[i], b[i], allowed);
    if (d > 1.0) ++bad;
    if (d > worst_distance) {
      worst_distance = d;
      worst = Difference{index_of(i, got.shape), a[i], b[i], allowed, 0};
    }
  }
  if (worst) worst->bad = bad;
  return worst;
}

Report check(const GoldenCase& golden, const std::map<std::string, Tensor>& tensors) {
  const std::string& last = golden.outputs.back().name;
  if (tensors.count(last) == 0) refuse_input(golden.name, "at least the tensor " + last, "none of that name");
  Report report;
  report.passed = true;
  for (const GoldenTensor& wanted : golden.outputs) {
    report.tensors.push_back(check_one(wanted, tensors, golden.tolerance));
    const auto state = report.tensors.back().state;
    if (state == TensorReport::State::wrong || state == TensorReport::State::wrong_shape) report.passed = false;
  }
  if (!report.passed) {
    report.mistakes = explanations(golden, report, tensors);
    report.right_in_single = is_right_in_single(golden, report, tensors);
  }
  return report;
}

std::map<std::string, Tensor> load_outputs(const GoldenCase& golden, const fs::path& folder) {
  std::error_code none;
  if (!fs::is_directory(folder, none)) {
    refuse_input(folder.string(), "a folder with your tensors as .npy files",
                 fs::exists(folder, none) ? "a file" : "nothing of that name");
  }
  std::map<std::string, Tensor> tensors;
  std::string names;
  for (const GoldenTensor& output : golden.outputs) {
    const fs::path file = folder / (output.name + ".npy");
    if (fs::exists(file, none)) tensors[output.name] = read_npy(file);
    if (const auto got = tensors.find(output.name); got != tensors.end()) doubles(got->second, file.string());
    names += (names.empty() ? "" : ", ") + file.filename().string();
  }
  const std::string last = golden.outputs.back().name + ".npy";
  if (tensors.count(golden.outputs.back().name) == 0) {
    refuse_input(folder.string(), last + " (and, to find a fault's place, any of " + names + ")",
                 "no file of that name");
  }
  return tensors;
}

void print(std::ostream& out, const GoldenCase& golden, const Report& report) {
  using State = TensorReport::State;
  out << golden.name << " (chapter " << std::to_string(golden.chapter) << "): " << golden.title << "\n  "
      << golden.formula << "\n  wanted values by " << golden.source << "\n\n";
  bool first_fault = true;
  for (std::size_t i = 0; i < report.tensors.size(); ++i) {
    const TensorReport& tensor = report.tensors[i];
    const bool fault = tensor.state == State::wrong || tensor.state == State::wrong_shape;
    out << (fault ? "  WRONG    " : tensor.state == State::right ? "  right    " : "  absent   ") << tensor.name;
    if (!tensor.meaning.empty()) out << " = " << tensor.meaning;
    out << (fault && first_fault ? "   <- the first that differs\n" : "\n");
    if (tensor.state == State::wrong_shape) out << "    " << tensor.shape_note << '\n';
    if (tensor.state == State::wrong) {
      const auto& shape = golden.outputs[i].value.shape;
      std::size_t size = 1;
      for (const std::size_t length : shape) size *= length;
      print_difference(out, tensor, size);
    }
    first_fault &= !fault;
  }
  for (const Mistake& mistake : report.mistakes) {
    out << "\nThis is a known mistake: " << mistake.name << "\n  " << mistake.says << '\n';
  }
  if (report.passed) {
    out << "\nPassed: every tensor that is there is right.\n";
  } else if (report.right_in_single) {
    out << "\nIn single precision this would be right. If you compute in float32, save float32: it has a "
           "tolerance of its "
           "own.\n";
  } else if (report.mistakes.empty()) {
    out << "\nIt is none of the " << std::to_string(golden.mistakes.size()) << " mistakes known for this case.\n";
  }
}

}  // namespace attn
