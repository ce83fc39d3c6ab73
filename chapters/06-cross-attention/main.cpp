// Chapter 06: cross-attention, where one sequence asks and another answers.
#include <algorithm>
#include <cmath>
#include <ostream>
#include <stdexcept>

#include "attn/core/errors.hpp"
#include "attn/core/random.hpp"
#include "attn/core/shape.hpp"
#include "attn/core/table.hpp"
#include "attn/drawing/heat_map.hpp"
#include "attn/reference/cross_attention.hpp"
#include "attn/reference/masking.hpp"
#include "attn/reference/similarity.hpp"
#include "pictures.hpp"
#include "program.hpp"

using namespace attn;

namespace {

/// What a call says when it refuses what it was given.
template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was refused";
}

void two(const Program& program) {
  program.section("two", "two tokens ask three others");
  // [two]
  const Matrix a = {{1, 0}, {0, 1}};
  const Matrix b = {{1, 0}, {0, 1}, {1, 1}};
  const Projections nothing = {identity(2), identity(2), identity(2)};
  Trace trace;
  cross_attention(a, b, nothing, dot_product_attention);
  // [two]
  print(program.out(), "scores = a bᵀ", trace["scores"], {"a1", "a2"}, {"b1", "b2", "b3"});
  print(program.out(), "weights", trace["weights"], {"a1", "a2"}, {"b1", "b2", "b3"});
  print(program.out(), "output = weights b", trace["output"], {"a1", "a2"});
}

void shapes(const Program& program) {
  program.section("shapes", "six sizes, all of them different");
  Random random(6);
  // [shapes]
  const Matrix x = random.normal_matrix(2, 3);       // n_q = 2 tokens of 3 features ask
  const Matrix memory = random.normal_matrix(7, 5);  // n_k = 7 tokens of 5 features answer
  const Projections weights = {random.normal_matrix(3, 4), random.normal_matrix(5, 4),  // d_k = 4
                               random.normal_matrix(5, 6)};                             // d_v = 6
  Trace trace;
  cross_attention(x, memory, weights);
  // [shapes]
  program.list(trace);
  program.save(trace);
  program.draw("flow.svg", flow_picture());
  const Projections short_keys = {weights.W_Q, random.normal_matrix(5, 3), weights.W_V};
  program.out() << "keys that are shorter than the queries:\n  "
                << refusal([&] { cross_attention(x, memory, short_keys); }) << '\n'
                << "a memory that asks through the W_Q of x:\n  "
                << refusal([&] { cross_attention(memory, memory, weights); }) << '\n';
  program.section("lengths", "the queries fix the length of the output");
  Table table({"x", "memory", "weights", "output"});
  for (const auto& [n_q, n_k] :
       std::vector<std::pair<std::size_t, std::size_t>>{{1, 7}, {2, 7}, {7, 7}, {2, 1000}}) {
    const Matrix asks = random.normal_matrix(n_q, 3), answers = random.normal_matrix(n_k, 5);
    Trace lengths;
    cross_attention(asks, answers, weights);
    table.add(
        {shape_text(asks), shape_text(answers), shape_text(lengths["weights"]), shape_text(lengths["output"])});
  }
  table.print(program.out());
}

void image(const Program& program) {
  program.section("image", "five words of eight features ask sixteen patches of three");
  // [image]
  const std::vector<std::string> words = {"sky", "sun", "grass", "house", "the"};
  const Matrix x = xt::view(identity(8), xt::range(0, 5), xt::all());  // words 1 to 5 of a vocabulary of 8
  const Matrix memory = patches();                                     // red, green, blue
  Matrix W_Q = xt::zeros<double>({8, 3});
  W_Q(0, 0) = -12, W_Q(0, 2) = 12;                                 // sky: blue, and not red
  W_Q(1, 0) = 12, W_Q(1, 1) = 12, W_Q(1, 2) = -12;                 // sun: red and green, and not blue
  W_Q(2, 0) = -12, W_Q(2, 1) = 12, W_Q(2, 2) = -12;                // grass: green, and nothing else
  W_Q(3, 0) = 12, W_Q(3, 1) = -12;                                 // house: red, and not green
  const Matrix W_V = {{1.0 / 3, 1}, {1.0 / 3, 0}, {1.0 / 3, -1}};  // how bright; how warm: red minus blue
  Trace trace;
  cross_attention(x, memory, {W_Q, identity(3), W_V});
  // [image]
  const Matrix& A = trace["weights"];
  program.out() << "x " << shape_text(x) << ", memory " << shape_text(memory) << ", weights " << shape_text(A)
                << '\n';
  print(program.out(), "output", trace["output"], words, {"bright", "warm"});
  program.out() << "weights of \"grass\", laid out like the image\n";
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t column = 0; column < 4; ++column) program.out() << "  " << fixed(A(2, 4 * row + column));
    program.out() << '\n';
  }
  program.draw("image.svg", looking_picture(memory, A, words));
}

