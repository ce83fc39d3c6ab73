#include "attn/golden/check.hpp"

#include <cmath>
#include <sstream>

#include "attn/core/errors.hpp"
#include "attn/core/files.hpp"
#include "attn/formats/npy.hpp"
#include "golden_folder.hpp"
#include "matrices.hpp"
#include "scratch.hpp"

using namespace attn;
using tests::complaint;
namespace fs = std::filesystem;

namespace {

Tensor numbers(std::vector<double> values) { return {{values.size()}, std::move(values)}; }

const Tolerance tight = {1e-12, 1e-5, "for these tests"};

GoldenCase square() { return load_case(tests::golden_folder / "03-scaling/square"); }

std::map<std::string, Tensor> truth(const GoldenCase& golden) {
  std::map<std::string, Tensor> tensors;
  for (const GoldenTensor& output : golden.outputs) tensors[output.name] = output.value;
  return tensors;
}

double& at(Tensor& tensor, std::size_t i) { return std::get<std::vector<double>>(tensor.values).at(i); }

}  // namespace

TEST_CASE("the tolerance is relative above 1 and absolute below") {
  CHECK_FALSE(compare(numbers({1000 + 9e-10}), numbers({1000}), tight));
  CHECK(compare(numbers({1000 + 2e-9}), numbers({1000}), tight));
  CHECK_FALSE(compare(numbers({9e-13}), numbers({0}), tight));
  CHECK(compare(numbers({2e-12}), numbers({0}), tight));
}

TEST_CASE("float32 has a tolerance of its own") {
  CHECK_FALSE(compare({{1}, std::vector<float>{1.000005f}}, numbers({1}), tight));
  CHECK(compare({{1}, std::vector<float>{1.00002f}}, numbers({1}), tight));
}

TEST_CASE("NaN and infinity equal only themselves") {
  CHECK_FALSE(compare(numbers({NAN, INFINITY}), numbers({NAN, INFINITY}), tight));
  CHECK(compare(numbers({NAN}), numbers({1}), tight));
  CHECK(compare(numbers({1}), numbers({NAN}), tight));
  CHECK(compare(numbers({INFINITY}), numbers({-INFINITY}), tight));
  CHECK(compare(numbers({INFINITY}), numbers({1}), tight));
}

TEST_CASE("the worst place is found, and the bad ones are counted") {
  const auto worst =
      compare({{2, 2}, std::vector<double>{1, 2.5, 7, 4}}, {{2, 2}, std::vector<double>{1, 2, 3, 4}}, tight);
  REQUIRE(worst);
  CHECK(worst->index == std::vector<std::size_t>{1, 0});
  CHECK((worst->got == 7 && worst->wanted == 3 && worst->bad == 2));
}

TEST_CASE("the truth passes; break any one golden number and it is found") {
  const GoldenCase golden = square();
  CHECK(check(golden, truth(golden)).passed);
  for (const GoldenTensor& output : golden.outputs) {
    for (std::size_t i = 0; i < 16; ++i) {
      auto tensors = truth(golden);
      at(tensors[output.name], i) += 1e-10;
      const Report report = check(golden, tensors);
      CHECK_FALSE(report.passed);
      CHECK(report.mistakes.empty());
    }
  }
}

TEST_CASE("numbers that differ are printed with digits that differ") {
  const GoldenCase golden = square();
  auto tensors = truth(golden);
  at(tensors["output"], 0) += 3e-12;
  std::ostringstream out;
  print(out, golden, check(golden, tensors));
  const std::string text = out.str();
  const auto word = [&](const std::string& after) {
    const std::size_t start = text.find(after) + after.size();
    return text.substr(start, text.find(',', start) - start);
  };
  CHECK(word("got ") != word("wanted "));
  CHECK(text.find("In single precision this would be right") != std::string::npos);
}

TEST_CASE("a report names the first tensor that differs, the place, and what it means") {
  const GoldenCase golden = square();
  auto tensors = truth(golden);
  at(tensors["weights"], 6) += 0.5;
  at(tensors["output"], 0) += 0.5;
  std::ostringstream out;
  print(out, golden, check(golden, tensors));
  CHECK(out.str().find("wanted values by golden/generate/03_scaling.py; Vaswani et al. 2017") !=
        std::string::npos);
  CHECK(out.str().find("  right    scaled_scores") != std::string::npos);
  CHECK(out.str().find("  WRONG    weights") != std::string::npos);
  CHECK(out.str().find("worst at [1, 2]: got ") != std::string::npos);
  CHECK(out.str().find("off by 0.5") != std::string::npos);
  CHECK(out.str().find("weights", out.str().find("the first that differs")) > out.str().find("WRONG"));
  CHECK(out.str().find("none of the 14 mistakes") != std::string::npos);
}

TEST_CASE("a wrong shape is told with both shapes, and the transpose is recognised") {
  const GoldenCase golden = load_case(tests::golden_folder / "03-scaling/distinct");
  auto tensors = truth(golden);
  tensors["weights"].shape = {5, 3};
  std::ostringstream out;
  print(out, golden, check(golden, tensors));
  CHECK(out.str().find("wanted shape (3, 5), got (5, 3), the shape of the transpose") != std::string::npos);
}

