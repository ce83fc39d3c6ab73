#include "attn/training/schedule.hpp"

#include <cmath>

#include "matrices.hpp"

using namespace attn;
using training::paper_rate;

// nanoGPT PR 578, yoyodyne PR 300, pytorch-saltnet 7: step 0, and two first steps of one size.
TEST_CASE("the paper's learning rate, to the digits that are known") {
  const std::pair<std::uint64_t, double> known[] = {{1, 1.746928e-7},     {2, 3.493856e-7},    {3999, 6.985966e-4},
                                                    {4000, 6.987712e-4},  {4001, 6.986839e-4}, {8000, 4.941059e-4},
                                                    {100000, 1.397542e-4}};
  for (const auto& [step, rate] : known) {
    CHECK(std::abs(paper_rate(512, 4000, step) / rate - 1) < 1e-6);
    CHECK(std::abs(training::Schedule{512, 4000, 3.0, true}.rate(step) / (3 * rate) - 1) < 1e-6);
  }
  CHECK(tests::complaint([] { paper_rate(512, 4000, 0); }) ==
        "step: wanted the number of an update, from 1, got 0");
  CHECK(tests::complaint([] { paper_rate(512, 0, 1); }) == "warmup: wanted at least 1 update, got 0");
}

TEST_CASE("without warm-up the first updates have the highest rate, and the others the same as with it") {
  const training::Schedule with = {512, 4000, 1.0, true}, without = {512, 4000, 1.0, false};
  for (const std::uint64_t step : {1, 2, 3999, 4000}) CHECK(std::abs(without.rate(step) / 6.987712e-4 - 1) < 1e-6);
  for (const std::uint64_t step : {4001, 8000, 100000}) CHECK(without.rate(step) == with.rate(step));
  CHECK_THROWS(without.rate(0));
}
