// The engine against the reference: the same logits, losses and gradients on random shapes. And what must not
// matter: batch mates, padding, the order of sentences, the number of threads.
#include "attn/engine/transformer.hpp"

#include <omp.h>

#include <cmath>

#include "allocations.hpp"
#include "attn/core/random.hpp"
#include "attn/engine/backend/cpu.hpp"
#include "attn/engine/backend/memory.hpp"
#include "attn/reference/loss.hpp"
#include "attn/reference/transformer.hpp"
#include "matrices.hpp"

using namespace attn;
using tests::allocations;

namespace {

std::size_t between(Random& random, std::size_t low, std::size_t high) {
  return low + random.bits() % (high - low + 1);
}

/// A model of random sizes in a random dialect.
Config random_config(Random& random) {
  Config config;
  config.vocabulary = between(random, 5, 13);
  config.h = between(random, 1, 4);
  config.d_model = config.h * between(random, 1, 5);
  config.d_ff = between(random, 1, 20);
  config.encoder_layers = between(random, 0, 3);
  config.decoder_layers = between(random, 0, 3);
  config.dialect = dialects()[random.bits() % dialects().size()];
  if (config.dialect.norm == attn::NormForm::annotated && config.d_model == 1) config.d_model = config.h = 2;
  if (random.bits() % 3 == 0) {
    config.tied = false;
    config.target_vocabulary = between(random, 5, 9);
  }
  if (random.bits() % 4 == 0) config.learned_positions = between(random, 9, 12);
  for (bool* choice : {&config.dialect.final_norm, &config.dialect.pre_norm, &config.dialect.attention_dropout,
                       &config.dialect.feed_forward_dropout}) {
    if (random.bits() % 4 == 0) *choice = !*choice;
  }
  if (random.bits() % 4 == 0) config.dialect.activation = attn::Activation::swish;
  return config;
}

Tokens random_tokens(Random& random, std::size_t length, std::size_t vocabulary) {
  Tokens tokens(length);
  for (int& token : tokens) token = 1 + static_cast<int>(random.bits() % (vocabulary - 1));
  return tokens;
}

Matrix random_value(const Parameter& p, Random& random) {
  const bool gain = p.kind == Parameter::Kind::gain;
  const double size = p.kind == Parameter::Kind::matrix ? 1.0 / std::sqrt(static_cast<double>(p.rows)) : 0.3;
  return Matrix(random.normal_matrix(p.rows, p.columns, size) + (gain ? 1.0 : 0.0));
}

/// The same numbers for both, in float.
struct Both {
  attn::Transformer reference;
  std::unique_ptr<engine::Backend> backend;
  std::unique_ptr<engine::Transformer> model;
};

Both make(const Config& config, Random& random) {
  Both both;
  both.reference = make_transformer(config, [&](const Parameter& p) {
    Matrix value = random_value(p, random);
    for (double& x : value) x = static_cast<float>(x);
    return value;
  });
  both.backend = engine::make_cpu_backend();
  both.model = std::make_unique<engine::Transformer>(config, *both.backend);
  std::map<std::string, Matrix> values;
  for_each(both.reference, [&](const std::string& name, Matrix& value) { values[name] = value; });
  both.model->parameters().set([&](const Parameter& p) { return values.at(p.name); });
  return both;
}

}  // namespace

/// Puts padding at random places.
Tokens with_padding(Random& random, Tokens tokens) {
  for (int& token : tokens) {
    if (random.bits() % 4 == 0) token = 0;
  }
  return tokens;
}

