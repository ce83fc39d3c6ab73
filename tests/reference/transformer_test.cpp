// The whole model: what must hold whatever its weights are, and the numbers of semantics that others published.
#include "attn/reference/transformer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/core/trace.hpp"
#include "attn/reference/greedy.hpp"
#include "attn/reference/loss.hpp"
#include "attn/reference/positions.hpp"
#include "matrices.hpp"

using namespace attn;
using namespace attn::tests;

namespace {

Config toy(const std::string& dialect_name = "paper") {
  Config config;
  config.vocabulary = 11;
  config.d_model = 16;
  config.d_ff = 32;
  config.h = 4;
  config.encoder_layers = config.decoder_layers = 2;
  config.dialect = dialect(dialect_name);
  return config;
}

Transformer toy_model(std::uint64_t seed, const std::string& dialect_name = "paper") {
  Random random(seed);
  return initial_transformer(toy(dialect_name), random);
}

double apart(const Matrix& A, const Matrix& B) { return xt::amax(xt::abs(A - B))(); }

const Tokens source = {4, 7, 3, 9, 5}, target = {6, 3, 8, 10, 2};

}  // namespace

// jadore issues 138 and 210, tensor2tensor 1718: the scale belongs to the embedding, not to the logits.
TEST_CASE("an embedding is a row times the root of d_model; logits use the row as it is", "[chapter-09]") {
  const Matrix E = 0.5 * identity(4);
  const Matrix X = embed({2}, E);
  check_same(X, {{0, 0, 1, 0}});
  CHECK(norm(xt::row(X, 0)) == 1.0);
  check_same(linear(Matrix(xt::view(E, xt::range(0, 1), xt::all())), transpose(E), {}), {{.25, 0, 0, 0}});
  check_same(embed({no_token, 1}, E), {{0, 0, 0, 0}, {0, 1, 0, 0}});
  Dialect unscaled;
  unscaled.scale_embeddings = false;
  check_same(embed({1}, E, unscaled), {{0, .5, 0, 0}});
}

TEST_CASE("looking up is multiplying by a one-hot row", "[chapter-09]") {
  Random random(1);
  const Matrix E = random.normal_matrix(5, 4);
  check_near(embed({3, 0}, E), Matrix(2.0 * product({{0, 0, 0, 1, 0}, {1, 0, 0, 0, 0}}, E)), 1e-15);
}

TEST_CASE("a token that is in no row is refused by its place", "[chapter-09]") {
  const Transformer model = toy_model(1);
  CHECK(complaint([&] { encode(model, {4, 11}); }) == "token 1: wanted one of 11 tokens, counted from 0, got 11");
  CHECK(complaint([&] { transformer(model, source, {3, -2}); }).empty());  // the last target is not read
  CHECK(complaint([&] {
          transformer(model, source, {-2, 3, 2});
        }) == "token 1: wanted one of 11 tokens, counted from 0, got -2");
  CHECK(complaint([&] {
          decode(model, {1}, Matrix({3, 16}), source);
        }) == "memory: wanted shape (5, 16), got (3, 16)");
}

// The shift: jadore issues 76 and 123, pytorch-seq2seq 136, tensor2tensor 1510.
TEST_CASE("the decoder reads the target one place later", "[chapter-09]") {
  CHECK(shift_right(toy_model(1), {5, 6, 2}) == Tokens{1, 5, 6});
  CHECK(shift_right(toy_model(1, "fairseq"), {5, 6, 2}) == Tokens{2, 5, 6});
  CHECK(shift_right(toy_model(1, "marian"), {5, 6, 2}) == Tokens{no_token, 5, 6});
  CHECK(shift_right(toy_model(1), {5, 2, 0}) == Tokens{1, 5, 2});
  CHECK(shift_right(toy_model(1), {}).empty());
}