void reach(const Program& program) {
  program.section("reach", "who moves which output");
  Random random(7);
  const Matrix x = random.normal_matrix(3, 3), memory = random.normal_matrix(4, 3);
  const Projections weights = {random.normal_matrix(3, 2), random.normal_matrix(3, 2), random.normal_matrix(3, 3)};
  const Matrix before = cross_attention(x, memory, weights);
  Matrix from_memory({3, 4}), from_x({3, 3});
  const auto moves = [&](Matrix& change, std::size_t j, const Matrix& after) {
    const Matrix speed = (after - before) / 1e-6;
    for (std::size_t i = 0; i < 3; ++i) change(i, j) = norm(xt::row(speed, i));
  };
  // [reach]
  for (std::size_t j = 0; j < 4; ++j) {
    Matrix moved = memory;
    xt::row(moved, j) += 1e-6;
    moves(from_memory, j, cross_attention(x, moved, weights));
  }
  for (std::size_t j = 0; j < 3; ++j) {
    Matrix moved = x;
    xt::row(moved, j) += 1e-6;
    moves(from_x, j, cross_attention(moved, memory, weights));
  }
  // [reach]
  print(program.out(), "how fast output i moves when row j of the memory moves", from_memory, {"x1", "x2", "x3"},
        {"m1", "m2", "m3", "m4"});
  print(program.out(), "how fast output i moves when row j of x moves", from_x, {"x1", "x2", "x3"},
        {"x1", "x2", "x3"});
}

void padding(const Program& program) {
  program.section("padding", "a source of three tokens, filled up to five");
  Random random(8);
  const Matrix x = random.normal_matrix(2, 4), source = random.normal_matrix(3, 4);
  const Projections weights = {random.normal_matrix(4, 4), random.normal_matrix(4, 4), random.normal_matrix(4, 4)};
  Matrix filled = 9.0 * xt::ones<double>({5, 4});
  xt::view(filled, xt::range(0, 3), xt::all()) = source;
  // [padding]
  const Mask mask = padding_mask(2, {true, true, true, false, false});  // (n_q, n_k): two ask, five are there
  Trace trace;
  const Matrix alone = cross_attention(x, source, weights);
  const Matrix hidden = cross_attention(x, filled, weights, under(mask));
  // [padding]
  print_mask(program.out(), "mask", mask, {"x1", "x2"}, {"m1", "m2", "m3", "PAD", "PAD"});
  print(program.out(), "weights under the mask", trace["weights"], {"x1", "x2"}, {"m1", "m2", "m3", "PAD", "PAD"});
  const Matrix seen = cross_attention(x, filled, weights);
  program.out() << "against the source alone, largest difference with the mask:    "
                << fixed(max_difference(hidden, alone)) << '\n'
                << "against the source alone, largest difference without the mask: "
                << fixed(max_difference(seen, alone)) << '\n'
                << "the causal mask of the target:\n  "
                << refusal([&] { cross_attention(x, filled, weights, under(causal_mask(2))); }) << '\n';
}

void layers(const Program& program) {
  program.section("layers", "two layers of a decoder ask the same memory");
  Random random(9);
  const Matrix memory = random.normal_matrix(5, 4);
  std::vector<MultiHead> layers;
  for (int i = 0; i < 2; ++i) {
    layers.push_back({2, random.normal_matrix(4, 4), random.normal_matrix(4, 4), random.normal_matrix(4, 4),
                      random.normal_matrix(4, 4)});
  }
  Trace trace;
  // [layers]
  Matrix x = random.normal_matrix(3, 4);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const TraceScope scope("decoder." + std::to_string(i) + ".cross");
    x = multi_head_attention(x, memory, layers[i]);
  }
  // [layers]
  Table table({"tensor", "shape"});
  for (const NamedMatrix& tensor : trace.tensors()) {
    if (tensor.name.find("head.") == std::string::npos) table.add({tensor.name, shape_text(tensor.value)});
  }
  table.print(program.out());
  program.out() << "largest difference between the keys of the two layers: "
                << fixed(max_difference(trace["decoder.0.cross.K"], trace["decoder.1.cross.K"])) << '\n';
}

void wiring(const Program& program) {
  program.section("wiring", "does the memory matter?");
  Random random(10);
  const Matrix x = random.normal_matrix(2, 4), memory = random.normal_matrix(5, 4),
               other = random.normal_matrix(5, 4);
  const Projections weights = {random.normal_matrix(4, 4), random.normal_matrix(4, 4), random.normal_matrix(4, 4)};
  const auto miswired = [&](const Matrix& y, const Matrix&) { return cross_attention(y, y, weights); };
  Table table({"keys and values from", "weights", "output moves with another memory by"});
  const auto row = [&](const std::string& name, const auto& decode) {
    Trace trace;
    const Matrix one = decode(x, memory), two = decode(x, other);
    table.add({name, shape_text(trace["weights"]), fixed(max_difference(one, two))});
  };
  row("the memory", [&](const Matrix& y, const Matrix& m) { return cross_attention(y, m, weights); });
  row("x itself: wrong", miswired);
  table.print(program.out());
}

