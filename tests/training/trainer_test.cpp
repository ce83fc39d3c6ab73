#include "attn/training/trainer.hpp"

#include <cmath>
#include <limits>
#include <memory>

#include "attn/core/random.hpp"
#include "attn/engine/backend/cpu.hpp"
#include "attn/engine/backend/memory.hpp"
#include "matrices.hpp"

using namespace attn;
using namespace attn::training;

namespace {

Config small() {
  Config config;
  config.vocabulary = 9;
  config.d_model = 8;
  config.d_ff = 12;
  config.h = 2;
  config.encoder_layers = config.decoder_layers = 1;
  return config;
}

/// A trainer, and what it works on.
struct Bench {
  explicit Bench(TrainerOptions options = {}, std::size_t count = 40)
      : pairs(make_pairs({Task::copy, 6, 1, 6}, count, 1)) {
    Random random(4);
    model.parameters().set([&](const Parameter& p) { return initial_value(p, random); });
    options.schedule.d_model = 8;
    options.schedule.warmup = 10;
    trainer = std::make_unique<Trainer>(model, *backend, pairs, options);
  }
  std::vector<float> weights() {
    std::vector<float> all(model.parameters().size());
    backend->download(model.parameters().values(), all);
    return all;
  }
  Pairs pairs;
  std::unique_ptr<engine::Backend> backend = engine::make_cpu_backend();
  engine::Transformer model{small(), *backend};
  std::unique_ptr<Trainer> trainer;
};

TrainerOptions plain() {
  TrainerOptions options;
  options.dropout = 0.0;
  options.loss.label_smoothing = 0.0;
  return options;
}

double apart(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(static_cast<double>(a[i]) - b[i]));
  return worst;
}

}  // namespace

TEST_CASE("it learns: the loss falls, epoch after epoch") {
  TrainerOptions options = plain();
  options.tokens = 64;
  Bench bench(options);
  const double before = validate(bench.model, bench.pairs).loss;
  for (int i = 0; i < 60; ++i) bench.trainer->update();
  CHECK(validate(bench.model, bench.pairs).loss < before - 0.5);
  CHECK(bench.trainer->progress().updates == 60);
  CHECK(bench.trainer->progress().epoch > 5);
}

// transformers 24725, PR 34373: the mean over all tokens, not a mean of means.
TEST_CASE("batches that are accumulated make the same update as one large batch") {
  TrainerOptions options = plain();
  Bench whole(options);
  options.tokens = 50;
  Bench probe(options);
  options.accumulate = make_batches(probe.pairs, 50, options.seed, 0).size();
  REQUIRE(options.accumulate > 3);
  Bench parts(options);
  const Update one = whole.trainer->update(), many = parts.trainer->update();
  CHECK(one.loss.tokens == many.loss.tokens);
  CHECK(one.source_tokens == many.source_tokens);
  CHECK(std::abs(one.loss_per_token() - many.loss_per_token()) < 1e-6);
  CHECK(std::abs(one.gradient_length - many.gradient_length) < 1e-5);
  CHECK(parts.trainer->progress().batch == options.accumulate);
  CHECK(std::abs(one.rate - paper_rate(8, 10, 1)) < 1e-15);
}

TEST_CASE("what is dropped differs from batch to batch of an update, and from update to update") {
  TrainerOptions options;
  options.dropout = 0.5;
  options.schedule.scale = 0.0;  // the weights stay, so that only dropout makes a difference
  Bench one(options, 1);         // one sentence: every batch is the same
  options.accumulate = 2;
  Bench two(options, 1);
  std::vector<double> losses;
  for (int i = 0; i < 4; ++i) losses.push_back(one.trainer->update().loss.sum);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < i; ++j) CHECK(std::abs(losses[i] - losses[j]) > 1e-4);
  }
  CHECK(std::abs(two.trainer->update().loss.sum - 2 * losses[0]) > 1e-4);
}

TEST_CASE("a seed decides everything, and another seed something else") {
  TrainerOptions options;
  options.tokens = 64;
  Bench a(options), b(options);
  options.seed = 2;
  Bench c(options);
  for (int i = 0; i < 5; ++i) a.trainer->update(), b.trainer->update(), c.trainer->update();
  CHECK(a.weights() == b.weights());
  CHECK(apart(a.weights(), c.weights()) > 1e-4);
}