TEST_CASE("forward equals the reference on random models and batches, with padding at random places") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    Random random(seed);
    const Config config = random_config(random);
    Both both = make(config, random);
    const std::size_t target_V = config.tied ? config.vocabulary : config.target_vocabulary;
    std::vector<Tokens> sources, targets;
    for (std::size_t b = between(random, 1, 4); b > 0; --b) {
      sources.push_back(random_tokens(random, between(random, 0, 9), config.vocabulary));
      targets.push_back(random_tokens(random, between(random, 0, 9), target_V));
      if (seed % 2 == 0) continue;
      sources.back() = with_padding(random, sources.back());
      targets.back() = with_padding(random, targets.back());
      while (!targets.back().empty() && targets.back().back() == 0) targets.back().pop_back();  // has no logits
    }
    const engine::Batch batch = engine::pack(config, sources, targets);
    const std::vector<float> logits = both.model->logits(batch);
    std::size_t at = 0;
    double worst = 0.0, size = 1.0;
    for (std::size_t b = 0; b < sources.size(); ++b) {
      for (const double wanted : transformer(both.reference, sources[b], targets[b])) {
        worst = std::max(worst, std::abs(wanted - logits.at(at++)));
        size = std::max(size, std::abs(wanted));
      }
    }
    CHECK(at == logits.size());
    CHECK(worst <=
          (config.d_model > 2 ? 2e-5 : 5e-4) * size);  // a norm of two numbers enlarges what rounding left
  }
}

namespace {

/// The reference's loss over all sentences of a batch, summed.
double reference_loss(const attn::Transformer& model, const std::vector<Tokens>& sources,
                      const std::vector<Tokens>& targets, const LabelSmoothing& smoothing, double p) {
  double sum = 0.0;
  for (std::size_t b = 0; b < sources.size(); ++b) {
    Dropout dropout{p, 77, 5, static_cast<std::uint32_t>(b), 0};
    const Matrix logits = transformer(model, sources[b], targets[b], p > 0.0 ? &dropout : nullptr);
    sum += xt::sum(cross_entropies(logits, targets[b], model.config.pad, smoothing))();
  }
  return sum;
}

}  // namespace

TEST_CASE("every gradient equals central differences of the reference") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    INFO("seed " << seed);
    Random random(1000 + seed);
    Config config = random_config(random);
    config.d_model = config.h * std::min<std::size_t>(config.d_model / config.h, 2);
    if (config.d_model == 1) config.d_model = config.h = 2;
    config.d_ff = std::min<std::size_t>(config.d_ff, 5);
    config.encoder_layers = config.decoder_layers = seed % 3;
    Both both = make(config, random);
    const std::size_t target_V = config.tied ? config.vocabulary : config.target_vocabulary;
    std::vector<Tokens> sources, targets;
    for (std::size_t b = 0; b < 2; ++b) {
      sources.push_back(random_tokens(random, between(random, 1, 4), config.vocabulary));
      targets.push_back(random_tokens(random, between(random, 1, 4), target_V));
      if (seed % 4 < 2) continue;
      sources.back() = with_padding(random, sources.back());
      targets.back() = with_padding(random, targets.back());
    }
    const double p = seed % 3 == 0 ? 0.25 : 0.0;
    const LabelSmoothing smoothing = {seed % 2 == 0 ? 0.1 : 0.0, config.dialect.smoothing};
    const engine::Batch batch = engine::pack(config, sources, targets);
    const engine::Loss loss =
        both.model->add_gradients(batch, {smoothing.epsilon, smoothing.form, config.pad}, {p, 77, 5, 0, 1.0});
    const double wanted = reference_loss(both.reference, sources, targets, smoothing, p);
    CHECK(std::abs(loss.sum - wanted) < 1e-4 * std::max(1.0, std::abs(wanted)));

    double worst = 0.0;
    std::string where;
    for_each(both.reference, [&](const std::string& name, Matrix& value) {
      if (value.size() == 0) return;
      const Matrix gradient = both.model->parameters().gradient(name);
      const double size = xt::amax(xt::abs(gradient))();
      for (int tries = 0; tries < 6; ++tries) {
        const std::size_t i = random.bits() % value.shape(0), j = random.bits() % value.shape(1);
        const double before = value(i, j), step = 1e-5;
        value(i, j) = before + step;
        const double above = reference_loss(both.reference, sources, targets, smoothing, p);
        value(i, j) = before - step;
        const double below = reference_loss(both.reference, sources, targets, smoothing, p);
        value(i, j) = before;
        const double slope = (above - below) / (2 * step);
        const double apart = std::abs(slope - gradient(i, j)) / (1e-2 + size);
        if (apart > worst) worst = apart, where = name;
      }
    });
    INFO(config.dialect.name << ": " << where);
    CHECK(worst < 1e-3);
  }
}