TEST_CASE("queries and keys swapped only inside the product are recognised too") {
  const GoldenCase golden = load_case(tests::golden_folder / "02-projections/distinct");
  auto tensors = truth(golden);
  for (const Mistake& mistake : golden.mistakes) {
    if (mistake.name != "queries-and-keys-swapped") continue;
    for (const char* name : {"scores", "weights", "output"}) tensors[name] = mistake.tensors.at(name);
  }
  const Report report = check(golden, tensors);
  REQUIRE(report.mistakes.size() == 1);
  CHECK(report.mistakes[0].name == "queries-and-keys-swapped");
}

TEST_CASE("folders without the output, or none at all, are refused by name") {
  const tests::Scratch scratch;
  const GoldenCase golden = square();
  CHECK(complaint([&] { load_outputs(golden, scratch / "none"); }) ==
        (scratch / "none").string() +
            ": wanted a folder with your tensors as .npy files, got nothing of that name");
  write_npy(scratch / "weights.npy", golden.outputs[2].value);
  CHECK(complaint([&] { load_outputs(golden, scratch.path()); }).find("wanted output.npy (and, to find a fault") !=
        std::string::npos);
  write_npy(scratch / "output.npy", golden.outputs[3].value);
  CHECK(check(golden, load_outputs(golden, scratch.path())).passed);
}

TEST_CASE("whole numbers are no tensors of a case") {
  const GoldenCase golden = square();
  auto tensors = truth(golden);
  tensors["output"] = {{4, 4}, std::vector<std::int64_t>(16)};
  CHECK(complaint([&] { check(golden, tensors); }) == "output: wanted float32 or float64, got int64");
}

TEST_CASE("a damaged case is refused with its file") {
  const tests::Scratch scratch;
  fs::copy(tests::golden_folder / "03-scaling/square", scratch / "square", fs::copy_options::recursive);
  CHECK(load_case(scratch / "square").outputs.size() == 4);

  const std::string json = read_file(scratch / "square/case.json");
  write_file(scratch / "square/case.json", "{");
  CHECK(complaint([&] { load_case(scratch / "square"); }).find("case.json: wanted JSON in UTF-8, got a fault") !=
        std::string::npos);
  write_file(scratch / "square/case.json", "{\"case\": \"x\"}");
  CHECK(complaint([&] { load_case(scratch / "square"); }).find("chapter") != std::string::npos);
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = json;
    text.replace(text.find(from), from.size(), to);
    write_file(scratch / "square/case.json", text);
    return complaint([&] { load_case(scratch / "square"); });
  };
  CHECK(changed("\"chapter\": 3", "\"chapter\": 1e300").find("wanted the number of a chapter") !=
        std::string::npos);
  CHECK(changed("[4, 4]", "[-4, 4]").find("wanted shapes of whole numbers, got [-4,4]") != std::string::npos);
  CHECK(changed("1e-12", "-1e-12").find("wanted tolerances of 0 or more") != std::string::npos);
  CHECK(changed("\"outputs\": [", "\"outputs\": [], \"others\": [").find("wanted at least one output") !=
        std::string::npos);
  // The JSON library copies and prints what is nested by calling itself: enough of it overflows the stack.
  for (const std::string& deep : {std::string(70000, '['), "{\"settings\":" + std::string(70000, '['),
                                  "{\"case\":" + std::string(70000, '[') + std::string(70000, ']') + "}"}) {
    write_file(scratch / "square/case.json", deep);
    CHECK(complaint([&] {
            load_case(scratch / "square");
          }).find("wanted a golden case as golden/README.md describes it, got something nested deeper") !=
          std::string::npos);
  }
  const std::string nested = std::string(70000, '[') + std::string(70000, ']');
  for (const std::string& deep :
       {"\"chapter\": " + nested, "\"chapter\": 3, \"settings\": {\"a\": " + nested + "}"}) {
    CHECK(changed("\"chapter\": 3", deep).find("got something nested deeper") != std::string::npos);
  }
  const std::string huge(1000000, 'x');
  CHECK(changed("\"chapter\": 3", "\"chapter\": \"" + huge + "\"").size() < 2000);
  CHECK(changed("\"float64\"", "\"" + huge + "\"").size() < 2000);
  CHECK(changed("\"name\": \"Q\"", "\"name\": \"" + huge + "\"").size() < 2000);
  CHECK(changed("\"dtype\": \"float64\"", "\"dtype\": \"" + huge + "\"").size() < 2000);
  CHECK(changed("\"name\": \"Q\"", "\"name\": \"\\u001b[31m\"").find('\x1B') == std::string::npos);
  write_file(scratch / "square/case.json", json);

  write_npy(scratch / "square/Q.npy", numbers({1, 2}));
  CHECK(complaint([&] {
          load_case(scratch / "square");
        }).find("Q.npy: wanted float64 (4, 4), as case.json says, got float64 (2,)") != std::string::npos);
  fs::remove(scratch / "square/Q.npy");
  CHECK(complaint([&] { load_case(scratch / "square"); }).find("Q.npy: wanted a file that can be read") !=
        std::string::npos);
  CHECK_THROWS_AS(load_case(scratch / "square"), InputError);
}
