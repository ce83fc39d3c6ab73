#include "attn/training/plan.hpp"

#include <set>

#include "attn/core/config.hpp"
#include "matrices.hpp"

using namespace attn;
using namespace attn::training;

namespace {

std::string refused(const SettingTexts& texts) {
  Plan plan;
  return tests::complaint([&] {
    apply(settings(plan), texts, "test");
    complete(plan);
  });
}

Plan of_preset(const std::string& name) {
  Plan plan;
  apply(settings(plan), preset(name), name);
  complete(plan);
  return plan;
}

}  // namespace

TEST_CASE("every setting reads what it writes") {
  Plan plan;
  std::set<std::string> names;
  for (const Setting& setting : settings(plan)) {
    CHECK(names.insert(setting.name).second);
    CHECK_FALSE(setting.help.empty());
    CHECK_FALSE(setting.group.empty());
  }
  for (const Dialect& d : dialects()) {
    Plan a;
    a.model.dialect = d;
    a.trainer.dropout = 0.1 + 0.2;
    const SettingTexts texts = texts_of(settings(a));
    Plan b;
    apply(settings(b), texts, "test");
    CHECK(texts_of(settings(b)) == texts);
    CHECK(switches(b.model.dialect) == switches(d));
    CHECK(b.trainer.dropout == a.trainer.dropout);
  }
}

// Vaswani et al. 2017, table 3: base has 65 million parameters with its vocabulary of about 37000, big 213.
TEST_CASE("the presets base and big are the paper's") {
  for (const auto& [name, millions] : {std::pair("base", 63), std::pair("big", 214)}) {
    Config config = of_preset(name).model;
    config.vocabulary = 37000;
    CHECK(parameter_count(config) / 1000000 == static_cast<std::size_t>(millions));
  }
  CHECK(of_preset("base").trainer.dropout == 0.1);
  CHECK(of_preset("big").trainer.dropout == 0.3);
  for (const std::string& name : preset_names()) CHECK_NOTHROW(of_preset(name));
  CHECK(tests::complaint([] { preset("huge"); }) == "preset: wanted one of tiny, small, base, big, got huge");
}

TEST_CASE("settings that make no sense, or contradict each other, are refused") {
  CHECK(refused({}).empty());
  CHECK(refused({{"colour", "red"}}) == "test: wanted a setting that there is, got colour");
  CHECK(refused({{"d_model", "30"}, {"h", "4"}}) == "d_model: wanted a multiple of h = 4, got 30");
  CHECK(refused({{"h", "0"}}) == "test: h: wanted a whole number from 1 to 16777216, got 0");
  CHECK(refused({{"h", "-2"}}) == "test: h: wanted a whole number from 1 to 16777216, got -2");
  CHECK(refused({{"h", ""}}) == "test: h: wanted a whole number from 1 to 16777216, got nothing");
  CHECK(refused({{"seed", "99999999999999999999"}}) ==
        "test: seed: wanted a whole number of 64 bits, got 99999999999999999999");
  CHECK(refused({{"dropout", "1"}}) == "test: dropout: wanted a number of at least 0 and less than 1, got 1");
  CHECK(refused({{"dropout", "nan"}}) == "test: dropout: wanted a number of at least 0 and less than 1, got nan");
  CHECK(refused({{"rate_scale", "2x"}}) == "test: rate_scale: wanted a number of at least 0, got 2x");
  for (const char* text : {"0x1p-3", " 0.1", "0.1 ", "", "+", "inf"})
    CHECK_FALSE(refused({{"dropout", text}}).empty());
  CHECK_FALSE(refused({{"dropout", std::string("0.1\0z", 5)}}).empty());
  CHECK(refused({{"encoder_layers", "18446744073709551615"}}) ==
        "test: encoder_layers: wanted a whole number from 0 to 10000, got 18446744073709551615");
  CHECK_FALSE(refused({{"letters", "18446744073709551615"}}).empty());
  CHECK_FALSE(refused({{"longest", "18446744073709551615"}}).empty());
  CHECK(refused({{"pre_norm", "true"}}) == "test: pre_norm: wanted yes or no, got true");
  CHECK(refused({{"activation", "gelu"}}) == "test: activation: wanted one of relu, swish, got gelu");
  CHECK(refused({{"task", "sort"}}) == "test: task: wanted copy or reverse, got sort");
  CHECK(refused({{"dialect", "mine"}}).rfind("test: dialect: wanted one of paper, ", 0) == 0);
  CHECK(refused({{"warmup", "0"}}) == "test: warmup: wanted a whole number from 1 to 2147483648, got 0");
  CHECK(refused({{"shortest", "9"}, {"longest", "8"}}) == "longest: wanted at least shortest = 9, got 8");
  CHECK(refused({{"longest", "20"}, {"tokens", "20"}}) ==
        "tokens: wanted at least 21, as the longest sentence has with its EOS, got 20");
  CHECK(refused({{"longest", "20"}, {"learned_positions", "20"}}) ==
        "learned_positions: wanted at least 21, as the longest sentence has with its EOS, got 20");
}

TEST_CASE("a switch of one's own goes over the dialect's, whatever comes first") {
  Plan plan;
  apply(settings(plan), {{"attention_bias", "yes"}, {"dialect", "annotated"}, {"pre_norm", "no"}}, "test");
  CHECK(plan.model.dialect.name == "annotated");
  CHECK_FALSE(plan.model.dialect.pre_norm);
  CHECK(plan.model.dialect.final_norm);
}

TEST_CASE("what is measured on is never learned from, and has sentences of every length") {
  for (const char* seed : {"1", "2", "3"}) {
    Plan plan;
    apply(settings(plan), {{"seed", seed}}, "test");
    complete(plan);
    const Pairs seen = training_pairs(plan), unseen = validation_pairs(plan);
    CHECK(seen.size() == plan.pairs);
    CHECK(unseen.size() == plan.validation_pairs);
    const std::set<Tokens> sources(seen.sources.begin(), seen.sources.end());
    std::set<std::size_t> lengths;
    for (const Tokens& source : unseen.sources) {
      CHECK(sources.count(source) == 0);
      lengths.insert(source.size() - 1);
    }
    CHECK(lengths.size() == 20);
  }
}
