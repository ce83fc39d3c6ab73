// Chapter 05: masks, -infinity before softmax and exactly 0 after it.
#include <cmath>
#include <limits>
#include <ostream>

#include "04-multi-head/panels.hpp"
#include "attn/core/random.hpp"
#include "attn/core/table.hpp"
#include "attn/drawing/heat_map.hpp"
#include "attn/reference/masking.hpp"
#include "attn/reference/multi_head.hpp"
#include "attn/reference/scaling.hpp"
#include "attn/reference/similarity.hpp"
#include "measure.hpp"
#include "program.hpp"

using namespace attn;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

Projections random_projections(Random& random, std::size_t d_model, std::size_t d) {
  const double deviation = 1.0 / std::sqrt(static_cast<double>(d_model));
  return {random.normal_matrix(d_model, d, deviation), random.normal_matrix(d_model, d, deviation),
          random.normal_matrix(d_model, d, deviation)};
}

void masks(const Program& program) {
  program.section("masks", "a row for each query, a column for each key, a square where it may look");
  const std::vector<std::string> words = {"the", "cat", "sat", "pad", "pad"};
  // [masks]
  const Mask causal = causal_mask(5);
  const Mask padding = padding_mask(5, {true, true, true, false, false});
  const Mask combined = both(causal, padding);
  // [masks]
  print_mask(program.out(), "causal", causal, words, words);
  print_mask(program.out(), "padding", padding, words, words);
  print_mask(program.out(), "both", combined, words, words);
  program.draw(
      "masks.svg",
      panels("Dark: the row may look at the column",
             {{"causal", as_numbers(causal)}, {"padding", as_numbers(padding)}, {"both", as_numbers(combined)}},
             words, words));
}

void equal_scores(const Program& program) {
  program.section("infinity", "three tokens that score alike, under the causal mask");
  // [infinity]
  const Matrix scores = xt::ones<double>({3, 3});
  const Matrix masked = masked_scores(scores, causal_mask(3));
  const Matrix weights = masked_softmax(masked);
  // [infinity]
  print(program.out(), "masked scores", masked);
  print(program.out(), "weights", weights);
  program.out() << "weights above the diagonal that are 0, exactly: " << xt::sum(xt::equal(weights, 0.0))()
                << " of 3\n";
}

void wrong_ways(const Program& program) {
  program.section("wrong", "hide the last two of three keys: the right way and four wrong ones");
  const Mask may_look = {{true, false, false}};
  Table table({"way", "scores (2, 1, 0)", "sum", "scores (0, 0, 0)", "sum"});
  const auto add = [&](const std::string& name, const auto& way) {
    const Matrix one = way(Matrix{{2, 1, 0}}), other = way(Matrix{{0, 0, 0}});
    table.add({name, in_a_line(one), fixed(xt::sum(one)()), in_a_line(other), fixed(xt::sum(other)())});
  };
  // [wrong]
  const Matrix ones = as_numbers(may_look), hidden = 1.0 - ones;
  add("right: −∞ before softmax", [&](const Matrix& s) { return masked_softmax(masked_scores(s, may_look)); });
  add("0 before softmax", [&](const Matrix& s) { return softmax(s * ones); });
  add("times the mask after softmax", [&](const Matrix& s) { return Matrix(softmax(s) * ones); });
  add("plus the mask as 1 and 0", [&](const Matrix& s) { return softmax(s + ones); });
  add("plus a mask with 1 for hidden", [&](const Matrix& s) { return softmax(s + hidden); });
  // [wrong]
  table.print(program.out());
}

void causality(const Program& program) {
  program.section("causal", "four tokens; which output hears of which token?");
  Random random(21);
  const Projections weights = random_projections(random, 3, 3);
  const Matrix X = random.normal_matrix(4, 3);
  const Mask mask = causal_mask(4);
  const std::vector<std::string> inputs = {"a1", "a2", "a3", "a4"}, outputs = {"b1", "b2", "b3", "b4"};
  // [reach]
  const Matrix before = masked_self_attention(X, weights, mask);
  Matrix change({4, 4});
  for (std::size_t j = 0; j < 4; ++j) {
    Matrix moved = X;
    xt::row(moved, j) += 1e-6;
    const Matrix speed = (masked_self_attention(moved, weights, mask) - before) / 1e-6;
    for (std::size_t i = 0; i < 4; ++i) change(i, j) = norm(xt::row(speed, i));
  }
  // [reach]
  print(program.out(), "how fast output i moves when token j moves", change, outputs, inputs);
  Matrix other_end = X;
  xt::row(other_end, 3) = 100.0 * xt::row(X, 3) + 1.0;
  const Matrix after = masked_self_attention(other_end, weights, mask);
  Table table({"a4 replaced", "largest change", "same bits"});
  for (std::size_t i = 0; i < 4; ++i) {
    const double largest = xt::amax(xt::abs(xt::row(after, i) - xt::row(before, i)))();
    table.add({outputs[i], fixed(largest), same_bits(before, after, i) ? "yes" : "no"});
  }
  table.print(program.out());
}