namespace {

Config small(const std::string& name) {
  Config config;
  config.vocabulary = 20;
  config.d_model = 16;
  config.d_ff = 24;
  config.h = 4;
  config.encoder_layers = config.decoder_layers = 2;
  config.dialect = dialect(name);
  return config;
}

const std::vector<Tokens> sources = {{4, 7, 3}, {9, 5, 6, 8, 11, 12}, {3}, {10, 10, 4, 9}};
const std::vector<Tokens> targets = {{6, 3, 8, 10, 2}, {5, 2}, {7, 8, 9, 2}, {2}};

/// The rows of logits of sentence b.
std::vector<float> rows_of(const engine::Batch& batch, const std::vector<float>& logits, std::size_t b) {
  const std::size_t V = logits.size() / batch.target.size();
  const engine::Segment segment = batch.input.segments[b];
  const auto first = logits.begin() + static_cast<std::ptrdiff_t>(segment.start * V);
  return {first, first + static_cast<std::ptrdiff_t>(segment.length * V)};
}

double apart(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(static_cast<double>(a[i]) - b[i]));
  return worst;
}

std::vector<float> all_gradients(engine::Transformer& model, engine::Backend& backend) {
  const engine::View gradients = model.parameters().gradients();
  std::vector<float> numbers(gradients.columns);
  backend.download(gradients, numbers);
  return numbers;
}

}  // namespace

// joeynmt PR 50, OpenNMT-py 137, marian-dev 104, FasterTransformer 270.
TEST_CASE("batch mates, their order and padding do not change a sentence") {
  for (const Dialect& d : dialects()) {
    Random random(1);
    Both both = make(small(d.name), random);
    const auto pack = [&](const std::vector<Tokens>& a, const std::vector<Tokens>& b) {
      return engine::pack(both.model->config(), a, b);
    };
    const engine::Batch together = pack(sources, targets);
    const std::vector<float> logits = both.model->logits(together);
    std::vector<Tokens> other_sources(sources.rbegin(), sources.rend()),
        other_targets(targets.rbegin(), targets.rend());
    for (Tokens& tokens : other_sources) tokens.insert(tokens.end(), 3, 0);
    for (Tokens& tokens : other_targets) tokens.insert(tokens.end(), 2, 0);
    const engine::Batch turned = pack(other_sources, other_targets);
    const std::vector<float> turned_logits = both.model->logits(turned);
    for (std::size_t b = 0; b < sources.size(); ++b) {
      const engine::Batch alone = pack({sources[b]}, {targets[b]});
      const std::vector<float> wanted = rows_of(together, logits, b);
      CHECK(apart(both.model->logits(alone), wanted) < 1e-5);
      CHECK(apart(rows_of(turned, turned_logits, sources.size() - 1 - b), wanted) < 1e-5);
    }
  }
}

// transformers issue 24725: the mean over micro-batches is not the mean of their means.
TEST_CASE("gradients of two batches add up to those of one") {
  Random random(2);
  Both both = make(small("paper"), random);
  const engine::LossForm form = {0.1, Smoothing::all_classes, 0};
  const auto add = [&](std::size_t first, std::size_t last) {
    const std::vector<Tokens> a(sources.begin() + first, sources.begin() + last),
        b(targets.begin() + first, targets.begin() + last);
    const engine::Training training = {0.3, 5, 1, static_cast<std::uint32_t>(first), 1.0 / 12};
    return both.model->add_gradients(engine::pack(both.model->config(), a, b), form, training).sum;
  };
  const double whole = add(0, 4);
  const std::vector<float> wanted = all_gradients(*both.model, *both.backend);
  both.backend->zero(both.model->parameters().gradients());
  const double parts = add(0, 1) + add(1, 4);
  CHECK(std::abs(whole - parts) < 1e-4);
  CHECK(apart(all_gradients(*both.model, *both.backend), wanted) < 1e-5);
}