TEST_CASE("a loss that is no number stops the training, and names the update") {
  TrainerOptions options = plain();
  Bench bench(options);
  bench.trainer->update();
  Matrix bad = bench.model.parameters().value("embedding");
  bad(5, 0) = std::numeric_limits<double>::quiet_NaN();
  bench.model.parameters().set(
      [&](const Parameter& p) { return p.name == "embedding" ? bad : bench.model.parameters().value(p.name); });
  const std::string complaint = tests::complaint([&] { bench.trainer->update(); });
  CHECK(complaint.rfind("update 2: wanted a finite loss, got ", 0) == 0);
  CHECK_THROWS_AS(bench.trainer->update(), Diverged);
  CHECK(bench.trainer->progress().updates == 1);
  std::vector<float> gradients(bench.model.parameters().size(), 1.0f);
  bench.backend->download(bench.model.parameters().gradients(), gradients);
  CHECK(gradients == std::vector<float>(gradients.size(), 0.0f));  // nothing of it is left for a later update
}

TEST_CASE("room is made for the largest batch there can be, before the first") {
  Config wide = small();
  wide.d_model = 64, wide.d_ff = 256;  // a batch takes more than the arena's least block
  const Pairs pairs = make_pairs({Task::copy, 6, 1, 6}, 500, 1);
  for (const std::size_t tokens : {1000, 1500}) {
    TrainerOptions options = plain();
    options.tokens = tokens;
    options.schedule.d_model = wide.d_model;
    const auto backend = engine::make_cpu_backend();
    engine::Transformer model(wide, *backend);
    Trainer trainer(model, *backend, pairs, options);
    CHECK(model.arena().capacity() > std::size_t{1} << 20);
    const std::size_t allocations = engine::allocations_of_floats();
    while (trainer.progress().epoch < 3) trainer.update();
    CHECK(engine::allocations_of_floats() == allocations);
  }
}

TEST_CASE("the moving average: at first the mean of all weights so far, then what decays") {
  TrainerOptions options = plain();
  options.average = 0.6;
  Bench bench(options);
  std::vector<std::vector<double>> seen;
  for (int i = 0; i < 4; ++i) {
    bench.trainer->update();
    const std::vector<float> now = bench.weights();
    seen.emplace_back(now.begin(), now.end());
  }
  // 1, 1/2, then 1 - .6: by hand ((w1 + w2) / 2 * .6 + .4 w3) * .6 + .4 w4
  std::vector<float> wanted(seen[0].size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double two = (seen[0][i] + seen[1][i]) / 2, three = 0.6 * two + 0.4 * seen[2][i];
    wanted[i] = static_cast<float>(0.6 * three + 0.4 * seen[3][i]);
  }
  const std::vector<float> last = bench.weights();
  bench.trainer->swap_average();
  CHECK(apart(bench.weights(), wanted) < 1e-6);
  bench.trainer->swap_average();
  CHECK(bench.weights() == last);
}

// nanoGPT PR 240, detr 498, transformers 2627: dropout that stays on.
TEST_CASE("a validation drops nothing and gives the same twice; its perplexity is that of all tokens") {
  TrainerOptions options;
  options.dropout = 0.5;
  Bench bench(options);
  const Validation one = validate(bench.model, bench.pairs), two = validate(bench.model, bench.pairs, 64);
  CHECK(validate(bench.model, bench.pairs).loss == one.loss);
  CHECK(std::abs(one.loss - two.loss) < 1e-6);
  std::size_t tokens = 0;
  for (const Tokens& target : bench.pairs.targets) tokens += target.size();
  CHECK(one.tokens == tokens);
  CHECK(two.tokens == tokens);
  CHECK(std::abs(one.perplexity() - std::exp(one.loss)) < 1e-12);
  CHECK(std::abs(bench.trainer->update().loss.sum / static_cast<double>(tokens) - one.loss) > 1e-3);
  CHECK(validate(bench.model, {}).tokens == 0);
}

TEST_CASE("options that make no sense are refused") {
  const auto refused = [](auto change) {
    TrainerOptions options;
    change(options);
    return tests::complaint([&] { Bench bench(options); });
  };
  CHECK(refused([](TrainerOptions& o) { o.dropout = 1.0; }) ==
        "dropout: wanted at least 0 and less than 1, got 1.000000");
  CHECK(refused([](TrainerOptions& o) { o.average = -0.5; }) ==
        "average: wanted at least 0 and less than 1, got -0.500000");
  CHECK(refused([](TrainerOptions& o) { o.loss.label_smoothing = std::nan(""); }) ==
        "label_smoothing: wanted at least 0 and less than 1, got nan");
  CHECK(refused([](TrainerOptions& o) { o.accumulate = 0; }) == "accumulate: wanted at least 1 batch, got 0");
  CHECK(tests::complaint([] { Bench bench({}, 0); }) == "pairs: wanted at least one to learn from, got none");
}