void weights_picture(const Program& program) {
  program.section("weights", "self-attention under the causal mask");
  Random random(22);
  const Projections weights = random_projections(random, 4, 4);
  const std::vector<std::string> words = {"the", "cat", "sat", "down"};
  Trace trace;
  masked_self_attention(random.normal_matrix(4, 4), weights, causal_mask(4));
  program.list(trace);
  print(program.out(), "weights", trace["weights"], words, words);
  program.draw("causal.svg", heat_map(trace["weights"], {"Nobody looks ahead", words, words}));
  program.save(trace);
}

void shift(const Program& program) {
  program.section("shift", "the target: the cat sat </s>");
  const std::vector<std::string> target = {"the", "cat", "sat", "</s>"}, shifted = {"<s>", "the", "cat", "sat"};
  const Mask mask = causal_mask(4);
  Table right({"position", "reads", "has to say", "sees"});
  for (std::size_t i = 0; i < 4; ++i) {
    std::string sees;
    for (std::size_t j = 0; j < 4; ++j) sees += mask(i, j) ? (j == 0 ? "" : " ") + shifted[j] : "";
    right.add({std::to_string(i), shifted[i], target[i], sees});
  }
  right.print(program.out());
  program.out() << '\n';
  const auto at_most = [](int ahead) {
    Mask M({4, 4});
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) M(i, j) = j <= i + ahead;
    }
    return M;
  };
  Table table({"input", "mask", "see the answer", "see all before it", "see nothing"});
  const auto add = [&](bool is_shifted, const std::string& name, const Mask& M) {
    const Sight seen = sight(M, is_shifted);
    table.add({is_shifted ? "shifted" : "not shifted", name, std::to_string(seen.answers) + " of 4",
               std::to_string(seen.pasts) + " of 4", std::to_string(seen.blind) + " of 4"});
  };
  add(true, "j <= i", at_most(0));
  add(true, "none", full_mask(4, 4));
  add(true, "j <= i + 1", at_most(1));
  add(true, "j < i", at_most(-1));
  add(false, "j <= i", at_most(0));
  add(false, "j < i", at_most(-1));
  table.print(program.out());
}

void zeros_weigh(const Program& program) {
  program.section("zeros", "four words, and four rows of zeros behind them");
  const Matrix scores = {{2, 0.5, 0.8, 1, 0, 0, 0, 0}};
  const Mask words = padding_mask(1, {true, true, true, true, false, false, false, false});
  const Matrix without = softmax(scores);
  program.out() << "no mask  " << in_a_line(without) << '\n'
                << "masked   " << in_a_line(masked_softmax(masked_scores(scores, words))) << '\n'
                << "weight of the padding without a mask: "
                << fixed(without(0, 4) + without(0, 5) + without(0, 6) + without(0, 7)) << '\n';
}

void padding(const Program& program) {
  program.section("padding", "three words alone, and the same three words in five places");
  Random random(23);
  const Projections weights = random_projections(random, 4, 4);
  const Matrix X = random.normal_matrix(3, 4);
  // [padding]
  const Matrix alone = self_attention(X, weights);
  const Mask mask = padding_mask(5, {true, true, true, false, false});
  const Matrix with_zeros = masked_self_attention(padded(X, 5, 0.0), weights, mask);
  const Matrix with_thousands = masked_self_attention(padded(X, 5, 1000.0), weights, mask);
  const Matrix with_nan = masked_self_attention(padded(X, 5, not_a_number), weights, mask);
  const Matrix not_masked = self_attention(padded(X, 5, 0.0), weights);
  const Matrix rows_hidden = masked_self_attention(padded(X, 5, 0.0), weights, xt::transpose(mask));
  // [padding]
  Table table({"two more rows, filled with", "mask", "largest difference in the three words"});
  const auto add = [&](const std::string& filling, const std::string& name, const Matrix& output) {
    table.add({filling, name, fixed(largest_difference(first_rows(output, 3), alone))});
  };
  add("0", "columns hidden", with_zeros);
  add("1000", "columns hidden", with_thousands);
  add("NaN", "columns hidden", with_nan);
  add("0", "none", not_masked);
  add("0", "rows hidden: wrong", rows_hidden);
  table.print(program.out());
}

void heads(const Program& program) {
  program.section("heads", "two heads, a causal mask and a padded sentence");
  const std::vector<std::string> words = {"the", "cat", "sat", "pad"};
  Random random(24);
  const Matrix X = random.normal_matrix(4, 6);
  const auto matrix = [&] { return random.normal_matrix(6, 6, 0.6); };
  const MultiHead weights = {2, matrix(), matrix(), matrix(), matrix()};
  Trace trace;
  // [heads]
  const Mask mask = both(causal_mask(4), padding_mask(4, {true, true, true, false}));
  const Matrix output = multi_head_attention(X, X, weights, under(mask));
  // [heads]
  print(program.out(), "head.0.weights", trace["head.0.weights"], words, words);
  print(program.out(), "head.1.weights", trace["head.1.weights"], words, words);
}

