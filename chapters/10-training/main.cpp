// Chapter 10: how the Transformer learns: the gradient of the loss, the way back, Adam, and two tasks learned.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "attn/core/errors.hpp"
#include "attn/core/shape.hpp"
#include "attn/core/table.hpp"
#include "attn/core/trace.hpp"
#include "attn/drawing/chart.hpp"
#include "attn/drawing/diagram.hpp"
#include "attn/drawing/heat_map.hpp"
#include "attn/reference/adam.hpp"
#include "attn/reference/masking.hpp"
#include "attn/reference/positions.hpp"
#include "attn/reference/scaling.hpp"
#include "attn/reference/similarity.hpp"
#include "learned.hpp"
#include "longer.hpp"
#include "measure.hpp"
#include "program.hpp"

using namespace attn;

namespace {

const std::vector<std::string> tokens_of_five = {"PAD", "a", "b", "c", "EOS"};

/// With four decimals, or as 1.1e-07 where those would hide it.
std::string small(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", value);
  return std::abs(value) < 0.001 && value != 0.0 ? text : fixed(value);
}

void gradient(const Program& program) {
  program.section("gradient", "how the loss answers to the logits");
  // [gradient]
  Matrix logits = {{-1, 2, 1, 0, 0}};  // of PAD, a, b, c, EOS
  const Tokens targets = {2};          // b is right
  const Matrix p = softmax(logits);
  const Matrix dlogits = cross_entropy_backward(logits, targets, 0);
  // [gradient]
  const Matrix measured = central_differences(logits, [&] { return cross_entropy(logits, targets, 0); });
  print(program.out(), "p", p, {}, tokens_of_five);
  print(program.out(), "dlogits = p - q", dlogits, {}, tokens_of_five);
  program.out() << "loss: " << fixed(cross_entropy(logits, targets, 0)) << '\n'
                << "largest difference from central differences: " << fixed(max_difference(dlogits, measured))
                << '\n';
}

/// One position with V = 11 classes: the right one has the logit z, all others 0.
Matrix one_against_ten(double z) {
  Matrix logits = xt::zeros<double>({1, 11});
  logits(0, 3) = z;
  return logits;
}

void smoothing(const Program& program) {
  program.section("smoothing", "eleven classes; the right one has the logit z, the others 0");
  const Tokens right = {3};
  const LabelSmoothing none, tenth = {0.1};
  Table table({"z", "p of the right one", "loss", "gradient by z", "smoothed loss", "gradient by z"});
  const double best = std::log(100.0);
  for (const double z : {0.0, 2.0, 4.0, best, 6.0, 8.0, 16.0}) {
    const Matrix logits = one_against_ten(z);
    table.add({z == best ? "ln 100" : fixed(z, 0), fixed(softmax(logits)(0, 3)),
               small(cross_entropy(logits, right, 0, none)),
               small(cross_entropy_backward(logits, right, 0, none)(0, 3)),
               fixed(cross_entropy(logits, right, 0, tenth)),
               fixed(cross_entropy_backward(logits, right, 0, tenth)(0, 3))});
  }
  table.print(program.out());
  program.out() << "the truth, smoothed: " << fixed(share(3, 3, 0, 11, tenth)) << " for the right class, "
                << fixed(share(4, 3, 0, 11, tenth)) << " for each other\n"
                << "perplexity at z = ln 100, from the loss without smoothing: "
                << fixed(std::exp(cross_entropy(one_against_ten(best), right, 0))) << '\n';
  std::vector<std::string> places;
  Curve plain{"all of it on the right class", {}}, smooth{"ε = 0.1 given away", {}};
  for (int z = 0; z <= 12; ++z) {
    places.push_back(std::to_string(z));
    plain.y.push_back(cross_entropy(one_against_ten(z), right, 0, none));
    smooth.y.push_back(cross_entropy(one_against_ten(z), right, 0, tenth));
  }
  program.draw("smoothing.svg", chart("The loss of one position, eleven classes", "logit z of the right one",
                                      places, {plain, smooth}, 2.4));
}

void counting(const Program& program) {
  program.section("counting", "sums first, then one division");
  const std::vector<std::vector<double>> sentences = {{.1, .2, .1},
                                                      {.3, .5, .1, .4, .2}};  // a loss for each token
  double sum = 0.0, count = 0.0, mean_of_exp = 0.0;
  for (const auto& losses : sentences) {
    double own = 0.0;
    for (const double loss : losses) own += loss;
    sum += own, count += static_cast<double>(losses.size());
    mean_of_exp += std::exp(own / static_cast<double>(losses.size())) / 2.0;
  }
  Table table({"", "all tokens alike", "one by one"});
  table.add({"loss of two batches: 10 for 2 tokens, 6 for 6 tokens", fixed(16.0 / 8.0),
             fixed((10.0 / 2.0 + 6.0 / 6.0) / 2.0)});
  table.add({"perplexity of two sentences, 3 and 5 tokens", fixed(std::exp(sum / count)), fixed(mean_of_exp)});
  table.print(program.out());
  program.out() << "these sentences have the losses 0.1 0.2 0.1 and 0.3 0.5 0.1 0.4 0.2\n";
}

// [example]
const Matrix Q = {{1, 0}, {0, 2}}, K = {{1, 1}, {0, 1}, {2, 0}}, V = {{1, 2}, {0, -1}, {3, 1}};
const Matrix dO = {{1, 0}, {-1, 2}};  // what comes back: the gradient by the output
// [example]

/// A loss of the output whose gradient is dO.
double weighed(const Matrix& output) { return xt::sum(output * dO)(); }

void attention_by_hand(const Program& program) {
  program.section("attention", "the way back, for two queries and three keys");
  Trace trace;
  const AttentionGradients d = attention_backward(Q, K, V, dO);
  const std::vector<std::pair<std::string, std::string>> steps = {
      {"weights", "weights A"},       {"dV", "dV = Aᵀ dO"},   {"dA", "dA = dO Vᵀ"},
      {"dS", "dS = A ∘ (dA - mean)"}, {"dQ", "dQ = dS K/√2"}, {"dK", "dK = dSᵀ Q/√2"}};
  for (const auto& [name, words] : steps) print(program.out(), words, trace[name]);
  // [by_differences]
  Matrix q = Q, k = K, v = V;
  const Matrix by_q = central_differences(q, [&] { return weighed(attention(q, k, v)); });
  const Matrix by_k = central_differences(k, [&] { return weighed(attention(q, k, v)); });
  const Matrix by_v = central_differences(v, [&] { return weighed(attention(q, k, v)); });
  // [by_differences]
  program.out() << "largest difference from central differences: dQ " << fixed(max_difference(d.dQ, by_q))
                << ", dK " << fixed(max_difference(d.dK, by_k)) << ", dV " << fixed(max_difference(d.dV, by_v))
                << '\n';
  program.save(trace);
  program.draw("way-back.svg",
               diagram("The way back through attention",
                       {{"dO", "(n_q, d_v)", 0, 1},
                        {"dV", "(n_k, d_v)", 1, 2},
                        {"dA", "(n_q, n_k)", 1, 0},
                        {"dS", "(n_q, n_k)", 2.2, 0},
                        {"dQ", "(n_q, d_k)", 3.4, 0},
                        {"dK", "(n_k, d_k)", 3.4, 1}},
                       {{0, 1, "Aᵀ dO"}, {0, 2, "dO Vᵀ"}, {2, 3, "softmax"}, {3, 4, "K/√d_k"}, {3, 5, "Q/√d_k"}}));
}

void whole(const Program& program) {
  program.section("whole", "the engine's gradients, and the reference's central differences");
  Random random(101);
  Transformer model = initial_transformer(smallest(), random);
  Table table({"part", "numbers", "length of its gradient", "largest difference"});
  std::size_t numbers = 0;
  for (const auto& [name, part] : whole_model_gradients(model, {3, 4, 5, 2}, {6, 3, 4, 2})) {
    table.add({name, std::to_string(part.numbers), fixed(std::sqrt(part.squares)), fixed(part.difference)});
    numbers += part.numbers;
  }
  table.print(program.out());
  program.out() << "numbers moved one by one: " << numbers << '\n';
}

void adam_by_hand(const Program& program) {
  program.section("adam", "one number, two updates, rate 0.1");
  Table table({"gradients", "update", "m", "v", "m̂", "v̂", "step", "the number"});
  for (const double size : {1.0, 100.0}) {
    // [adam_by_hand]
    Adam adam;  // beta_1 = 0.9, beta_2 = 0.98
    Matrix theta = {{1}};
    for (const double g : {0.5, 0.1}) {
      Trace trace;
      const Matrix before = theta;
      theta = adam_update(theta, {{size * g}}, 0.1, adam);
      // [adam_by_hand]
      const auto at = [&](const char* name) { return fixed(trace[name](0, 0)); };
      table.add({size == 1.0 ? "0.5, 0.1" : "50, 10", std::to_string(adam.t), at("m"), at("v"), at("m_hat"),
                 at("v_hat"), fixed(before(0, 0) - theta(0, 0)), fixed(theta(0, 0))});
    }
  }
  table.print(program.out());
}

void rate(const Program& program) {
  program.section("rate", "the paper's learning rate, d_model = 512, 4000 updates of warm-up");
  using training::paper_rate;
  Table table({"update", "rate, in millionths"});
  for (const std::uint64_t s : {1, 2, 1000, 2000, 3999, 4000, 4001, 8000, 16000, 100000}) {
    table.add({std::to_string(s), fixed(1e6 * paper_rate(512, 4000, s), 4)});
  }
  table.print(program.out());
  try {
    paper_rate(512, 4000, 0);
  } catch (const std::invalid_argument& error) {
    program.out() << "update 0: " << error.what() << '\n';
  }
  std::vector<std::string> places;
  Curve paper{"4000 updates of warm-up, as in the paper", {}}, longer{"8000", {}};
  for (std::uint64_t s = 0; s <= 20; s += 2) {
    places.push_back(s == 0 ? "1" : std::to_string(s) + "k");
    paper.y.push_back(1e4 * paper_rate(512, 4000, std::max<std::uint64_t>(1, 1000 * s)));
    longer.y.push_back(1e4 * paper_rate(512, 8000, std::max<std::uint64_t>(1, 1000 * s)));
  }
  program.draw("rate.svg", chart("The learning rate, in ten-thousandths", "update", places, {paper, longer}, 8.0));
}

void start(const Program& program) {
  program.section("start", "the model below before its first update, each row the mean of ten models");
  const training::Plan plan = plan_with({});
  const double d = static_cast<double>(plan.model.d_model), usual = 1.0 / std::sqrt(d);
  Table table({"embeddings drawn with deviation", "one matrix for embeddings and logits", "loss", "says again"});
  const auto add = [&](const std::string& name, const training::Plan& which, double deviation) {
    const Untrained is = untrained(which, deviation);
    table.add({name, which.model.tied ? "yes" : "no", fixed(is.loss, 2), fixed(is.again, 2)});
  };
  add("0.02", plan, 0.02);
  add(fixed(usual, 2) + ", that is 1/√d_model", plan, usual);
  add("1", plan, 1.0);
  training::Plan untied = plan;
  untied.model.tied = false;
  add(fixed(usual, 2), untied, usual);
  table.print(program.out());
  const double V = static_cast<double>(plan.model.vocabulary);
  program.out() << "guessing among " << plan.model.vocabulary << " tokens: ln V = " << fixed(std::log(V), 2)
                << ", and with ½: " << fixed(std::log(V) + 0.5, 2)
                << "\nsays again: how often the likeliest token is the one that was just read\n";
}

void sizes(const Program& program) {
  program.section("sizes", "what is added, at d_model = 512");
  Random random(104);
  const std::size_t d = 512;
  const double root = std::sqrt(512.0);
  const Matrix embeddings = random.normal_matrix(1000, d, 1.0 / root);
  Table table({"a number of", "size"});
  table.add({"an embedding as it is drawn", fixed(size_of(embeddings))});
  table.add({"a position", fixed(size_of(positional_encoding(100, d)))});
  table.add({"an embedding × √512", fixed(size_of(root * embeddings))});
  table.print(program.out());
}

void mistakes(const Program& program) {
  program.section("mistakes", "what comes out, and what should");
  const AttentionGradients d = attention_backward(Q, K, V, dO);
  const Matrix A = softmax(product(Q, transpose(K)) / std::sqrt(2.0)), dA = product(dO, transpose(V));
  Table table({"mistake", "wrong", "right"});
  // [mistakes]
  const Matrix no_sum = A * dA;                                   // softmax's way back without its sum
  const Matrix over_columns = A * (dA - xt::sum(A * dA, {0}));    // the sum taken over the queries
  const Matrix not_scaled = product(softmax_backward(A, dA), K);  // no 1/√d_k on the way back
  // [mistakes]
  const Matrix dS = softmax_backward(A, dA);
  table.add({"dS without the sum, its first number", fixed(no_sum(0, 0)), fixed(dS(0, 0))});
  table.add({"dS with the sum over the queries", fixed(over_columns(0, 0)), fixed(dS(0, 0))});
  table.add({"dQ without the scale, its first number", fixed(not_scaled(0, 0)), fixed(d.dQ(0, 0))});
  table.add(
      {"Adam's first step at rate 0.1 without its corrections", fixed(0.1 * 0.1 / std::sqrt(0.02)), fixed(0.1)});
  table.add({"accuracy of 7 1 1 where 7 PAD PAD was wanted, padding counted", fixed(1.0 / 3.0), fixed(1.0)});
  const Matrix logits = one_against_ten(std::log(100.0));
  table.add({"perplexity from the smoothed loss", fixed(std::exp(cross_entropy(logits, {3}, 0, {0.1}))),
             fixed(std::exp(cross_entropy(logits, {3}, 0)))});
  table.print(program.out());
}

void reduction(const Program& program) {
  program.section("reduction", "one query, and a mask that hides nothing");
  // [reduction]
  Matrix by_jacobian({2, 3});
  const Matrix A = softmax(product(Q, transpose(K)) / std::sqrt(2.0)), dA = product(dO, transpose(V));
  for (std::size_t i = 0; i < 2; ++i) {
    const Matrix row = xt::view(dA, xt::range(i, i + 1), xt::all());
    xt::row(by_jacobian, i) = xt::row(product(row, softmax_jacobian(xt::row(A, i))), 0);
  }
  const AttentionGradients masked = masked_attention_backward(Q, K, V, full_mask(2, 3), dO);
  // [reduction]
  program.out() << "softmax_backward, and chapter 3's Jacobian row by row: largest difference "
                << fixed(max_difference(by_jacobian, softmax_backward(A, dA))) << '\n'
                << "no mask, and a mask that hides nothing: largest difference "
                << fixed(max_difference(masked.dQ, attention_backward(Q, K, V, dO).dQ)) << '\n';
}

void tour(const Program& program) {
  plan_with({});  // refuses a wrong --updates before anything is printed
  program.out() << "Chapter 10: training\n";
  if (!longer_measurement.empty()) {
    measure_longer(program, longer_measurement);
    return;
  }
  gradient(program);
  smoothing(program);
  counting(program);
  attention_by_hand(program);
  whole(program);
  adam_by_hand(program);
  rate(program);
  start(program);
  sizes(program);
  mistakes(program);
  reduction(program);
  const Learned learned = learn_both(program);
  program.in_short(
      "p - q, five lines back through attention, and Adam: a Transformer learned from pairs of sentences "
      "alone to copy unseen ones (" +
      yes(learned.copies) + ") and to turn them round (" + yes(learned.reverses) + ").");
}

/// The reader's words, each different one a token.
struct OwnTokens {
  Matrix E;        // one different word a row
  Tokens targets;  // which of them each word is
};

OwnTokens own_tokens(const OwnInput& input, const Matrix& X) {
  std::vector<std::string> different;
  std::vector<std::size_t> first;
  OwnTokens own;
  for (std::size_t i = 0; i < input.names.size(); ++i) {
    const auto known = std::find(different.begin(), different.end(), input.names[i]);
    own.targets.push_back(static_cast<int>(known - different.begin()));
    if (known == different.end()) different.push_back(input.names[i]), first.push_back(i);
  }
  own.E = Matrix({std::max<std::size_t>(2, first.size()), X.shape(1)}, 0.0);  // a loss needs two classes
  for (std::size_t c = 0; c < first.size(); ++c) xt::row(own.E, c) = xt::row(X, first[c]);
  return own;
}

void own(const Program& program, const OwnInput& input) {
  const std::size_t n = input.X.shape(0);
  const double root = std::sqrt(static_cast<double>(input.X.shape(1)));
  const double length = std::sqrt(xt::sum(input.X * input.X)() / static_cast<double>(n));
  const double wanted = std::sqrt(2.0 * root);  // so that most score themselves with 2
  const Matrix X = length > 0.0 ? Matrix(wanted / length * input.X) : input.X;
  const OwnTokens own = own_tokens(input, X);
  const auto logits_of = [&](const Matrix& A) { return Matrix(product(product(A, X), transpose(own.E)) / root); };
  Trace trace;
  const Matrix scores = product(X, transpose(X)) / root;
  const Matrix logits = logits_of(softmax(scores));
  const Matrix dlogits = cross_entropy_backward(logits, own.targets, -1);
  const Matrix dO = product(dlogits, own.E) / root;
  attention_backward(X, X, X, dO);
  const double before = cross_entropy(logits, own.targets, -1);
  const Matrix stepped = scores - static_cast<double>(n) * trace["dS"];
  const double after = cross_entropy(logits_of(softmax(stepped)), own.targets, -1);

  program.section("loss", "each word has to say itself again, by attention alone; nothing is trained");
  program.out() << "loss: " << fixed(before) << ", after one step of the scores against dS: " << fixed(after)
                << '\n';
  program.section("weights", "who looks at whom");
  print(program.out(), "weights", trace["weights"], input.names, input.names);
  program.section("way-back", "how the loss answers to each score: below 0, it should rise");
  print(program.out(), "dS, times the number of tokens", static_cast<double>(n) * trace["dS"], input.names,
        input.names);
  program.draw("scores.svg", heat_map(static_cast<double>(n) * trace["dS"],
                                      {"How the loss answers to each score", input.names, input.names}));
  program.save(trace);
  program.in_short("One step of the scores against their gradient took the loss of " + tokens(n) + " from " +
                   fixed(before, 3) + " to " + fixed(after, 3) + ".");
}

}  // namespace

int main(int argc, char** argv) {
  return run_chapter(
      argc, argv, {"10", "Training", "gradients, Adam, and two tasks learned from examples."}, tour, own,
      {{"--updates", "so many updates for every training, for a quick look", &fewer_updates},
       {"--measure",
        "one of the longer measurements instead: warmup, shift-and-mask, scale, dropout, seeds; or all",
        &longer_measurement}});
}