// Logits are made some rows at a time; with 60,000 words 128 rows at once.
TEST_CASE("a batch whose logits are made in several parts is the sum of its sentences") {
  Config config;
  config.vocabulary = 60000;
  config.d_model = 4;
  config.h = 2;
  config.d_ff = 3;
  config.encoder_layers = config.decoder_layers = 1;
  Random random(8);
  Both both = make(config, random);
  std::vector<Tokens> from, to;
  for (std::size_t b = 0; b < 10; ++b) {
    from.push_back(random_tokens(random, 5, config.vocabulary));
    to.push_back(random_tokens(random, 16, config.vocabulary));
  }
  const engine::LossForm form = {0.1, Smoothing::all_classes, 0};
  const engine::Training training = {0.0, 0, 0, 0, 1.0 / 160};
  const double whole = both.model->add_gradients(engine::pack(config, from, to), form, training).sum;
  const std::vector<float> wanted = all_gradients(*both.model, *both.backend);
  both.backend->zero(both.model->parameters().gradients());
  double sum = 0.0;
  for (std::size_t b = 0; b < 10; ++b) {
    sum += both.model->add_gradients(engine::pack(config, {&from[b], 1}, {&to[b], 1}), form, training).sum;
  }
  CHECK(std::abs(whole - sum) < 1e-3);
  CHECK(apart(all_gradients(*both.model, *both.backend), wanted) < 1e-5);
}

TEST_CASE("any number of threads gives the same bits, forward and in training") {
  Config config = small("annotated");
  config.d_model = 192, config.d_ff = 272, config.vocabulary = 900;
  Random random(3);
  Both both = make(config, random);
  std::vector<Tokens> from, to;
  for (std::size_t b = 0; b < 12; ++b) {
    from.push_back(random_tokens(random, between(random, 1, 40), config.vocabulary));
    to.push_back(random_tokens(random, between(random, 1, 40), config.vocabulary));
  }
  const engine::Batch batch = engine::pack(config, from, to);
  const int before = omp_get_max_threads();
  const auto step = [&](int threads) {
    omp_set_num_threads(threads);
    both.backend->zero(both.model->parameters().gradients());
    const engine::Loss loss =
        both.model->add_gradients(batch, {0.1, Smoothing::all_classes, 0}, {0.2, 9, 4, 0, 1.0});
    std::vector<float> all = all_gradients(*both.model, *both.backend), logits = both.model->logits(batch);
    all.insert(all.end(), logits.begin(), logits.end());
    for (const double number :
         {loss.sum, loss.nll, both.backend->sum_of_squares(both.model->parameters().gradients())}) {
      all.push_back(static_cast<float>(number)), all.push_back(static_cast<float>(number - all.back()));
    }
    return all;
  };
  const std::vector<float> one = step(1);
  for (const int threads : {2, 3, 5, 8}) {
    INFO(threads << " threads");
    CHECK(step(threads) == one);
  }
  // What the environment may set (OMP_DYNAMIC, OMP_MAX_ACTIVE_LEVELS): fewer threads than were asked for.
  omp_set_max_active_levels(0);
  CHECK(step(4) == one);
  omp_set_max_active_levels(1);
  omp_set_dynamic(1);
  CHECK(step(4) == one);
  omp_set_dynamic(0);
  omp_set_num_threads(before);
}

