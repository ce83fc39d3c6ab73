#include "attn/training/pairs.hpp"

#include <algorithm>
#include <set>

#include "matrices.hpp"

using namespace attn;
using namespace attn::training;

TEST_CASE("sentences of a task are as they should be, and all different") {
  for (const Task task : {Task::copy, Task::reverse}) {
    const Pairs pairs = make_pairs({task, 5, 2, 9}, 400, 11);
    REQUIRE(pairs.size() == 400);
    std::set<Tokens> sources;
    std::set<std::size_t> lengths;
    std::set<int> letters;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      Tokens source = pairs.sources[i], target = pairs.targets[i];
      CHECK(sources.insert(source).second);
      REQUIRE(source.back() == 2);
      REQUIRE(target.back() == 2);
      source.pop_back(), target.pop_back();
      if (task == Task::reverse) std::reverse(target.begin(), target.end());
      CHECK(source == target);
      lengths.insert(source.size());
      letters.insert(source.begin(), source.end());
    }
    CHECK(lengths == std::set<std::size_t>{2, 3, 4, 5, 6, 7, 8, 9});
    CHECK(letters == std::set<int>{3, 4, 5, 6, 7});
  }
}

TEST_CASE("a seed gives the same sentences again, and others give others; what was seen does not come back") {
  const TaskOptions options{Task::copy, 3, 1, 5};  // 3 + 9 + 27 + 81 + 243 sentences
  const Pairs seen = make_pairs(options, 200, 1);
  CHECK(make_pairs(options, 200, 1).sources == seen.sources);
  CHECK(make_pairs(options, 200, 2).sources != seen.sources);
  const std::set<Tokens> before(seen.sources.begin(), seen.sources.end());
  for (const Tokens& source : make_pairs(options, 100, 2, seen).sources) CHECK(before.count(source) == 0);
}

TEST_CASE("tasks that cannot be are refused") {
  CHECK(task("copy") == Task::copy);
  CHECK(name(task("reverse")) == "reverse");
  CHECK(tests::complaint([] { task("sort"); }) == "task: wanted copy or reverse, got sort");
  CHECK(tests::complaint([] { make_pairs({Task::copy, 0, 1, 2}, 1, 1); }) == "letters: wanted at least 1, got 0");
  CHECK(tests::complaint([] {
          make_pairs({Task::copy, 3, 0, 2}, 1, 1);
        }) == "shortest: wanted at least 1 letter, got 0");
  CHECK(tests::complaint([] {
          make_pairs({Task::copy, 3, 4, 2}, 1, 1);
        }) == "longest: wanted at least shortest = 4, got 2");
  const std::string too_many = tests::complaint([] { make_pairs({Task::copy, 2, 1, 2}, 7, 1); });
  CHECK(too_many == "pairs: wanted at most about 6 different sentences of so few letters, got 7");
}
