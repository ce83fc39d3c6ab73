#include "attn/training/pairs.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "matrices.hpp"

using namespace attn;
using namespace attn::training;

namespace {

/// How many sentences there are of each length, in letters.
std::map<std::size_t, std::size_t> lengths(const Pairs& pairs) {
  std::map<std::size_t, std::size_t> counts;
  for (const Tokens& source : pairs.sources) ++counts[source.size() - 1];
  return counts;
}

}  // namespace

TEST_CASE("sentences of a task are as they should be") {
  for (const Task task : {Task::copy, Task::reverse}) {
    const TaskOptions options{task, 5, 2, 9};
    for (const Pairs& pairs : {make_pairs(options, 400, 11), held_out_pairs(options, 100, 11)}) {
      std::set<int> letters;
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        Tokens source = pairs.sources[i], target = pairs.targets[i];
        REQUIRE(source.back() == 2);
        REQUIRE(target.back() == 2);
        source.pop_back(), target.pop_back();
        if (task == Task::reverse) std::reverse(target.begin(), target.end());
        CHECK(source == target);
        letters.insert(source.begin(), source.end());
      }
      CHECK(letters == std::set<int>{3, 4, 5, 6, 7});
    }
  }
}

TEST_CASE("every length is learned from equally often, though there are few short sentences") {
  const Pairs pairs = make_pairs({Task::copy, 10, 1, 20}, 10000, 3);
  REQUIRE(pairs.size() == 10000);
  const std::map<std::size_t, std::size_t> counts = lengths(pairs);
  REQUIRE(counts.size() == 20);
  for (const auto& [length, count] : counts) {  // 500 expected, with a deviation of 22
    INFO(length << " letters");
    CHECK(count > 390);
    CHECK(count < 610);
  }
}

TEST_CASE("sentences of every length are held out, of short ones a fifth") {
  const Pairs pairs = held_out_pairs({Task::reverse, 10, 1, 20}, 200, 7);
  CHECK(std::set<Tokens>(pairs.sources.begin(), pairs.sources.end()).size() == 200);
  std::map<std::size_t, std::size_t> wanted;  // 2 of 10, and 198 shared out among the 19 other lengths
  for (std::size_t length = 1; length <= 20; ++length) wanted[length] = length == 1 ? 2 : length <= 9 ? 11 : 10;
  CHECK(lengths(pairs) == wanted);
  using Counts = std::map<std::size_t, std::size_t>;
  CHECK(lengths(held_out_pairs({Task::copy, 10, 1, 2}, 22, 1)) == Counts{{1, 2}, {2, 20}});
  CHECK(lengths(held_out_pairs({Task::copy, 2, 1, 3}, 4, 1)) == Counts{{1, 1}, {2, 1}, {3, 2}});
  CHECK(lengths(held_out_pairs({Task::copy, 10, 30, 30}, 50, 1)) == Counts{{30, 50}});
}

TEST_CASE("a seed gives the same sentences again, and others give others; what is held out does not come") {
  const TaskOptions options{Task::copy, 3, 1, 5};
  const Pairs unseen = held_out_pairs(options, 60, 1);
  CHECK(held_out_pairs(options, 60, 1).sources == unseen.sources);
  CHECK(held_out_pairs(options, 60, 2).sources != unseen.sources);
  CHECK(make_pairs(options, 200, 1).sources == make_pairs(options, 200, 1).sources);
  CHECK(make_pairs(options, 200, 1).sources != make_pairs(options, 200, 2).sources);
  const std::set<Tokens> held_out(unseen.sources.begin(), unseen.sources.end());
  for (const Tokens& source : make_pairs(options, 1000, 2, unseen).sources) CHECK(held_out.count(source) == 0);
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
  CHECK(tests::complaint([] {
          held_out_pairs({Task::copy, 10, 1, 2}, 23, 1);
        }) == "validation_pairs: wanted at most 22, a fifth of the sentences of each length, got 23");
  CHECK(tests::complaint([] {
          held_out_pairs({Task::copy, 1, 1, 20}, 1, 1);
        }) == "validation_pairs: wanted at most 0, a fifth of the sentences of each length, got 1");
  const Pairs all = {{{3, 2}, {4, 2}}, {{3, 2}, {4, 2}}};
  CHECK(tests::complaint([&] {
          make_pairs({Task::copy, 2, 1, 1}, 1, 1, all);
        }) == "pairs: wanted sentences other than those that are left out, got none");
}
