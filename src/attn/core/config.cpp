#include "attn/core/config.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/errors.hpp"

namespace attn {
namespace {

using Kind = Parameter::Kind;

/// Adds the parameters of one part after the other under growing names.
class Parts {
 public:
  explicit Parts(const Config& config) : config_(config) {}

  void add(const std::string& name, std::size_t rows, std::size_t columns, Kind kind) {
    all_.push_back({name, rows, columns, kind});
  }

  void attention(const std::string& name) {
    const std::size_t d = config_.d_model;
    for (const char* map : {"Q", "K", "V", "O"}) {
      add(name + ".W_" + map, d, d, Kind::matrix);
      if (config_.dialect.attention_bias) add(name + ".b_" + map, 1, d, Kind::bias);
    }
    norm(name + ".norm");
  }

  void feed_forward(const std::string& name) {
    add(name + ".W_1", config_.d_model, config_.d_ff, Kind::matrix);
    add(name + ".b_1", 1, config_.d_ff, Kind::bias);
    add(name + ".W_2", config_.d_ff, config_.d_model, Kind::matrix);
    add(name + ".b_2", 1, config_.d_model, Kind::bias);
    norm(name + ".norm");
  }

  void norm(const std::string& name) {
    add(name + ".gamma", 1, config_.d_model, Kind::gain);
    add(name + ".beta", 1, config_.d_model, Kind::bias);
  }

  std::vector<Parameter> all() && { return std::move(all_); }

 private:
  const Config& config_;
  std::vector<Parameter> all_;
};

void at_least_one(std::size_t value, std::string_view name) {
  if (value == 0) refuse(name, "at least 1", "0");
}

void special_token(int token, std::size_t V, std::string_view name) {
  if (token >= 0 && static_cast<std::size_t>(token) < V) return;
  refuse(name, "one of the vocabulary's " + std::to_string(V) + " tokens, counted from 0", std::to_string(token));
}

}  // namespace

void check(const Config& config) {
  at_least_one(config.vocabulary, "vocabulary");
  at_least_one(config.d_model, "d_model");
  at_least_one(config.d_ff, "d_ff");
  at_least_one(config.h, "h");
  if (config.d_model % config.h != 0) {
    refuse("d_model", "a multiple of h = " + std::to_string(config.h), std::to_string(config.d_model));
  }
  const std::size_t target_V = config.target_vocabulary == 0 ? config.vocabulary : config.target_vocabulary;
  special_token(config.pad, std::min(config.vocabulary, target_V), "pad");
  special_token(config.bos, target_V, "bos");
  special_token(config.eos, target_V, "eos");
  if (config.tied && config.target_vocabulary != 0) {
    refuse("target_vocabulary", "0, since one tied matrix needs one shared vocabulary",
           std::to_string(config.target_vocabulary));
  }
}

std::vector<Parameter> parameters(const Config& config) {
  check(config);
  const std::size_t d = config.d_model, V = config.vocabulary;
  const std::size_t target_V = config.target_vocabulary == 0 ? V : config.target_vocabulary;
  Parts parts(config);
  parts.add("embedding", V, d, Kind::embedding);
  if (!config.tied) {
    parts.add("target_embedding", target_V, d, Kind::embedding);
    parts.add("projection.W", target_V, d, Kind::embedding);
  }
  if (config.dialect.output_bias) parts.add("projection.b", 1, target_V, Kind::bias);
  if (config.learned_positions > 0) {
    parts.add("encoder.positions", config.learned_positions, d, Kind::embedding);
    parts.add("decoder.positions", config.learned_positions, d, Kind::embedding);
  }
  for (std::size_t i = 0; i < config.encoder_layers; ++i) {
    const std::string layer = "encoder." + std::to_string(i);
    parts.attention(layer + ".self");
    parts.feed_forward(layer + ".feed_forward");
  }
  if (config.dialect.final_norm) parts.norm("encoder.norm");
  for (std::size_t i = 0; i < config.decoder_layers; ++i) {
    const std::string layer = "decoder." + std::to_string(i);
    parts.attention(layer + ".self");
    parts.attention(layer + ".cross");
    parts.feed_forward(layer + ".feed_forward");
  }
  if (config.dialect.final_norm) parts.norm("decoder.norm");
  return std::move(parts).all();
}

std::size_t parameter_count(const Config& config, std::string_view prefix) {
  std::size_t count = 0;
  for (const Parameter& parameter : parameters(config)) {
    if (parameter.name.rfind(prefix, 0) == 0) count += parameter.size();
  }
  return count;
}

Matrix initial_value(const Parameter& parameter, Random& random) {
  const std::size_t rows = parameter.rows, columns = parameter.columns;
  switch (parameter.kind) {
    case Kind::embedding:
      return random.normal_matrix(rows, columns, 1.0 / std::sqrt(static_cast<double>(columns)));
    case Kind::matrix: {
      const double bound = std::sqrt(6.0 / static_cast<double>(rows + columns));
      Matrix W({rows, columns});
      for (double& w : W) w = bound * (2.0 * random.uniform() - 1.0);
      return W;
    }
    case Kind::bias:
      return xt::zeros<double>({rows, columns});
    case Kind::gain:
      return xt::ones<double>({rows, columns});
  }
  return {};
}

}  // namespace attn
