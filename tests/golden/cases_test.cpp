// The library against every golden case: the tensors of its trace are what somebody else computed.
#include "attn/core/trace.hpp"
#include "attn/golden/check.hpp"
#include "golden_folder.hpp"
#include "matrices.hpp"
#include "operations.hpp"

using namespace attn;

namespace {

void check_chapter(int chapter, std::size_t at_least) {
  std::size_t cases = 0;
  for (const auto& folder : list_cases(tests::golden_folder)) {
    const GoldenCase golden = load_case(folder);
    const bool trains = golden.function.rfind("training_", 0) == 0;  // the engine does; see tests/training
    if (golden.chapter != chapter || trains) continue;
    ++cases;
    INFO(golden.name);
    Trace trace;
    tests::run(golden);
    std::map<std::string, Tensor> tensors;
    for (const NamedMatrix& tensor : trace.tensors()) tensors[tensor.name] = to_tensor(tensor.value);
    const Report report = check(golden, tensors);
    for (const TensorReport& tensor : report.tensors) {
      INFO(tensor.name);
      CHECK(tensor.state == TensorReport::State::right);
    }
  }
  CHECK(cases >= at_least);
}

}  // namespace

TEST_CASE("golden cases of chapter 01", "[chapter-01]") { check_chapter(1, 5); }
TEST_CASE("golden cases of chapter 02", "[chapter-02]") { check_chapter(2, 4); }
TEST_CASE("golden cases of chapter 03", "[chapter-03]") { check_chapter(3, 5); }
TEST_CASE("golden cases of chapter 04", "[chapter-04]") { check_chapter(4, 3); }
TEST_CASE("golden cases of chapter 05", "[chapter-05]") { check_chapter(5, 5); }
TEST_CASE("golden cases of chapter 06", "[chapter-06]") { check_chapter(6, 2); }
TEST_CASE("golden cases of chapter 07", "[chapter-07]") { check_chapter(7, 8); }
TEST_CASE("golden cases of chapter 08", "[chapter-08]") { check_chapter(8, 14); }
TEST_CASE("golden cases of chapter 09", "[chapter-09]") { check_chapter(9, 10); }
TEST_CASE("golden cases of chapter 10", "[chapter-10]") { check_chapter(10, 11); }

TEST_CASE("a case is called as its folder", "[chapter-01]") {
  for (const auto& folder : list_cases(tests::golden_folder)) {
    CHECK(load_case(folder).name == std::filesystem::relative(folder, tests::golden_folder).generic_string());
  }
}