TEST_CASE("after the largest batch a step allocates nothing") {
  Random random(4);
  Config config = small("paper");
  config.d_ff = 512;  // a row of these takes more room than a head's weights
  Both both = make(config, random);
  const engine::Batch large = engine::pack(both.model->config(), sources, targets);
  const engine::Batch little =
      engine::pack(both.model->config(), std::vector<Tokens>{{3, 4}}, std::vector<Tokens>{{5, 2}});
  const auto step = [&](const engine::Batch& batch) {
    both.model->add_gradients(batch, {0.1, Smoothing::all_classes, 0}, {0.1, 1, 1, 0, 1.0});
  };
  both.model->reserve(large);
  const std::size_t reserved = engine::allocations_of_floats();
  CHECK(xt::amax(xt::abs(both.model->parameters().gradient("embedding")))() == 0.0);  // nothing was computed
  for (int i = 0; i < 3; ++i) step(large);
  CHECK(engine::allocations_of_floats() == reserved);
  const std::size_t from_heap = allocations;
  for (int i = 0; i < 5; ++i) step(large), step(little);
  CHECK(allocations == from_heap);
  CHECK(engine::allocations_of_floats() == reserved);
}

// The answers of a target stand one place further in what the decoder reads.
TEST_CASE("a decoder that looks ahead sees the tokens after a place; another does not") {
  Random random(9);
  Both both = make(small("paper"), random);
  const auto first_rows = [&](const Tokens& target) {
    std::vector<float> logits =
        both.model->logits(engine::pack(both.model->config(), {&sources[0], 1}, {&target, 1}));
    logits.resize(2 * both.model->config().vocabulary);
    return logits;
  };
  const Tokens one = {6, 3, 8, 10, 2}, another = {6, 3, 9, 10, 2};  // read as BOS 6 3 8 10 and BOS 6 3 9 10
  CHECK(apart(first_rows(one), first_rows(another)) == 0.0);
  both.model->look_ahead(true);
  CHECK(apart(first_rows(one), first_rows(another)) > 1e-3);
  both.model->look_ahead(false);
  CHECK(apart(first_rows(one), first_rows(another)) == 0.0);
}

TEST_CASE("a sentence that goes on where no position was learned is refused, and the model goes on") {
  Config config = small("paper");
  config.learned_positions = 4;
  Random random(10);
  Both both = make(config, random);
  const auto refusal = [&](const std::vector<Tokens>& a, const std::vector<Tokens>& b) {
    return tests::complaint([&] { both.model->add_gradients(engine::pack(config, a, b), {}, {}); });
  };
  CHECK(refusal({{3}, {4, 5, 6, 7, 8}}, {{2}, {2}}) ==
        "source 1: wanted at most 4 tokens, as there are learned positions, got 5");
  CHECK(refusal({{3}}, {{4, 5, 6, 7, 8, 2}}) ==
        "target 0: wanted at most 4 tokens, as there are learned positions, got 6");
  CHECK(refusal({{4, 5, 6, 7, 0}}, {{4, 5, 6, 2}}).empty());  // padding takes no place
}

// A row of an encoder's layer leaves Q, K, V, d_ff numbers of the feed-forward layer and two sums: 9 d_model with
// d_ff = 4 d_model; a decoder's one Q, K, V and a sum more. Besides there are the place of each stack, two
// gradients, what relu let through in one layer, and two numbers a norm.
TEST_CASE("a step keeps no more than what cannot be made again cheaply") {
  Config config;
  config.vocabulary = 20;
  config.d_model = 64;
  config.d_ff = 256;
  config.h = 4;
  config.encoder_layers = config.decoder_layers = 3;
  Random random(12);
  Both both = make(config, random);
  std::vector<Tokens> from, to;
  for (std::size_t b = 0; b < 32; ++b) {
    from.push_back(random_tokens(random, 32, config.vocabulary));
    to.push_back(random_tokens(random, 32, config.vocabulary));
  }
  both.model->reserve(engine::pack(config, from, to));
  both.model->add_gradients(engine::pack(config, from, to), {}, {});
  const std::size_t rows = 32 * 32, norms = 3 * 2 + 3 * 3;
  CHECK(both.model->arena().capacity() <= rows * ((3 * 9 + 3 * 13 + 5) * 64 + 2 * norms));
}

