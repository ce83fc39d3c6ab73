// The library against every golden case: the tensors of its trace are what somebody else computed.
#include "attn/core/trace.hpp"
#include "attn/golden/check.hpp"
#include "attn/reference/projections.hpp"
#include "attn/reference/scaling.hpp"
#include "attn/reference/similarity.hpp"
#include "golden_folder.hpp"
#include "matrices.hpp"

using namespace attn;

namespace {

Projections projections(const GoldenCase& golden) {
  return {golden.input("W_Q"), golden.input("W_K"), golden.input("W_V")};
}

/// Runs the operation that a case names.
void run(const GoldenCase& golden) {
  const std::string& function = golden.function;
  if (function == "softmax") {
    trace("weights", softmax(golden.input("scores")));
  } else if (function == "similarity_attention") {
    similarity_attention(golden.input("X"));
  } else if (function == "projected_attention") {
    projected_attention(golden.input("X"), projections(golden));
  } else if (function == "attention") {
    attention(golden.input("Q"), golden.input("K"), golden.input("V"));
  } else if (function == "self_attention") {
    self_attention(golden.input("X"), projections(golden));
  } else {
    FAIL("no operation is called " << function);
  }
}

void check_chapter(int chapter, std::size_t at_least) {
  std::size_t cases = 0;
  for (const auto& folder : list_cases(tests::golden_folder)) {
    const GoldenCase golden = load_case(folder);
    if (golden.chapter != chapter) continue;
    ++cases;
    INFO(golden.name);
    Trace trace;
    run(golden);
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

TEST_CASE("a case is called as its folder", "[chapter-01]") {
  for (const auto& folder : list_cases(tests::golden_folder)) {
    CHECK(load_case(folder).name == std::filesystem::relative(folder, tests::golden_folder).generic_string());
  }
}