// jadore issue 19, OpenNMT-tf PR 6: a leak gives 98 % accuracy and no translation.
TEST_CASE("a target token changes no logits before it, to the last bit", "[chapter-09]") {
  for (const Dialect& d : dialects()) {
    const Transformer model = toy_model(2, d.name);
    const Matrix before = transformer(model, source, target);
    for (std::size_t j = 0; j + 1 < target.size(); ++j) {
      Tokens changed = target;
      changed[j] = changed[j] == 4 ? 5 : 4;
      const Matrix after = transformer(model, source, changed);
      for (std::size_t i = 0; i < target.size(); ++i) {
        const double difference = xt::amax(xt::abs(xt::row(after, i) - xt::row(before, i)))();
        CHECK((i <= j ? difference == 0.0 : difference > 0.0));  // logits i know the targets before i
      }
    }
  }
}

TEST_CASE("every source token counts, and so does the memory as a whole", "[chapter-09]") {
  const Transformer model = toy_model(3);
  const Matrix before = transformer(model, source, target);
  for (std::size_t j = 0; j < source.size(); ++j) {
    Tokens changed = source;
    changed[j] = 10;
    CHECK(apart(transformer(model, changed, target), before) > 1e-3);
  }
  const Matrix memory = encode(model, source);
  CHECK(apart(decode(model, shift_right(model, target), Matrix(xt::zeros_like(memory)), source), before) > 1e-3);
}

// FasterTransformer issue 270, fairseq 3078, keras-io PR 1046.
TEST_CASE("padding changes nothing: of the source, of the target, and in the loss", "[chapter-09]") {
  for (const Dialect& d : dialects()) {
    const Transformer model = toy_model(4, d.name);
    const Matrix alone = transformer(model, source, target);
    for (const std::size_t more : {1, 4}) {
      Tokens padded_source = source, padded_target = target;
      padded_source.insert(padded_source.end(), more, 0);
      padded_target.insert(padded_target.end(), more, 0);
      const Matrix logits = transformer(model, padded_source, padded_target);
      CHECK(logits.shape(0) == target.size() + more);
      check_near(Matrix(xt::view(logits, xt::range(std::size_t{0}, target.size()), xt::all())), alone, 1e-12);
      CHECK(std::abs(cross_entropy(logits, padded_target, 0) - cross_entropy(alone, target, 0)) < 1e-12);
    }
  }
}

TEST_CASE("what padding's embedding is does not matter to the others", "[chapter-09]") {
  Transformer model = toy_model(5);
  const Tokens padded = {4, 7, 3, 0, 0};
  const Matrix before = transformer(model, padded, target);
  xt::row(model.embedding, 0) = 30.0;
  const Matrix after = transformer(model, padded, target);
  // Token 0 has changed as an answer; all the other logits are as they were.
  check_near(Matrix(xt::view(after, xt::all(), xt::range(1, 11))),
             Matrix(xt::view(before, xt::all(), xt::range(1, 11))), 1e-12);
}

