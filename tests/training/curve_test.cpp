// Two hundred updates of a model that learns to copy, against PyTorch's in double: the same weights, the same
// batches, no dropout.
#include <cmath>

#include "attn/engine/backend/cpu.hpp"
#include "attn/engine/transformer.hpp"
#include "attn/golden/check.hpp"
#include "attn/training/adam.hpp"
#include "attn/training/schedule.hpp"
#include "golden/golden_folder.hpp"
#include "matrices.hpp"

using namespace attn;

namespace {

/// Sentences of one batch out of a tensor of shape (batches, sentences, tokens).
std::vector<Tokens> sentences(const Tensor& tensor, std::size_t batch) {
  const auto& values = std::get<std::vector<std::int64_t>>(tensor.values);
  const std::size_t rows = tensor.shape[1], length = tensor.shape[2];
  std::vector<Tokens> all(rows);
  for (std::size_t i = 0; i < rows * length; ++i) {
    all[i / length].push_back(static_cast<int>(values[batch * rows * length + i]));
  }
  return all;
}

}  // namespace

TEST_CASE("two hundred losses follow PyTorch's") {
  const GoldenCase golden = load_case(tests::golden_folder / "10-training/copy-task");
  const auto number = [&](const char* name) { return std::stod(golden.setting(name)); };
  Config config;
  config.vocabulary = golden.tensor("embedding").shape[0];
  config.d_model = golden.tensor("embedding").shape[1];
  config.d_ff = golden.tensor("encoder.0.feed_forward.W_1").shape[1];
  config.h = std::stoul(golden.setting("h"));
  config.encoder_layers = config.decoder_layers = 2;
  config.dialect = dialect(golden.setting("dialect"));
  const auto backend = engine::make_cpu_backend();
  engine::Transformer model(config, *backend);
  model.parameters().set([&](const Parameter& parameter) { return golden.input(parameter.name); });
  training::Adam adam(model.parameters(), *backend, {number("beta_1"), number("beta_2"), number("epsilon"), 0.0});
  const training::Schedule schedule = {config.d_model, static_cast<std::size_t>(number("warmup")),
                                       number("rate_scale"), true};
  const engine::LossForm form = {number("label_smoothing"), Smoothing::all_classes, config.pad};
  const Tensor &sources = golden.tensor("sources"), &targets = golden.tensor("targets");
  const auto batch = [&](std::size_t i) {
    return engine::pack(config, sentences(sources, i), sentences(targets, i));
  };

  std::vector<float> losses;
  for (std::size_t i = 0; i < sources.shape[0]; ++i) {
    const engine::Loss loss = model.add_gradients(batch(i), form, {0.0, 0, 0, 0, 1.0});
    const auto tokens = static_cast<double>(loss.tokens);
    losses.push_back(static_cast<float>(loss.sum / tokens));
    adam.update(schedule.rate(i + 1), 1.0 / tokens);
  }
  REQUIRE(losses.size() == 200);
  CHECK(losses.back() < 0.6f * losses.front());
  const engine::Loss last = model.loss(batch(0), form);
  std::map<std::string, Tensor> outputs;
  outputs["losses"] = {{1, losses.size()}, losses};
  outputs["evaluation"] = {{1, 1},
                           std::vector<float>{static_cast<float>(last.sum / static_cast<double>(last.tokens))}};
  for (const TensorReport& tensor : check(golden, outputs).tensors) {
    INFO(tensor.name);
    CHECK(tensor.state == TensorReport::State::right);
  }
}
