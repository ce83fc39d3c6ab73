// Chapter 04: several heads side by side, [head 1, …, head h] W_O, and what one head cannot do.
#include <algorithm>
#include <cmath>
#include <exception>
#include <ostream>

#include "attn/core/config.hpp"
#include "attn/core/random.hpp"
#include "attn/core/shape.hpp"
#include "attn/core/table.hpp"
#include "attn/reference/multi_head.hpp"
#include "attn/reference/projections.hpp"
#include "attn/reference/scaling.hpp"
#include "attn/text/letter_ngrams.hpp"
#include "attn/text/letters.hpp"
#include "measure.hpp"
#include "panels.hpp"
#include "program.hpp"

using namespace attn;

namespace {

Matrix two_heads(const Program& program) {
  program.section("two", "one head looks at the word before, one at the word itself");
  const std::vector<std::string> words = {"the", "cat", "sat", "down"};
  Trace trace;
  // [two]
  const Matrix place = identity(4);
  const Matrix number = {{5}, {2}, {7}, {4}};  // what each word has to say
  Matrix place_before = xt::zeros<double>({4, 4});
  for (std::size_t i = 1; i < 4; ++i) place_before(i, i - 1) = 1.0;
  const Matrix head_1 = attention(40.0 * place_before, place, number);
  const Matrix before = trace["weights"];
  const Matrix head_2 = attention(40.0 * place, place, number);
  const Matrix itself = trace["weights"];
  const Matrix side_by_side = concat({head_1, head_2});
  // [two]
  print(program.out(), "weights of head 1", before, words, words);
  print(program.out(), "weights of head 2", itself, words, words);
  print(program.out(), "their outputs side by side", side_by_side, words, {"before", "itself"});
  program.draw("two.svg", panels("Two heads, two rows of weights for each word",
                                 {{"head 1: before", before}, {"head 2: itself", itself}}, words, words));
  return side_by_side;
}

void one_row(const Program& program) {
  program.section("one", "what a single row of weights makes of it, for the word sat");
  const double cat = 2, sat = 7;
  Table table({"weight on cat", "weight on sat", "first half", "second half", "distance from (2, 7)"});
  for (const double w : {1.0, 0.5, 0.0}) {
    const double mixture = w * cat + (1 - w) * sat;
    const double off = std::hypot(mixture - cat, mixture - sat);
    table.add({fixed(w, 1), fixed(1 - w, 1), fixed(mixture, 1), fixed(mixture, 1), fixed(off)});
  }
  table.print(program.out());
}

void tensors(const Program& program) {
  program.section("tensors", "three heads, with queries and keys of 2 features and values of 4");
  Random random(14);
  // [tensors]
  const std::size_t d_model = 7, h = 3, d_k = 2, d_v = 4;
  const Matrix X = random.normal_matrix(5, d_model);
  const MultiHead weights = {h, random.normal_matrix(d_model, h * d_k), random.normal_matrix(d_model, h * d_k),
                             random.normal_matrix(d_model, h * d_v), random.normal_matrix(h * d_v, d_model)};
  Trace trace;
  multi_head_attention(X, X, weights);
  // [tensors]
  program.list(trace);
  program.save(trace);
}

void split(const Program& program) {
  program.section("split", "columns are cut, rows stay whole");
  const std::vector<std::string> tokens = {"token 0", "token 1"};
  // [split]
  const Matrix Q = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  const std::vector<Matrix> heads = split_heads(Q, 2);
  const Matrix memory = reshaped(Q, 4, 2);  // the same numbers in a row, cut after every second one
  // [split]
  print(program.out(), "Q", Q, tokens);
  print(program.out(), "head 0", heads[0], tokens);
  print(program.out(), "head 1", heads[1], tokens);
  print(program.out(), "cut by a reshape, \"head 0\"", rows_from(memory, 0, 2), {"token 0", "token 0"});
  print(program.out(), "cut by a reshape, \"head 1\"", rows_from(memory, 2, 2), {"token 1", "token 1"});
}

void apart(const Program& program) {
  program.section("apart", "h heads together, and h separate calls");
  Random random(15);
  const std::size_t h = 4, d = 8;
  const Matrix X = random.normal_matrix(5, d);
  const MultiHead weights = random_heads(random, X, h);
  Trace trace;
  const Matrix together = multi_head_attention(X, X, weights);
  // [apart]
  const std::vector<Matrix> W_Q = split_heads(weights.W_Q, h), W_K = split_heads(weights.W_K, h),
                            W_V = split_heads(weights.W_V, h);
  std::vector<Matrix> calls;
  for (std::size_t i = 0; i < h; ++i) calls.push_back(self_attention(X, {W_Q[i], W_K[i], W_V[i]}));
  const Matrix separate = product(concat(calls), weights.W_O);
  // [apart]
  Table table({"tensor", "largest difference"});
  for (std::size_t i = 0; i < h; ++i) {
    const std::string name = "head." + std::to_string(i) + ".output";
    table.add({name, fixed(largest_difference(trace[name], calls[i]))});
  }
  table.add({"output", fixed(largest_difference(together, separate))});
  table.print(program.out());
}

void mix(const Program& program, const Matrix& side_by_side) {
  program.section("mix", "W_O lets the heads meet");
  const std::vector<std::string> words = {"the", "cat", "sat", "down"};
  // [mix]
  const Matrix W_O = {{-1, 0.5},  // what the first head gives to each feature of the output
                      {1, 0.5}};  // what the second one gives
  const Matrix output = product(side_by_side, W_O);
  const Matrix of_head_1 = product(split_heads(side_by_side, 2)[0], rows_from(W_O, 0, 1));
  const Matrix of_head_2 = product(split_heads(side_by_side, 2)[1], rows_from(W_O, 1, 1));
  const Matrix sum = of_head_1 + of_head_2;
  // [mix]
  print(program.out(), "output = [head 1, head 2] W_O", output, words, {"step", "mean"});
  program.out() << "head 1 through its rows of W_O, plus head 2 through its own: largest difference "
                << fixed(largest_difference(output, sum)) << '\n';
}

void features(const Program& program) {
  program.section("features", "which features of a token does a head see?");
  Random random(16);
  const std::size_t d = 4, h = 2;
  const Matrix X = random.normal_matrix(3, d);
  const MultiHead weights = random_heads(random, X, h);
  const auto learned = [&](const Matrix& Y) {
    const std::vector<Matrix> Q = split_heads(project(Y, weights.W_Q), h),
                              K = split_heads(project(Y, weights.W_K), h),
                              V = split_heads(project(Y, weights.W_V), h);
    return std::vector<Matrix>{attention(Q[0], K[0], V[0]), attention(Q[1], K[1], V[1])};
  };
  const auto slices = [&](const Matrix& Y) {
    const std::vector<Matrix> part = split_heads(Y, h);
    return std::vector<Matrix>{attention(part[0], part[0], part[0]), attention(part[1], part[1], part[1])};
  };
  const std::vector<std::string> heads = {"head 0", "head 1"}, columns = {"x_0", "x_1", "x_2", "x_3"};
  print(program.out(), "projected, then cut: how fast each head moves with each feature", reach(X, learned), heads,
        columns);
  print(program.out(), "X itself cut: wrong", reach(X, slices), heads, columns);
  const std::vector<std::size_t> order = {2, 0, 3, 1};
  Matrix shuffled = X;
  MultiHead same = weights;
  for (std::size_t c = 0; c < d; ++c) {
    xt::col(shuffled, c) = xt::col(X, order[c]);
    xt::row(same.W_Q, c) = xt::row(weights.W_Q, order[c]);
    xt::row(same.W_K, c) = xt::row(weights.W_K, order[c]);
    xt::row(same.W_V, c) = xt::row(weights.W_V, order[c]);
  }
  const Matrix one = multi_head_attention(X, X, weights), other = multi_head_attention(shuffled, shuffled, same);
  program.out() << "features shuffled, and the rows of the matrices with them: largest difference "
                << fixed(largest_difference(one, other)) << '\n';
}

std::uint64_t cost(const Program& program) {
  program.section("cost", "64 tokens of 512 features, counted");
  const std::size_t n = 64, d = 512;
  const Matrix X = xt::zeros<double>({n, d});
  Table table({"heads", "d_k", "multiply-adds", "learned numbers", "scores"});
  std::uint64_t of_one = 0;
  for (const auto& [h, d_k] :
       std::vector<std::pair<std::size_t, std::size_t>>{{1, 512}, {2, 256}, {8, 64}, {8, 512}}) {
    // [cost]
    const MultiHead weights = empty_heads(h, d, d_k);
    const MultiplyAdds counter;
    multi_head_attention(X, X, weights);
    const std::uint64_t counted = counter.count();
    // [cost]
    if (h == 1) of_one = counted;
    table.add({std::to_string(h), std::to_string(d_k), with_commas(counted),
               with_commas(3 * weights.W_Q.size() + weights.W_O.size()), with_commas(h * n * n)});
  }
  table.print(program.out());
  program.out() << "4nd² + 2n²d = " << with_commas(4 * n * d * d + 2 * n * n * d) << '\n';
  return of_one;
}

/// A row for each head: where one word looks; and the picture of all heads.
void show_heads(const Program& program, const Trace& trace, std::size_t h, const std::vector<std::string>& words,
                std::size_t word) {
  std::vector<Panel> pictures;
  Table table({"head", words[word] + " looks most at", "weight"});
  Vector mean = xt::zeros<double>({words.size()});
  const auto add = [&](const std::string& name, const Vector& row) {
    const auto most = static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
    table.add({name, words[most], fixed(row(most), 3)});
  };
  for (std::size_t i = 0; i < h; ++i) {
    const Matrix& A = trace["head." + std::to_string(i) + ".weights"];
    const Vector row = xt::row(A, word);
    mean += row / static_cast<double>(h);
    add(std::to_string(i), row);
    pictures.push_back({"head " + std::to_string(i), A});
  }
  add("the mean of all", mean);
  table.print(program.out());
  program.draw("heads.svg",
               panels("Every head has its own weights (random, not trained)", pictures, words, words));
}

void eight(const Program& program) {
  program.section("eight", "eight random heads on eight words");
  const std::vector<std::string> words = split_words("the cat sat on the mat and slept");
  const Matrix X = letter_ngrams(words, 512, 2.0);
  Random random(17);
  const MultiHead weights = random_heads(random, X, 8);
  Trace trace;
  multi_head_attention(X, X, weights);
  show_heads(program, trace, 8, words, 1);
}

void refused(const Program& program) {
  program.section("refused", "when h does not divide the features");
  const auto complaint = [&](const auto& attempt) {
    try {
      attempt();
    } catch (const std::exception& error) {
      program.out() << error.what() << '\n';
    }
  };
  Config config;
  config.h = 3;  // d_model is 512
  complaint([&] { check(config); });
  complaint([] { split_heads(identity(8), 3); });
}

void mistakes(const Program& program) {
  program.section("mistakes", "heads merged by a reshape");
  // [merged]
  const Matrix a = {{1, 2}, {3, 4}}, b = {{5, 6}, {7, 8}};  // two heads, a row for each of two tokens
  const Matrix right = concat({a, b});
  const Matrix wrong = reshaped(Matrix(xt::concatenate(xt::xtuple(a, b), 0)), 2, 4);
  // [merged]
  print(program.out(), "merged", right, {"token 0", "token 1"});
  print(program.out(), "merged by a reshape: wrong", wrong, {"token 0", "token 1"});
}

void reduction(const Program& program) {
  program.section("reduction", "one head and W_O = identity give chapter 03 back");
  Random random(18);
  const Matrix X = random.normal_matrix(4, 6);
  const Projections one = {random.normal_matrix(6, 3), random.normal_matrix(6, 3), random.normal_matrix(6, 5)};
  // [reduction]
  const Matrix one_head = multi_head_attention(X, X, {1, one.W_Q, one.W_K, one.W_V, identity(5)});
  const Matrix chapter_3 = self_attention(X, one);
  // [reduction]
  program.out() << "largest difference: " << fixed(largest_difference(one_head, chapter_3)) << '\n';
}

void tour(const Program& program) {
  program.out() << "Chapter 04: several attentions side by side\n";
  const Matrix side_by_side = two_heads(program);
  one_row(program);
  tensors(program);
  split(program);
  apart(program);
  mix(program, side_by_side);
  features(program);
  const std::uint64_t multiply_adds = cost(program);
  eight(program);
  refused(program);
  mistakes(program);
  reduction(program);
  program.in_short(
      "Heads side by side: each word gets a row of weights from every head, and eight narrow heads cost " +
      with_commas(multiply_adds) + " multiply-adds for 64 tokens of 512 features, as one wide head does.");
}

void own(const Program& program, const OwnInput& input) {
  const std::size_t h = 8;
  Random random(2017);
  const MultiHead weights = random_heads(random, input.X, h);
  Trace trace;
  multi_head_attention(input.X, input.X, weights);
  program.section("tensors", "the heads are random, not trained");
  program.list(trace);
  program.section("eight", "eight heads on " + tokens(input.names.size()));
  show_heads(program, trace, h, input.names, input.names.size() - 1);
  program.save(trace);
  program.in_short("Eight random heads make " + std::to_string(h * input.names.size()) + " rows of weights for " +
                   tokens(input.names.size()) + "; nothing is trained yet.");
}

}  // namespace

int main(int argc, char** argv) {
  return run_chapter(argc, argv, {"04", "Multi-head", "several attentions side by side."}, tour, own);
}
