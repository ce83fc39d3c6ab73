#include "attn/core/config.hpp"

#include <cmath>
#include <set>

#include "attn/core/cost.hpp"
#include "attn/core/dropout.hpp"
#include "attn/core/errors.hpp"
#include "matrices.hpp"

using namespace attn;
using tests::complaint;

namespace {

Config toy() {
  Config config;
  config.vocabulary = 11;
  config.d_model = 16;
  config.d_ff = 32;
  config.h = 4;
  config.encoder_layers = config.decoder_layers = 2;
  return config;
}

/// V d + N [12 d² (+ 12 d with attention biases) + 2 (2 d d_ff + d_ff + d) + 10 d], by hand.
std::size_t by_formula(const Config& c, bool biases) {
  const std::size_t d = c.d_model;
  return c.vocabulary * d +
         c.encoder_layers * (12 * d * d + (biases ? 12 * d : 0) + 2 * (2 * d * c.d_ff + c.d_ff + d) + 10 * d);
}

}  // namespace

TEST_CASE("the base model of the paper has 63 million parameters") {
  Config base;
  CHECK(parameter_count(base) == 63045632);
  CHECK(parameter_count(base) == by_formula(base, false));
  base.dialect.attention_bias = true;
  CHECK(parameter_count(base) == 63082496);
  CHECK(parameter_count(base) == by_formula(base, true));
}

// pytorch issue 50086: nn.Transformer norms once more after each stack.
TEST_CASE("a toy is counted to the last number, and one norm too many is seen") {
  Config config = toy();
  CHECK(parameter_count(config) == 10928);
  config.dialect.attention_bias = true;
  CHECK(parameter_count(config) == 11312);
  config.dialect.final_norm = true;
  CHECK(parameter_count(config) == 11376);
}

TEST_CASE("tying saves two matrices of V rows") {
  Config tied, apart;
  apart.tied = false;
  CHECK(parameter_count(apart) - parameter_count(tied) == 37888000);
}

TEST_CASE("learned positions are a matrix for each stack, between what is shared and the layers") {
  Config config = toy();
  config.dialect = dialect("annotated");
  config.learned_positions = 20;
  CHECK(parameter_count(config) == 2 * 20 * 16 + [&] {
    Config sines = config;
    sines.learned_positions = 0;
    return parameter_count(sines);
  }());
  const std::vector<Parameter> all = parameters(config);
  CHECK(all[1].name == "projection.b");
  CHECK(all[2].name == "encoder.positions");
  CHECK(all[3].name == "decoder.positions");
  CHECK(all[3].rows == 20);
  CHECK(all[3].columns == 16);
  CHECK(all[3].kind == Parameter::Kind::embedding);
}

TEST_CASE("parts add up to the whole, and no name stands twice") {
  Config config = toy();
  config.dialect = dialect("annotated");
  std::set<std::string> names;
  std::size_t sum = 0;
  for (const Parameter& parameter : parameters(config)) {
    CHECK(names.insert(parameter.name).second);
    sum += parameter.size();
  }
  CHECK(sum == parameter_count(config));
  CHECK(parameter_count(config, "encoder.") + parameter_count(config, "decoder.") +
            parameter_count(config, "embedding") + parameter_count(config, "projection") ==
        sum);
  CHECK(names.count("decoder.1.cross.W_K") == 1);
  CHECK(names.count("encoder.norm.gamma") == 1);
}

TEST_CASE("sizes that do not fit are refused by name") {
  const auto with = [](auto change) {
    Config config;
    change(config);
    return complaint([&] { check(config); });
  };
  CHECK(with([](Config& c) { c.d_model = 510; }) == "d_model: wanted a multiple of h = 8, got 510");
  CHECK(with([](Config& c) { c.h = 0; }) == "h: wanted at least 1, got 0");
  CHECK(with([](Config& c) { c.vocabulary = 0; }) == "vocabulary: wanted at least 1, got 0");
  CHECK(with([](Config& c) { c.target_vocabulary = 5; }) ==
        "target_vocabulary: wanted 0, since one tied matrix needs one shared vocabulary, got 5");
  CHECK(with([](Config&) {}).empty());
}

TEST_CASE("special tokens are tokens of the vocabulary") {
  Config config;
  config.vocabulary = 2;
  CHECK(complaint([&] { check(config); }) ==
        "eos: wanted one of the vocabulary's 2 tokens, counted from 0, got 2");
  config.eos = 1;
  config.pad = -1;
  CHECK(complaint([&] { check(config); }) ==
        "pad: wanted one of the vocabulary's 2 tokens, counted from 0, got -1");
}

// The forms of label smoothing and the places of dropout, as their sources have them.
TEST_CASE("what the dialects do while they train") {
  const auto form = [](const char* name) { return dialect(name).smoothing; };
  CHECK(form("paper") == Smoothing::all_classes);
  CHECK(form("marian") == Smoothing::all_classes);
  CHECK(form("huggingface") == Smoothing::all_classes);
  CHECK(form("tensor2tensor") == Smoothing::other_classes);
  CHECK(form("fairseq") == Smoothing::other_classes);
  CHECK(form("annotated") == Smoothing::other_classes_but_pad);
  for (const Dialect& d : dialects()) {
    CHECK(d.attention_dropout == (d.name == "annotated"));
    CHECK(d.feed_forward_dropout == (d.name == "annotated"));
  }
}