void both_ways(const Program& program) {
  program.section("both", "a asks b, and b asks a");
  const Matrix a = {{2, 0}, {0, 1}}, b = {{1, 0}, {1, 1}};
  // [both]
  const Matrix scores = product(a, transpose(b));
  const Matrix A_a = softmax(scores);             // a asks: a row for each row of a
  const Matrix A_b = softmax(transpose(scores));  // b asks: a row for each row of b
  const Matrix out_a = weighted_sum(A_a, b);
  const Matrix out_b = weighted_sum(A_b, a);
  // [both]
  // [wrong]
  const Matrix wrong_a = weighted_sum(A_b, b);
  const Matrix wrong_b = weighted_sum(transpose(A_a), a);
  // [wrong]
  print(program.out(), "A_a", A_a);
  print(program.out(), "A_b", A_b);
  print(program.out(), "out_a = A_a b", out_a);
  print(program.out(), "wrong: A_b b", wrong_a);
  print(program.out(), "out_b = A_b a", out_b);
  print(program.out(), "wrong: A_aᵀ a", wrong_b);
  const Matrix shares = transpose(A_a);
  program.out() << "the rows of A_aᵀ sum to " << fixed(xt::sum(xt::row(shares, 0))()) << " and "
                << fixed(xt::sum(xt::row(shares, 1))()) << '\n';
  program.section("longer", "the same with three rows in b");
  const Matrix c = {{1, 0}, {1, 1}, {0, 1}};
  const Matrix C_a = softmax(product(a, transpose(c))), C_b = softmax(product(c, transpose(a)));
  program.out() << "wrong: A_b b\n  " << refusal([&] { weighted_sum(C_b, c); }) << '\n'
                << "wrong: A_aᵀ a\n  nothing is refused, and the result has the shape "
                << shape_text(weighted_sum(transpose(C_a), a)) << '\n';
}

void reduction(const Program& program) {
  program.section("reduction", "asking oneself is chapter 03");
  Random random(11);
  const Matrix X = random.normal_matrix(5, 4);
  const Projections weights = {random.normal_matrix(4, 3), random.normal_matrix(4, 3), random.normal_matrix(4, 6)};
  // [reduction]
  const Matrix cross = cross_attention(X, X, weights);
  const Matrix self = self_attention(X, weights);
  const bool same = std::equal(cross.begin(), cross.end(), self.begin(), self.end());
  // [reduction]
  program.out() << "equal, bit for bit: " << (same ? "yes" : "no") << '\n';
}

void tour(const Program& program) {
  program.out() << "Chapter 06: cross-attention\n";
  two(program);
  shapes(program);
  image(program);
  reach(program);
  padding(program);
  layers(program);
  wiring(program);
  both_ways(program);
  reduction(program);
  program.in_short(
      "Queries from one sequence, keys and values from another: five words read an image of sixteen "
      "patches, and two sequences need share nothing but d_k.");
}

/// Who asks and who is asked: what stands before a bar asks what stands behind it; without a bar, the first half
/// asks the second.
struct Halves {
  std::vector<std::string> asking, asked;
  Matrix x, memory;
};

Halves halves(const OwnInput& input) {
  const auto& names = input.names;
  const std::ptrdiff_t bars = std::count(names.begin(), names.end(), "|");
  if (bars > 1) {
    refuse_input("--sentence", "at most one bar, between those who ask and those who are asked",
                 std::to_string(bars));
  }
  const std::ptrdiff_t n = std::ssize(names), bar = std::find(names.begin(), names.end(), "|") - names.begin();
  const bool cut = bar > 0 && bar < n - 1;
  const std::ptrdiff_t end = cut ? bar : (n + 1) / 2, start = cut ? bar + 1 : n / 2;
  return {{names.begin(), names.begin() + end},
          {names.begin() + start, names.end()},
          xt::view(input.X, xt::range(std::ptrdiff_t{0}, end), xt::all()),
          xt::view(input.X, xt::range(start, n), xt::all())};
}

void own(const Program& program, const OwnInput& input) {
  const auto [asking, asked, x, memory] = halves(input);
  const std::size_t d = input.X.shape(1);
  const Matrix louder = std::sqrt(static_cast<double>(d)) * identity(d);  // undoes the scale
  Trace trace;
  cross_attention(x, memory, {louder, identity(d), identity(d)});
  const Matrix& A = trace["weights"];
  program.section("shapes", tokens(asking.size()) + " asking, " + tokens(asked.size()) + " asked");
  program.list(trace);
  program.section("weights", "who looks up what");
  print(program.out(), "weights", A, asking, asked);
  program.draw("weights.svg", heat_map(A, {"Cross-attention: who looks up what", asking, asked}));
  program.save(trace);
  const std::size_t most = std::max_element(A.begin(), A.begin() + std::ssize(asked)) - A.begin();
  program.in_short("\"" + asking[0] + "\" looks most at \"" + asked[most] + "\", with a weight of " +
                   fixed(A(0, most), 3) + ".");
}

}  // namespace

int main(int argc, char** argv) {
  return run_chapter(argc, argv, {"06", "Cross-attention", "one sequence asks, and another answers."}, tour, own);
}
