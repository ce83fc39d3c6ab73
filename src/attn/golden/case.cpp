#include "attn/golden/case.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attn/core/errors.hpp"
#include "attn/core/files.hpp"
#include "attn/formats/json.hpp"
#include "attn/formats/npy.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

const std::string described = "a golden case as golden/README.md describes it";

/// A demand on what case.json says.
void demand(bool holds, const fs::path& folder, const std::string& wanted, const Json& got) {
  if (!holds) refuse_input((folder / "case.json").string(), wanted, shown(got));
}

/// Reads a tensor and holds it against what case.json says of it.
GoldenTensor load_tensor(const fs::path& folder, const Json& entry) {
  GoldenTensor tensor{entry.at("name"), entry.value("meaning", ""), {}};
  const fs::path file = folder / entry.value("file", tensor.name + ".npy");
  tensor.value = read_npy(file);
  for (const Json& length : entry.at("shape")) {
    demand(length.is_number_unsigned(), folder, "shapes of whole numbers", entry.at("shape"));
  }
  const auto shape = entry.at("shape").get<std::vector<std::size_t>>();
  const auto dtype = entry.at("dtype").get<std::string>();
  if (tensor.value.shape != shape || tensor.value.dtype() != dtype) {
    refuse_input(file.string(), dtype + " " + shape_text(shape) + ", as case.json says",
                 std::string(tensor.value.dtype()) + " " + shape_text(tensor.value.shape));
  }
  return tensor;
}

Mistake load_mistake(const fs::path& folder, const Json& entry) {
  Mistake mistake{entry.at("name"), entry.at("says"), {}};
  for (const std::string tensor : entry.at("tensors")) {
    mistake.tensors[tensor] = read_npy(folder / "mistakes" / mistake.name / (tensor + ".npy"));
  }
  return mistake;
}

GoldenCase read_case(const fs::path& folder, const Json& json) {
  GoldenCase golden;
  golden.name = json.at("case");
  demand(json.at("chapter").is_number_unsigned(), folder, "the number of a chapter", json.at("chapter"));
  golden.chapter = json.at("chapter");
  golden.title = json.at("title");
  golden.formula = json.at("formula");
  golden.function = json.at("function");
  const Json settings = json.value("settings", Json::object());
  for (const auto& [name, value] : settings.items()) {
    golden.settings[name] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  const Json& tolerance = json.at("tolerance");
  golden.tolerance = {tolerance.at("float64"), tolerance.at("float32"), tolerance.at("reason")};
  for (const double t : {golden.tolerance.float64, golden.tolerance.float32}) {
    demand(t >= 0.0 && std::isfinite(t), folder, "tolerances of 0 or more", tolerance);
  }
  demand(!json.at("outputs").empty(), folder, "at least one output", json.at("outputs"));
  const Json& source = json.at("source");
  golden.source = source.at("producer").get<std::string>() + "; " + source.at("reference").get<std::string>();
  for (const Json& entry : json.at("inputs")) golden.inputs.push_back(load_tensor(folder, entry));
  for (const Json& entry : json.at("outputs")) golden.outputs.push_back(load_tensor(folder, entry));
  for (const Json& entry : json.at("mistakes")) golden.mistakes.push_back(load_mistake(folder, entry));
  return golden;
}

}  // namespace

const Tensor& GoldenCase::tensor(const std::string& wanted) const {
  for (const GoldenTensor& tensor : inputs) {
    if (tensor.name == wanted) return tensor.value;
  }
  refuse(name, "an input of the case", wanted);
}

Matrix GoldenCase::input(const std::string& wanted) const { return to_matrix(tensor(wanted), wanted); }

bool GoldenCase::has_input(const std::string& wanted) const {
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const GoldenTensor& tensor) { return tensor.name == wanted; });
}

const std::string& GoldenCase::setting(const std::string& wanted) const {
  const auto found = settings.find(wanted);
  if (found == settings.end()) refuse(name, "a setting of the case", wanted);
  return found->second;
}

GoldenCase load_case(const fs::path& folder) {
  const fs::path file = folder / "case.json";
  const std::string text = read_file(file);
  try {
    constexpr std::size_t deepest = 4;  // {"inputs": [{"shape": [
    return read_case(folder, read_json(text, file.string(), described, deepest));
  } catch (const Json::exception& error) {
    refuse_input(file.string(), described, error.what());
  }
}

std::vector<fs::path> list_cases(const fs::path& golden) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::recursive_directory_iterator(golden)) {
    if (entry.path().filename() == "case.json") folders.push_back(entry.path().parent_path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace attn