double nothing_left(const Program& program) {
  program.section("nothing", "scores (1, 2, 3), all of them hidden");
  const Matrix scores = {{1, 2, 3}};
  const Mask none = {{false, false, false}};
  // [nothing]
  const Matrix ours = masked_softmax(masked_scores(scores, none));
  const Matrix filled = softmax(xt::full_like(scores, -1e9));
  const Matrix added = softmax(scores - 1e9);
  const xt::xtensor<float, 2> added_in_float = xt::cast<float>(scores) - 1e9f;
  const Matrix from_float = softmax(xt::cast<double>(added_in_float));
  const Matrix plain = softmax(masked_scores(scores, none));
  // [nothing]
  Table table({"hidden scores", "weights"});
  table.add({"−∞, and a row with nothing left is 0", in_a_line(ours)});
  table.add({"−∞, softmax as it stands", in_a_line(plain)});
  table.add({"-1e9 put in their place", in_a_line(filled)});
  table.add({"-1e9 added, in double", in_a_line(added)});
  table.add({"-1e9 added, in float", in_a_line(from_float)});
  table.print(program.out());
  program.out() << '\n';
  const Matrix low = {{-2e9, 0}};
  const Mask first = {{true, false}};
  Table second({"scores (-2e9, 0), the second one hidden", "weights"});
  second.add({"−∞", in_a_line(masked_softmax(masked_scores(low, first)))});
  second.add({"-1e9 put in its place", in_a_line(softmax({{-2e9, -1e9}}))});
  second.print(program.out());
  return filled(0, 0);
}

void nan(const Program& program) {
  program.section("nan", "values 1 and NaN, weights 1 and 0");
  // [nan]
  const Matrix V = {{1}, {not_a_number}};
  const Matrix weights = {{1, 0}}, halves = {{0.5, 0.5}};
  const Mask first_only = {{true, false}}, both_keys = {{true, true}};
  const Matrix plain = product(weights, V);
  const Matrix hidden = masked_sum(weights, V, first_only);
  const Matrix seen = masked_sum(halves, V, both_keys);
  // [nan]
  Table table({"sum", "output"});
  table.add({"product: 1 * 1 + 0 * NaN", fixed(plain(0, 0))});
  table.add({"masked_sum, the second key hidden", fixed(hidden(0, 0))});
  table.add({"masked_sum, both keys seen", fixed(seen(0, 0))});
  table.print(program.out());
}

void mistakes(const Program& program) {
  program.section("mistakes", "a causal mask read the wrong way round: true = hidden");
  const Mask turned = !causal_mask(3);
  print(program.out(), "weights of equal scores",
        masked_softmax(masked_scores(Matrix(xt::ones<double>({3, 3})), turned)));
}

void reduction(const Program& program) {
  program.section("reduction", "a mask that allows everything gives chapter 03 back");
  Random random(25);
  const Matrix Q = random.normal_matrix(5, 4), K = random.normal_matrix(7, 4), V = random.normal_matrix(7, 3);
  // [reduction]
  const Matrix masked = masked_attention(Q, K, V, full_mask(5, 7));
  const Matrix chapter_3 = attention(Q, K, V);
  // [reduction]
  std::size_t same = 0;
  for (std::size_t i = 0; i < 5; ++i) same += same_bits(masked, chapter_3, i) ? 1 : 0;
  program.out() << "rows with the same bits: " << same << " of 5\n";
}

void tour(const Program& program) {
  program.out() << "Chapter 05: −∞ before softmax, 0 after\n";
  masks(program);
  equal_scores(program);
  wrong_ways(program);
  weights_picture(program);
  causality(program);
  shift(program);
  zeros_weigh(program);
  padding(program);
  heads(program);
  const double uniform = nothing_left(program);
  nan(program);
  mistakes(program);
  reduction(program);
  program.in_short(
      "A hidden key gets the score −∞ and the weight 0, exactly; a row with nothing left gives 0, "
      "where -1e9 would have given " +
      fixed(uniform) + " to each of three keys.");
}

void own(const Program& program, const OwnInput& input) {
  const std::size_t n = input.names.size(), d_model = input.X.shape(1);
  const double length = std::sqrt(xt::sum(input.X * input.X)() / static_cast<double>(n));
  const double deviation = length > 0.0 ? 1.0 / length : 1.0;
  Random random(2017);
  const auto matrix = [&] { return random.normal_matrix(d_model, d_model, deviation); };
  const Projections weights = {matrix(), matrix(), matrix()};
  const Mask mask = causal_mask(n);
  Trace trace;
  masked_self_attention(input.X, weights, mask);
  program.section("masks", "who may look at whom");
  print_mask(program.out(), "causal", mask, input.names, input.names);
  program.section("weights", "who does; the projections are random, not trained");
  print(program.out(), "weights", trace["weights"], input.names, input.names);
  program.draw("causal.svg", heat_map(trace["weights"], {"Nobody looks ahead", input.names, input.names}));
  program.save(trace);
  program.in_short("Of " + std::to_string(n * n) + " looks among " + tokens(n) + " the causal mask allows " +
                   std::to_string(n * (n + 1) / 2) + ".");
}

}  // namespace

int main(int argc, char** argv) {
  return run_chapter(argc, argv, {"05", "Masking", "who may look at whom."}, tour, own);
}