TEST_CASE("first values: Xavier's bounds for each logical matrix, embeddings of length about 1") {
  Random random(1);
  const Matrix W = initial_value({"W_Q", 512, 512, Parameter::Kind::matrix}, random);
  CHECK(std::abs(xt::amax(W)() - .076547) < 1e-4);
  CHECK(std::abs(xt::amin(W)() + .076547) < 1e-4);
  const Matrix E = initial_value({"embedding", 1000, 512, Parameter::Kind::embedding}, random);
  CHECK(std::abs(std::sqrt(xt::mean(E * E)()) - .0442) < 5e-4);
  CHECK(xt::sum(initial_value({"b", 1, 3, Parameter::Kind::bias}, random))() == 0);
  CHECK(xt::sum(initial_value({"gamma", 1, 3, Parameter::Kind::gain}, random))() == 3);
}

TEST_CASE("the dialects by name; an unknown one is refused with those that there are") {
  CHECK(dialects().size() == 6);
  CHECK(dialect("paper").epsilon == 1e-6);
  CHECK(dialect("fairseq").first_position == 2);
  CHECK(complaint([] { dialect("sockeye"); }) ==
        "dialect: wanted one of paper, tensor2tensor, annotated, marian, fairseq, huggingface, got sockeye");
}

TEST_CASE("the words for the switches tell every two dialects apart") {
  for (const Dialect& a : dialects()) {
    for (const Dialect& b : dialects()) {
      CHECK(switches(a).size() == switches(b).size());
      CHECK((switches(a) == switches(b)) == (a.name == b.name));
    }
  }
}

TEST_CASE("dropout drops a share p and keeps the mean; the same for the same counter, others for others") {
  Dropout dropout{0.1, 7, 3, 0, 0};
  const int n = 100000;
  int dropped = 0, others = 0;
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    const double factor = dropout.factor(0, static_cast<std::uint32_t>(i));
    others += factor != 0.0 && factor != 1.0 / 0.9 ? 1 : 0;
    dropped += factor == 0.0 ? 1 : 0;
    sum += factor;
  }
  CHECK(others == 0);
  CHECK(std::abs(dropped / double(n) - 0.1) < 5 * std::sqrt(0.09 / n));
  CHECK(std::abs(sum / n - 1) < 0.01);
  const auto pattern = [](Dropout d, std::uint32_t site) {
    std::string bits;
    for (std::uint32_t i = 0; i < 200; ++i) bits += d.factor(site, i) == 0.0 ? '0' : '1';
    return bits;
  };
  const Dropout half{0.5, 7, 3, 0, 0};
  const std::string bits = pattern(half, 0);
  CHECK(pattern(half, 0) == bits);
  CHECK(pattern(half, 1) != bits);
  CHECK(pattern({0.5, 8, 3, 0, 0}, 0) != bits);
  CHECK(pattern({0.5, 7, 4, 0, 0}, 0) != bits);
  CHECK(pattern({0.5, 7, 3, 1, 0}, 0) != bits);
}

// The key is the seed with "drop" in its lower half; the words were computed by a Python script from the rounds in
// Salmon et al. 2011 (checked against the published ones): counter (0, 0, 0, 0), key (0x64726f70, 0), and counter
// (2, 7, 3, 5), key (0x64726f70 ^ 9, 4).
TEST_CASE("which number is dropped follows from philox, its seed, step, site and sentence") {
  CHECK(Dropout{0.0410, 0, 0, 0, 0}.factor(0, 0) != 0.0);  // 0xa873f44: 0.04113 of 2^32
  CHECK(Dropout{0.0412, 0, 0, 0, 0}.factor(0, 0) == 0.0);
  CHECK(Dropout{0.2781, 0, 0, 0, 0}.factor(0, 1) != 0.0);  // 0x4739442d: 0.27822 of 2^32
  CHECK(Dropout{0.2783, 0, 0, 0, 0}.factor(0, 1) == 0.0);
  const std::uint64_t seed = (std::uint64_t{4} << 32) + 9;    // block 2 at site 7, step 3, sentence 5
  CHECK(Dropout{0.1553, seed, 3, 5, 0}.factor(7, 9) != 0.0);  // 0x27c55959: 0.15536 of 2^32
  CHECK(Dropout{0.1555, seed, 3, 5, 0}.factor(7, 9) == 0.0);
}

TEST_CASE("dropout has nothing to do with the random numbers of its seed") {
  Random random(7);
  const Dropout dropout{0.5, 7, 0, 0, 0};
  int equal = 0;
  for (std::uint32_t i = 0; i < 1000; ++i)
    equal += (random.bits() < 0x80000000) == (dropout.factor(0, i) == 0.0) ? 1 : 0;
  CHECK(equal > 400);
  CHECK(equal < 600);
}

TEST_CASE("dropout of everything, or of less than nothing, is refused") {
  for (const double p : {1.0, -0.1, 2.0, std::nan("")}) {
    CHECK(complaint([&] { Dropout{p, 0, 0, 0, 0}.factor(0, 0); }).find("dropout: wanted a share") == 0);
  }
}

TEST_CASE("multiply-adds are counted where a product is taken, and counts may be nested") {
  const MultiplyAdds outer;
  product(Matrix(xt::ones<double>({2, 3})), Matrix(xt::ones<double>({3, 5})));
  const MultiplyAdds inner;
  product(Matrix(xt::ones<double>({1, 4})), Matrix(xt::ones<double>({4, 1})));
  CHECK(inner.count() == 4);
  CHECK(outer.count() == 34);
}