// fairseq issues 1686 and 3908.
TEST_CASE("one step after the other gives the same logits as all at once", "[chapter-09]") {
  for (const Dialect& d : dialects()) {
    const Transformer model = toy_model(6, d.name);
    const Decoded decoded = greedy(model, source, 8);
    const Matrix all = transformer(model, source, decoded.tokens);
    const Matrix memory = encode(model, source);
    const Tokens input = shift_right(model, decoded.tokens);
    double log_probability = 0.0;
    for (std::size_t i = 0; i < input.size(); ++i) {
      const Tokens so_far(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      const Matrix step = decode(model, so_far, memory, source);
      check_near(Matrix(xt::view(step, xt::range(i, i + 1), xt::all())),
                 Matrix(xt::view(all, xt::range(i, i + 1), xt::all())), 1e-12);
      const auto row = xt::row(all, i);
      CHECK(decoded.tokens[i] == std::max_element(row.begin(), row.end()) - row.begin());
      log_probability += log_softmax(step)(i, std::size_t(decoded.tokens[i]));
    }
    CHECK(std::abs(decoded.log_probability - log_probability) < 1e-12);
  }
}

TEST_CASE("greedy decoding stops at EOS, at its length, and begins as it is told", "[chapter-09]") {
  Transformer model = toy_model(7);
  CHECK(greedy(model, source, 0).tokens.empty());
  CHECK(greedy(model, source, 3, {9, 8}).tokens.size() == 3);
  CHECK(greedy(model, source, 3, {9, 8}).tokens[1] == 8);
  CHECK(greedy(model, source, 5, {9, 2}).tokens == Tokens{9, 2});
  CHECK(greedy(model, source, 5, {9, 2}).finished);
  CHECK_FALSE(greedy(model, source, 1, {9, 2}).finished);
  CHECK(complaint([&] {
          greedy(model, source, 5, {3, 99});
        }) == "token 1 of the prefix: wanted one of 11 tokens, counted from 0, got 99");
  model.embedding *= std::nan("");
  CHECK(complaint([&] { greedy(model, source, 5); }) == "greedy: wanted logits that are numbers, got NaN");
}

TEST_CASE("depth 0, 1, 2: without layers the memory is the input, with each it is another", "[chapter-09]") {
  Config config = toy();
  std::vector<Matrix> memories;
  for (const std::size_t layers : {0, 1, 2}) {
    config.encoder_layers = layers;
    Random random(8);
    memories.push_back(encode(initial_transformer(config, random), source));
  }
  config.encoder_layers = 0;
  Random random(8);
  const Transformer model = initial_transformer(config, random);
  Trace trace;
  encode(model, source);
  check_same(memories[0], trace["encoder.input"]);
  CHECK(apart(memories[0], memories[1]) > 0.1);
  CHECK(apart(memories[1], memories[2]) > 0.1);
}

// annotated-transformer issue 9, pytorch 86274: layers that begin as copies of one another.
TEST_CASE("layers begin different, parameters keep their order, and tying is one matrix", "[chapter-09]") {
  Config config = toy("annotated");
  config.learned_positions = 7;
  Random random(9);
  Transformer model = initial_transformer(config, random);
  CHECK(apart(model.encoder[0].self.W_Q, model.encoder[1].self.W_Q) > 0.0);
  std::vector<std::string> names;
  for_each(model, [&](const std::string& name, const Matrix& value) {
    if (value.size() > 0) names.push_back(name);
  });
  const std::vector<Parameter> wanted = parameters(model.config);
  REQUIRE(names.size() == wanted.size());
  for (std::size_t i = 0; i < names.size(); ++i) CHECK(names[i] == wanted[i].name);
  CHECK(model.target_embedding.size() == 0);
  CHECK(model.projection_W.size() == 0);
  CHECK(complaint([&] {
          make_transformer(toy(), [](const Parameter&) { return Matrix({1, 1}); });
        }) == "embedding: wanted shape (11, 16), got (1, 1)");
}

TEST_CASE("a model whose vocabularies are apart has three matrices", "[chapter-09]") {
  Config config = toy();
  config.tied = false;
  config.target_vocabulary = 7;
  Random random(10);
  const Transformer model = initial_transformer(config, random);
  CHECK(shape_text(transformer(model, source, {5, 6, 2})) == "(3, 7)");
  CHECK(complaint([&] {
          transformer(model, source, {7, 6, 2});
        }) == "token 1: wanted one of 7 tokens, counted from 0, got 7");
}

TEST_CASE("learned positions take the place of sines and cosines, and end where their table ends",
          "[chapter-09]") {
  const Transformer sines = toy_model(18);
  Config config = toy();
  config.learned_positions = 5;
  const auto with_positions = [&](const Matrix& encoder_positions, const Matrix& decoder_positions) {
    Transformer model = sines;
    model.config = config;
    model.encoder_positions = encoder_positions, model.decoder_positions = decoder_positions;
    return model;
  };
  const Matrix table = positional_encoding(5, 16);
  const Transformer same = with_positions(table, table);
  check_same(transformer(same, source, target), transformer(sines, source, target));
  CHECK(apart(encode(with_positions(-table, table), source), encode(sines, source)) > 1e-3);
  CHECK(apart(transformer(with_positions(table, -table), source, target), transformer(sines, source, target)) >
        1e-3);
  const Tokens longer = {4, 7, 3, 9, 5, 6};
  const std::string refusal = "learned_positions: wanted at most 5 tokens, the rows of the table, got 6";
  CHECK(complaint([&] { encode(same, longer); }) == refusal);
  CHECK(complaint([&] { transformer(same, source, longer); }) == refusal);
}

// CoursIA PR 12768: 107 in place of ln V, from embeddings that were too long.
TEST_CASE("the first loss is near ln V, and embeddings of length 1 are the reason", "[chapter-09]") {
  const auto mean_loss = [](double stretch) {
    double sum = 0.0;
    const int seeds = 20;
    for (int seed = 0; seed < seeds; ++seed) {
      Transformer model = toy_model(100 + static_cast<std::uint64_t>(seed));
      model.embedding *= stretch;
      sum += cross_entropy(transformer(model, source, target), target, 0) / seeds;
    }
    return sum;
  };
  const double ln_V = std::log(11.0);
  CHECK(std::abs(mean_loss(1.0) - 2.9) < 0.25);  // N(0, 1/d)
  CHECK(mean_loss(1.0) < 1.5 * ln_V);
  CHECK(mean_loss(4.0) > 2.0 * ln_V);                     // N(0, 1)
  CHECK(std::abs(mean_loss(0.02 * 4.0) - 2.401) < 0.02);  // standard deviation .02
}

TEST_CASE("dropout while training has its places in the whole model, and is the same for the same seed",
          "[chapter-09]") {
  const Transformer model = toy_model(11);
  Dropout a{0.1, 1, 0, 0, 0}, b{0.1, 1, 0, 0, 0};
  const Matrix logits = transformer(model, source, target, &a);
  check_same(transformer(model, source, target, &b), logits);
  CHECK(a.next_site == 2 + 2 * 2 + 2 * 3);  // two inputs, two encoder layers, two decoder layers
  CHECK(apart(logits, transformer(model, source, target)) > 1e-3);
  check_same(transformer(model, source, target), transformer(model, source, target));
}

TEST_CASE("a sentence may be empty", "[chapter-09]") {
  const Transformer model = toy_model(12);
  CHECK(shape_text(encode(model, {})) == "(0, 16)");
  CHECK(shape_text(transformer(model, source, {})) == "(0, 11)");
  for (const double x : transformer(model, {}, target)) CHECK(std::isfinite(x));
  for (const double x : transformer(model, {0, 0}, target)) CHECK(std::isfinite(x));  // nothing but padding
}

// annotated-transformer issues 18, 38, 39; fairseq PR 3182. Logits 0 to 4, target 3.
TEST_CASE("three forms of label smoothing, to the digits that are known", "[chapter-09]") {
  const Matrix logits = {{0, 1, 2, 3, 4}};
  const auto loss = [&](double epsilon, Smoothing form) { return cross_entropy(logits, {3}, 0, {epsilon, form}); };
  CHECK(std::abs(loss(0.0, Smoothing::all_classes) - 1.451914) < 5e-7);
  CHECK(std::abs(loss(0.1, Smoothing::all_classes) - 1.551914) < 5e-7);
  CHECK(std::abs(loss(0.1, Smoothing::other_classes) - 1.576914) < 5e-7);
  CHECK(std::abs(loss(0.1, Smoothing::other_classes_but_pad) - 1.518581) < 5e-7);
}

TEST_CASE("the loss where it could go wrong", "[chapter-09]") {
  const double infinity = std::numeric_limits<double>::infinity();
  const Matrix logits = {{0, 1, 2}, {5, -1, 0}};
  CHECK(cross_entropy(logits, {0, 0}, 0) == 0.0);  // nothing but padding
  CHECK(cross_entropy(Matrix({0, 3}), {}, 0) == 0.0);
  CHECK(cross_entropies({{0, -infinity, 1}}, {2}, 0)(0, 0) < 1.0);
  CHECK(cross_entropies({{0, -infinity, 1}}, {1}, 0)(0, 0) == infinity);
  CHECK(cross_entropies({{0, -infinity, 1}}, {2}, 0, {0.1, Smoothing::all_classes})(0, 0) == infinity);
  // -q_c log p_c is infinite for p_c = 0 and q_c > 0; whether another class has a share q_c is up to the form.
  CHECK(cross_entropies({{0, -infinity, 1}}, {2}, 0, {0.1, Smoothing::other_classes})(0, 0) == infinity);
  CHECK(cross_entropies({{0, -infinity, 1}}, {2}, 0, {0.1, Smoothing::other_classes_but_pad})(0, 0) == infinity);
  CHECK(cross_entropies({{-infinity, 0, 1}}, {2}, 0, {0.1, Smoothing::other_classes})(0, 0) == infinity);
  // PAD has none: -0.9 log p_2 - 0.1 log p_1 = log(1 + e) - 0.9
  const double without_pad =
      cross_entropies({{-infinity, 0, 1}}, {2}, 0, {0.1, Smoothing::other_classes_but_pad})(0, 0);
  CHECK(std::abs(without_pad - .413262) < 5e-7);
  CHECK(std::abs(cross_entropies({{1000, 1001}}, {1}, -5)(0, 0) - .313262) < 5e-7);
  CHECK(complaint([&] { cross_entropy(logits, {1}, 0); }) == "targets: wanted 2, one for each row, got 1");
  CHECK(complaint([&] {
          cross_entropy(logits, {1, 3}, 0);
        }) == "target 1: wanted one of 3 tokens, counted from 0, got 3");
  CHECK(complaint([&] { cross_entropy({{1}}, {0}, 5); }) == "logits: wanted at least 2 classes, got (1, 1)");
  CHECK(complaint([&] {
          cross_entropy(logits, {1, 2}, 0, {1.0, Smoothing::all_classes});
        }).find("label smoothing: wanted at least 0 and less than 1") == 0);
}

namespace {

/// What dropout multiplies a matrix with, at one of its places.
Matrix factors(const Matrix& A, std::uint32_t site) {
  const Dropout dropout{0.3, 21, 4, 2, 0};
  Matrix F = A;
  std::uint32_t index = 0;
  for (double& f : F) f = dropout.factor(site, index++);
  return F;
}

}  // namespace

// The paper's places: on what a sub-layer gives, before it is added, and on embeddings and positions together.
TEST_CASE("dropout stands where the paper has it, number by number", "[chapter-09]") {
  const Transformer model = toy_model(13);
  Dropout dropout{0.3, 21, 4, 2, 0};
  Trace t;
  transformer(model, source, target, &dropout);
  const auto check_input = [&](const std::string& stack, std::uint32_t site) {
    const Matrix sum = t[stack + ".embedding"] + t[stack + ".positions"];
    check_near(t[stack + ".input"], Matrix(sum * factors(sum, site)), 1e-12);
  };
  const auto check_part = [&](const std::string& x, const std::string& part, std::uint32_t site) {
    const Matrix& f = t[part + ".output"];
    check_near(t[part + ".sum"], Matrix(t[x] + f * factors(f, site)), 1e-12);
  };
  check_input("encoder", 0);
  check_part("encoder.input", "encoder.0.self", 1);
  check_part("encoder.0.self.norm", "encoder.0.feed_forward", 2);
  check_part("encoder.0.output", "encoder.1.self", 3);
  check_input("decoder", 5);
  check_part("decoder.input", "decoder.0.self", 6);
  check_part("decoder.0.self.norm", "decoder.0.cross", 7);
  check_part("decoder.0.cross.norm", "decoder.0.feed_forward", 8);
}

TEST_CASE(
    "what others drop besides: weights of attention, in each head, and what is inside the feed-forward layer",
    "[chapter-09]") {
  const Transformer model = toy_model(14, "annotated");
  Dropout dropout{0.3, 21, 4, 2, 0};
  Trace t;
  transformer(model, source, target, &dropout);
  const auto check_head = [&](const std::string& head, std::uint32_t site) {
    const Matrix& A = t[head + ".weights"];
    check_near(t[head + ".output"], product(A * factors(A, site), t[head + ".V"]), 1e-12);
  };
  for (std::uint32_t i = 0; i < 4; ++i) check_head("encoder.0.self.head." + std::to_string(i), 1 + i);
  const Matrix& hidden = t["encoder.0.feed_forward.hidden"];
  const FeedForward& w = model.encoder[0].feed_forward;
  check_near(t["encoder.0.feed_forward.output"], linear(hidden * factors(hidden, 6), w.W_2, w.b_2), 1e-12);
  // The decoder: input 15, self 16 to 19 and 20, cross 21 to 24.
  check_head("decoder.0.self.head.2", 18);
  check_head("decoder.0.cross.head.3", 24);
}

// A product that sums one number and zeros is exact, so that twins get the same logit from every kernel of BLAS.
TEST_CASE("of two tokens that are equally likely, greedy decoding takes the first", "[chapter-09]") {
  Transformer model = toy_model(15);
  for (const auto& [first, second] : {std::pair(1, 10), std::pair(4, 5), std::pair(9, 10)}) {
    for (const double size : {1.0, -1.0}) {
      model.embedding = xt::zeros<double>(model.embedding.shape());
      model.embedding(first, 0) = model.embedding(second, 0) = size;
      const Matrix logits = transformer(model, source, {2});
      REQUIRE(logits(0, first) == logits(0, second));
      REQUIRE(logits(0, first) != 0.0);
      CHECK(greedy(model, source, 1).tokens[0] == (logits(0, first) > 0.0 ? first : 0));
    }
  }
}

TEST_CASE("padding in what the decoder reads is hidden from what comes after", "[chapter-09]") {
  const Transformer model = toy_model(16);
  Trace t;
  transformer(model, source, {6, 0, 8, 2});
  for (std::size_t i = 2; i < 4; ++i) CHECK(t["decoder.0.self.head.0.weights"](i, 2) == 0.0);  // reads BOS 6 PAD 8
  CHECK(t["decoder.0.self.head.0.weights"](3, 3) > 0.0);
}

TEST_CASE("the start of a target is no token of a source, nor of the middle of a target", "[chapter-09]") {
  const Transformer model = toy_model(17, "marian");
  CHECK(complaint([&] {
          encode(model, {no_token, 3});
        }) == "token 0: wanted one of 11 tokens, counted from 0, got -1");
  CHECK(complaint([&] {
          encode(model, {3, no_token});
        }) == "token 1: wanted one of 11 tokens, counted from 0, got -1");
  CHECK(complaint([&] {
          transformer(model, source, {no_token, 4, 2});
        }) == "token 1: wanted one of 11 tokens, counted from 0, got -1");
  CHECK(complaint([&] { transformer(model, source, {4, 2}); }).empty());
}

TEST_CASE("shares of a smoothed target sum to 1, whether padding is a class or not", "[chapter-09]") {
  const Matrix even = xt::zeros<double>({1, 4});
  for (const Smoothing form :
       {Smoothing::all_classes, Smoothing::other_classes, Smoothing::other_classes_but_pad}) {
    for (const int pad : {0, -1})
      CHECK(std::abs(cross_entropy(even, {2}, pad, {0.1, form}) - std::log(4.0)) < 1e-12);
  }
}
