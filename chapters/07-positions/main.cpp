// Chapter 07: positions, X + PE, because attention alone does not see the order of its tokens.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <ostream>
#include <stdexcept>

#include "attn/core/random.hpp"
#include "attn/core/table.hpp"
#include "attn/drawing/chart.hpp"
#include "attn/drawing/heat_map.hpp"
#include "attn/reference/cross_attention.hpp"
#include "attn/reference/masking.hpp"
#include "attn/reference/positions.hpp"
#include "attn/text/letter_ngrams.hpp"
#include "measure.hpp"
#include "pictures.hpp"
#include "program.hpp"

using namespace attn;

namespace {

std::string yes_no(bool value) { return value ? "yes" : "no"; }

Matrix row(const Matrix& A, std::size_t i) { return xt::view(A, xt::range(i, i + 1), xt::all()); }

/// The rows of a matrix in another order: row i of the result is row order[i].
Matrix in_order(const Matrix& A, const std::vector<std::size_t>& order) {
  Matrix B({order.size(), A.shape(1)});
  for (std::size_t i = 0; i < order.size(); ++i) xt::row(B, i) = xt::row(A, order[i]);
  return B;
}

Projections random_projections(Random& random, std::size_t d) {
  const double deviation = 1.0 / std::sqrt(static_cast<double>(d));
  return {random.normal_matrix(d, d, deviation), random.normal_matrix(d, d, deviation),
          random.normal_matrix(d, d, deviation)};
}

void blind(const Program& program) {
  program.section("blind", "who bites whom?");
  Random random(3);
  const Matrix vocabulary = random.normal_matrix(4, 4);  // the, dog, bites, man
  const Projections weights = random_projections(random, 4);
  // [blind]
  const Matrix one = in_order(vocabulary, {0, 1, 2, 0, 3}), other = in_order(vocabulary, {0, 3, 2, 0, 1});
  const Matrix output = self_attention(one, weights), turned = self_attention(other, weights);
  // [blind]
  print(program.out(), "the output for one", output, {"the", "dog", "bites", "the", "man"});
  print(program.out(), "the output for the other", turned, {"the", "man", "bites", "the", "dog"});
  print(program.out(), "one, with positions added first", self_attention(add_positions(one), weights),
        {"the", "dog", "bites", "the", "man"});
  print(program.out(), "the other, with positions added first", self_attention(add_positions(other), weights),
        {"the", "man", "bites", "the", "dog"});
}

void order(const Program& program) {
  program.section("order", "six tokens, and the same six in another order");
  Random random(4);
  const Matrix X = random.normal_matrix(6, 8), asking = random.normal_matrix(2, 8);
  const Projections weights = random_projections(random, 8);
  // [order]
  const std::vector<std::size_t> moved = {3, 0, 5, 1, 4, 2};
  const auto difference = [&](const auto& f) {
    return max_difference(f(in_order(X, moved)), in_order(f(X), moved));
  };
  const double plain = difference([&](const Matrix& Y) { return self_attention(Y, weights); });
  const double placed = difference([&](const Matrix& Y) { return self_attention(add_positions(Y), weights); });
  const double masked =
      difference([&](const Matrix& Y) { return cross_attention(Y, Y, weights, under(causal_mask(6))); });
  // [order]
  const double memory =
      max_difference(cross_attention(asking, in_order(X, moved), weights), cross_attention(asking, X, weights));
  Table table({"attention", "largest difference", "below 1e-13"});
  const auto add = [&](const std::string& name, double d) { table.add({name, fixed(d), yes_no(d < 1e-13)}); };
  add("self-attention", plain);
  add("cross-attention, its memory in another order", memory);
  add("self-attention, positions added", placed);
  add("self-attention under a causal mask", masked);
  table.print(program.out());
}

void table(const Program& program) {
  program.section("table", "the first positions, in four channels");
  // [table]
  Trace trace;
  const Matrix X = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
  const Matrix output = add_positions(X);
  // [table]
  print(program.out(), "positions", trace["positions"], {"p = 0", "p = 1", "p = 2", "p = 3"},
        {"sin p", "cos p", "sin p/100", "cos p/100"});
  print(program.out(), "output = X + positions", output);
  program.save(trace);
  const Matrix wide = positional_encoding(50, 64);
  program.draw("table.svg", table_picture(wide));
  program.draw("waves.svg", waves_picture(wide, {0, 8, 16, 32}));
}

void waves(const Program& program) {
  program.section("waves", "how long each pair takes for one turn, d = 512");
  Table table({"i", "channels", "positions for a turn"});
  for (const std::size_t i : {0, 1, 64, 128, 192, 255}) {
    table.add({std::to_string(i), std::to_string(2 * i) + " and " + std::to_string(2 * i + 1),
               fixed(wavelength(i, 512), 2)});
  }
  table.print(program.out());
  program.out() << "2π = " << fixed(2 * std::numbers::pi, 2)
                << ", 10000 · 2π = " << fixed(20000 * std::numbers::pi, 2) << '\n';
}

void shift(const Program& program) {
  program.section("shift", "one matrix moves every position by k");
  print(program.out(), "M_1 for four channels", shift_matrix(1, 4));
  const Matrix encoding = positional_encoding(4, 4);
  // [shift]
  const Matrix two = product(row(encoding, 1), shift_matrix(1, 4));
  const Matrix three = product(row(encoding, 2), shift_matrix(1, 4));
  // [shift]
  print(program.out(), "PE(1) M_1", two);
  print(program.out(), "PE(2) M_1", three);
  double largest = 0.0;
  for (const std::size_t d : {4, 64, 512}) {
    for (const std::size_t k : {1, 7, 50}) largest = std::max(largest, shift_error(k, d));
  }
  program.out() << "largest error for d = 4, 64, 512, k = 1, 7, 50 and all p up to 5000, below 2e-12: "
                << yes_no(largest < 2e-12) << '\n';
  program.section("pair", "what the sine knows of the next sine");
  const Matrix waves = positional_encoding(101, 4);
  // [pair]
  const Vector sine = xt::view(waves, xt::range(0, 100), 0), cosine = xt::view(waves, xt::range(0, 100), 1);
  const Vector next = xt::view(waves, xt::range(1, 101), 0);
  const Vector turned = sine * std::cos(1.0) + cosine * std::sin(1.0);
  // [pair]
  program.out() << "R² of the best line through (sine, next sine): "
                << fixed(r_squared(next, best_line(sine, next)), 3) << '\n'
                << "R² from the pair of sine and cosine:           " << fixed(r_squared(next, turned), 3) << '\n';
}

void distance(const Program& program) {
  program.section("distance", "PE(p)·PE(p + k) at d = 512");
  const Matrix encoding = positional_encoding(2049, 512);
  const auto score = [&](std::size_t p, std::size_t q) { return dot(xt::row(encoding, p), xt::row(encoding, q)); };
  Table table({"k", "p = 0", "p = 10", "p = 1000", "length of PE(k)"});
  for (const std::size_t k : {0, 1, 5, 50, 500, 512}) {
    table.add({std::to_string(k), fixed(score(0, k)), fixed(score(10, 10 + k)), fixed(score(1000, 1000 + k)),
               fixed(norm(xt::row(encoding, k)))});
  }
  table.print(program.out());
  std::vector<std::string> distances;
  Curve curve{"PE(p)·PE(p + k), the same for every p", {}};
  for (const std::size_t k : {0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}) {
    distances.push_back(std::to_string(k));
    curve.y.push_back(score(0, k));
  }
  program.draw("distance.svg", chart("The inner product of two positions, by their distance, d = 512",
                                     "distance k", distances, {curve}, 256));
}

/// Who looks at whom when each token asks for the place before its own.
Matrix look_back(const Matrix& X) {
  // [look_back]
  const std::size_t d = X.shape(1);
  const double loud = 4.0 * std::sqrt(static_cast<double>(d));  // undoes the scale, and four times that
  const Matrix W_Q = loud * transpose(shift_matrix(1, d));
  Trace trace;
  self_attention(add_positions(X), {W_Q, identity(d), identity(d)});
  // [look_back]
  return trace["weights"];
}

void back(const Program& program) {
  program.section("back", "each word looks at the word before it");
  const std::vector<std::string> words = {"the", "dog", "bites", "the", "man"};
  const Matrix A = look_back(letter_ngrams(words, 512, 2.0));
  print(program.out(), "weights", A, words, words);
  program.draw("back.svg", heat_map(A, {"Queries turned back by one position", words, words}));
}

void added(const Program& program) {
  program.section("added", "added, and set side by side");
  Random random(5);
  const Matrix X = random.normal_matrix(5, 8), W = random.normal_matrix(8, 3), PE = positional_encoding(5, 8);
  // [added]
  const Matrix sum = project(X + PE, W);
  const Matrix twice = transpose(concat({transpose(W), transpose(W)}));  // W above W, shape (16, 3)
  const Matrix side_by_side = project(concat({X, PE}), twice);
  // [added]
  program.out() << "largest difference: " << fixed(max_difference(sum, side_by_side)) << '\n';
}

void far(const Program& program) {
  program.section("far", "positions that no sentence has had");
  print(program.out(), "positions 20 and 21", positional_encoding(2, 4, PositionLayout::interleaved, 20));
  print(program.out(), "position 1000000", positional_encoding(1, 4, PositionLayout::interleaved, 1000000));
  program.section("learned", "a table with an end");
  Random random(6);
  // [learned]
  const Matrix learned = random.normal_matrix(10, 4);
  const Matrix ten = learned_positions(learned, 10);
  // [learned]
  print(program.out(), "the last of ten", row(ten, 9));
  try {
    learned_positions(learned, 11);
  } catch (const std::invalid_argument& error) {
    program.out() << "eleven tokens:\n  " << error.what() << '\n';
  }
}

void layouts(const Program& program) {
  program.section("layouts", "position 1 in three layouts");
  const std::vector<std::string> names = {"interleaved", "halves", "halves_t2t"};
  const std::vector<PositionLayout> all = {PositionLayout::interleaved, PositionLayout::halves,
                                           PositionLayout::halves_t2t};
  for (const std::size_t d : {6, 5}) {
    Matrix side_by_side({3, d});
    for (std::size_t i = 0; i < 3; ++i) {
      xt::row(side_by_side, i) = xt::row(positional_encoding(1, d, all[i], 1), 0);
    }
    print(program.out(), "d = " + std::to_string(d), side_by_side, names);
  }
  const Matrix paper = positional_encoding(512, 512),
               halves = positional_encoding(512, 512, PositionLayout::halves),
               t2t = positional_encoding(512, 512, PositionLayout::halves_t2t);
  Table table({"largest difference at d = 512", "p = 1", "p = 50", "p = 511"});
  const auto add = [&](const std::string& name, const Matrix& A, const Matrix& B) {
    const auto at = [&](std::size_t p) { return fixed(max_difference(row(A, p), row(B, p))); };
    table.add({name, at(1), at(50), at(511)});
  };
  add("interleaved and halves", paper, halves);
  add("halves and halves_t2t", halves, t2t);
  table.print(program.out());
  program.section("systems", "who does it how");
  Table systems({"dialect", "layout", "first position"});
  for (const Dialect& dialect : dialects()) {
    systems.add({dialect.name, names.at(static_cast<std::size_t>(dialect.positions)),
                 std::to_string(dialect.first_position)});
  }
  systems.print(program.out());
}

void reduction(const Program& program) {
  program.section("reduction", "no move, the same place, a table of sines");
  Random random(8);
  const Matrix X = random.normal_matrix(6, 8);
  const Projections weights = random_projections(random, 8);
  const std::vector<std::size_t> moved = {3, 0, 5, 1, 4, 2};
  // [reduction]
  const bool still = shift_matrix(0, 8) == identity(8);
  const Matrix sines = X + learned_positions(positional_encoding(40, 8), 6);
  const bool same_table = sines == add_positions(X);
  const Matrix one_place = positional_encoding(1, 8, PositionLayout::interleaved, 7);  // for every token
  const Matrix output = self_attention(X + one_place, weights);
  const Matrix turned = self_attention(in_order(X, moved) + one_place, weights);
  const double apart = max_difference(turned, in_order(output, moved));
  // [reduction]
  program.out() << "a move by 0 is the identity: " << yes_no(still) << '\n'
                << "a learned table that holds the sines gives add_positions: " << yes_no(same_table) << '\n'
                << "every token at place 7, in another order, largest difference: " << fixed(apart) << '\n';
}

void tour(const Program& program) {
  program.out() << "Chapter 07: X + PE\n";
  blind(program);
  order(program);
  table(program);
  waves(program);
  shift(program);
  distance(program);
  back(program);
  added(program);
  far(program);
  layouts(program);
  reduction(program);
  program.in_short(
      "Attention does not see the order of its tokens; X + PE shows it, and a move by k is one matrix "
      "for all positions.");
}

/// The matrix itself, or with one more column of zeros where a sine would be without its cosine.
Matrix even(const Matrix& X) {
  if (X.shape(1) % 2 == 0) return X;
  Matrix wider = xt::zeros<double>({X.shape(0), X.shape(1) + 1});
  xt::view(wider, xt::all(), xt::range(std::size_t{0}, X.shape(1))) = X;
  return wider;
}

void own(const Program& program, const OwnInput& input) {
  const Matrix X = even(input.X);
  Random random(2017);
  const Projections weights = random_projections(random, X.shape(1));
  std::vector<std::size_t> backwards;
  for (std::size_t i = X.shape(0); i > 0; --i) backwards.push_back(i - 1);
  const auto difference = [&](const auto& f) {
    return max_difference(f(in_order(X, backwards)), in_order(f(X), backwards));
  };
  program.section("order", "your words backwards: largest difference of their outputs");
  program.out() << "without positions: "
                << fixed(difference([&](const Matrix& Y) { return self_attention(Y, weights); })) << '\n'
                << "with positions:    "
                << fixed(difference([&](const Matrix& Y) { return self_attention(add_positions(Y), weights); }))
                << '\n';
  const Matrix A = look_back(X);
  program.section("back", "each word looks at the word before it");
  print(program.out(), "weights", A, input.names, input.names);
  program.draw("weights.svg", heat_map(A, {"Queries turned back by one position", input.names, input.names}));
  Trace trace;
  add_positions(X);
  program.save(trace);
  if (A.shape(0) == 1) return program.in_short("One word has nobody before it, and looks at itself.");
  double least = 1.0;
  for (std::size_t i = 1; i < A.shape(0); ++i) least = std::min(least, A(i, i - 1));
  program.in_short("Each of " + tokens(A.shape(0)) + " but the first gives the one before it at least " +
                   fixed(least, 3) + " of its weight.");
}

}  // namespace

int main(int argc, char** argv) {
  return run_chapter(argc, argv, {"07", "Positions", "X + PE, because attention does not see order."}, tour, own);
}
