// Ten updates of Adam against those of PyTorch: the same weights, the same batch, in float.
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

std::vector<Tokens> sentences(const GoldenCase& golden, const std::string& name) {
  const Tensor& tensor = golden.tensor(name);
  const auto& values = std::get<std::vector<std::int64_t>>(tensor.values);
  std::vector<Tokens> rows(tensor.shape[0]);
  for (std::size_t i = 0; i < values.size(); ++i) rows[i / tensor.shape[1]].push_back(static_cast<int>(values[i]));
  return rows;
}

Config config_of(const GoldenCase& golden) {
  Config config;
  config.vocabulary = golden.tensor("embedding").shape[0];
  config.d_model = golden.tensor("embedding").shape[1];
  config.d_ff = golden.tensor("encoder.0.feed_forward.W_1").shape[1];
  config.h = std::stoul(golden.setting("h"));
  config.encoder_layers = config.decoder_layers = 2;
  config.dialect = dialect(golden.setting("dialect"));
  return config;
}

Tensor in_float(const Matrix& A) { return {{A.shape(0), A.shape(1)}, std::vector<float>(A.begin(), A.end())}; }

/// Trains as the case says, and hands back its outputs.
std::map<std::string, Tensor> train(const GoldenCase& golden) {
  const Config config = config_of(golden);
  const auto number = [&](const char* name) { return std::stod(golden.setting(name)); };
  const auto backend = engine::make_cpu_backend();
  engine::Transformer model(config, *backend);
  model.parameters().set([&](const Parameter& parameter) { return golden.input(parameter.name); });
  training::Adam adam(model.parameters(), *backend, {number("beta_1"), number("beta_2"), number("epsilon"), 0.0});
  const engine::Batch batch = engine::pack(config, sentences(golden, "sources"), sentences(golden, "targets"));
  const engine::LossForm form = {number("label_smoothing"), Smoothing::all_classes, config.pad};
  const double tokens = static_cast<double>(batch.target.size());

  std::map<std::string, Tensor> outputs;
  std::vector<float> losses, lengths;
  for (std::uint64_t update = 1; update <= 10; ++update) {
    losses.push_back(
        static_cast<float>(model.add_gradients(batch, form, {0.0, 0, 0, 0, 1.0 / tokens}).sum / tokens));
    for (const Parameter& p : parameters(config)) {
      if (update == 1) outputs["gradient." + p.name] = in_float(model.parameters().gradient(p.name));
    }
    const auto warmup = static_cast<std::size_t>(number("warmup"));
    lengths.push_back(static_cast<float>(adam.update(training::paper_rate(config.d_model, warmup, update))));
  }
  losses.push_back(static_cast<float>(model.loss(batch, form).sum / tokens));
  outputs["losses"] = {{1, losses.size()}, losses};
  outputs["gradient_lengths"] = {{1, lengths.size()}, lengths};
  for (const Parameter& p : parameters(config))
    outputs["after." + p.name] = in_float(model.parameters().value(p.name));
  return outputs;
}

}  // namespace

TEST_CASE("losses, gradients and ten updates are PyTorch's") {
  for (const char* name : {"10-training/ten-steps", "10-training/ten-steps-smoothed"}) {
    const GoldenCase golden = load_case(tests::golden_folder / name);
    const auto outputs = train(golden);
    for (const TensorReport& tensor : check(golden, outputs).tensors) {
      INFO(name << ": " << tensor.name);
      CHECK(tensor.state == TensorReport::State::right);
    }
    // Four times closer than is asked for, so that the tolerance hides nothing.
    const Tolerance close = {golden.tolerance.float64, golden.tolerance.float32 / 4, ""};
    CHECK_FALSE(compare(outputs.at("losses"), golden.outputs[0].value, close));
  }
}

TEST_CASE("gradients of micro-batches, added and divided once, make the same updates", "[accumulation]") {
  const GoldenCase golden = load_case(tests::golden_folder / "10-training/ten-steps");
  const Config config = config_of(golden);
  const auto backend = engine::make_cpu_backend();
  engine::Transformer model(config, *backend);
  model.parameters().set([&](const Parameter& parameter) { return golden.input(parameter.name); });
  training::Adam adam(model.parameters(), *backend);
  const std::vector<Tokens> from = sentences(golden, "sources"), to = sentences(golden, "targets");
  std::size_t tokens = 0;
  for (std::size_t b = 0; b < from.size(); ++b) {
    const engine::Batch batch = engine::pack(config, {&from[b], 1}, {&to[b], 1});
    tokens += model.add_gradients(batch, {}, {0.0, 0, 0, static_cast<std::uint32_t>(b), 1.0}).tokens;
  }
  const double length = adam.update(training::paper_rate(config.d_model, 4, 1), 1.0 / static_cast<double>(tokens));
  CHECK(tokens == 12);
  CHECK(std::abs(length - to_matrix(golden.outputs[1].value, "gradient_lengths")(0, 0)) < 1e-5);
}