TEST_CASE("sentences that are empty, and batches of none") {
  Random random(5);
  Both both = make(small("paper"), random);
  const std::vector<Tokens> none = {{}, {4, 5}, {}}, some = {{3, 2}, {}, {}};
  const engine::Batch batch = engine::pack(both.model->config(), none, some);
  const engine::Loss loss = both.model->add_gradients(batch, {}, {});
  CHECK(loss.tokens == 2);
  CHECK(std::isfinite(loss.sum));
  for (const float g : all_gradients(*both.model, *both.backend)) REQUIRE(std::isfinite(g));
  const engine::Batch nothing = engine::pack(both.model->config(), {}, {});
  CHECK(both.model->loss(nothing).sum == 0.0);
  CHECK(both.model->logits(nothing).empty());
}

TEST_CASE("what cannot be packed is refused by its place") {
  const Config config = small("paper");
  const auto refusal = [&](const std::vector<Tokens>& a, const std::vector<Tokens>& b) {
    return tests::complaint([&] { engine::pack(config, a, b); });
  };
  CHECK(refusal({{3}, {4}}, {{5, 2}}) == "pack: wanted as many targets as sources, got 2 sources and 1 targets");
  CHECK(refusal({{3}, {4, 20}}, {{5}, {2}}) == "source 1, token 1: wanted a number from 0 to 19, got 20");
  CHECK(refusal({{3}}, {{-1, 2}}) == "target 0, token 0: wanted a number from 0 to 19, got -1");
  CHECK(refusal({{3, 0, 0}}, {{5, 2, 0}}).empty());
}

TEST_CASE("what is no share is refused, and a model that has refused goes on") {
  Random random(7);
  Both both = make(small("paper"), random);
  const engine::Batch batch = engine::pack(both.model->config(), sources, targets);
  const double right = both.model->loss(batch).sum;
  for (const double p : {1.0, 1.5, -0.1, std::nan("")}) {
    CHECK(tests::complaint([&] {
            both.model->add_gradients(batch, {}, {p, 0, 0, 0, 1.0});
          }).find("dropout: wanted") == 0);
    CHECK(tests::complaint([&] {
            both.model->loss(batch, {p, Smoothing::all_classes, 0});
          }).find("label smoothing: wanted") == 0);
  }
  CHECK(tests::complaint([&] {
          both.model->add_gradients(batch, {}, {0.1, 0, 0, 0, 0.0});
        }) == "gradient scale: wanted a number other than 0, got 0");
  // A batch that no machine can hold: the weights of 16 heads at once take more than there are addresses.
  const int threads = omp_get_max_threads();
  omp_set_num_threads(16);
  const engine::Segment endless = {0, std::size_t{1} << 20};
  engine::Batch too_large = batch;
  too_large.source.segments.assign(16, endless);
  too_large.input.segments.assign(16, endless);
  too_large.source.tokens.assign(endless.length, 3);
  too_large.input.tokens = too_large.target = too_large.source.tokens;
  CHECK_THROWS_AS(both.model->reserve(too_large), std::bad_alloc);
  omp_set_num_threads(threads);
  CHECK(both.model->loss(batch).sum == right);
}

TEST_CASE("parameters are set and read by name, fused or not") {
  Config config = small("fairseq");
  const auto backend = engine::make_cpu_backend();
  engine::Parameters parameters(config, *backend);
  std::map<std::string, Matrix> values;
  Random random(6);
  parameters.set([&](const Parameter& p) {
    Matrix value = random.normal_matrix(p.rows, p.columns);
    for (double& x : value) x = static_cast<float>(x);
    return values[p.name] = value;
  });
  for (const auto& [name, value] : values) tests::check_same(parameters.value(name), value);
  CHECK(parameters.has("decoder.1.cross.b_V"));
  CHECK_FALSE(parameters.has("projection.b"));
  CHECK(tests::complaint([&] { parameters.value("encoder.9.self.W_Q"); }) ==
        "parameters: wanted the name of a parameter, got encoder.9.self.W_Q");
  CHECK(tests::complaint([&] {
          parameters.set([](const Parameter&) { return Matrix({1, 1}); });
        }) == "embedding: wanted shape (20, 16), got (1, 1)");
}
