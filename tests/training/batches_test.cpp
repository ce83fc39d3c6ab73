#include "attn/training/batches.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "matrices.hpp"

using namespace attn;
using namespace attn::training;

namespace {

const TaskOptions letters{Task::copy, 10, 1, 20};

}  // namespace

TEST_CASE("every pair is in one batch, no batch is too large, and each has short sentences and long ones") {
  Pairs pairs = make_pairs(letters, 500, 1);
  for (std::size_t i = 0; i < pairs.size(); i += 3) pairs.sources[i].push_back(2);  // longer than their targets
  const Batches batches = make_batches(pairs, 300, 7, 3);
  std::set<std::size_t> seen;
  for (const auto& batch : batches) {
    std::size_t source = 0, target = 0;
    std::set<std::size_t> lengths;
    for (const std::size_t i : batch) {
      CHECK(seen.insert(i).second);
      source += pairs.sources[i].size(), target += pairs.targets[i].size();
      lengths.insert(pairs.targets[i].size());
    }
    CHECK(source <= 300);
    CHECK(target <= 300);
    CHECK((&batch == &batches.back() || lengths.size() >= 8));  // of 20
  }
  CHECK(seen.size() == 500);
}

TEST_CASE("the order is a function of seed and epoch alone") {
  const Pairs pairs = make_pairs(letters, 300, 1);
  CHECK(make_batches(pairs, 64, 5, 2) == make_batches(pairs, 64, 5, 2));
  CHECK(make_batches(pairs, 64, 5, 2) != make_batches(pairs, 64, 5, 3));
  CHECK(make_batches(pairs, 64, 5, 2) != make_batches(pairs, 64, 6, 2));
}

// Of the six orders of three sentences of one length each should come about as often.
TEST_CASE("every order comes, and as often as any other") {
  const Pairs pairs = make_pairs({Task::copy, 10, 4, 4}, 3, 1);
  std::map<Batches, int> seen;
  for (std::uint32_t epoch = 0; epoch < 600; ++epoch) ++seen[make_batches(pairs, 5, 1, epoch)];  // of one sentence
  CHECK(seen.size() == 6);
  for (const auto& [order, times] : seen) CHECK(std::abs(times - 100) < 50);  // 5 standard deviations
}

TEST_CASE("a pair that is longer than a batch is named") {
  Pairs pairs = make_pairs(letters, 5, 1);
  pairs.sources[3] = Tokens(65, 4);
  CHECK(tests::complaint([&] { make_batches(pairs, 64, 1, 0); }) ==
        "pair 3: wanted at most 64 tokens, as a batch may have, got 65");
  CHECK(make_batches(pairs, 65, 1, 0).size() >= 1);
  CHECK(make_batches({}, 10, 1, 0).empty());
}
