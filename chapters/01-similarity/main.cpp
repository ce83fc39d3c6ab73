// Chapter 01: softmax(X Xᵀ) X, attention with nothing learned.
#include <algorithm>
#include <cmath>
#include <ostream>

#include "attn/core/random.hpp"
#include "attn/core/table.hpp"
#include "attn/drawing/heat_map.hpp"
#include "attn/reference/similarity.hpp"
#include "pictures.hpp"
#include "program.hpp"

using namespace attn;

namespace {

void scores(const Program& program) {
  program.section("scores", "every row against every row");
  // [tokens]
  const std::vector<std::string> names = {"x1", "x2", "x3"};
  const Matrix X = {{1, 0}, {0, 1}, {1, 1}};
  // [tokens]
  Trace trace;
  similarity_attention(X);
  print(program.out(), "X", trace["X"], names);
  print(program.out(), "scores = X Xᵀ", trace["scores"], names, names);
  program.section("weights", "each row to shares that sum to 1");
  print(program.out(), "weights = softmax(scores)", trace["weights"], names, names);
  program.section("output", "a mixture of the rows");
  print(program.out(), "output = weights X", trace["output"], names);
  // [one_output_row]
  const Matrix& A = trace["weights"];
  Vector mixture = xt::zeros<double>({X.shape(1)});
  for (std::size_t j = 0; j < X.shape(0); ++j) mixture += A(0, j) * xt::row(X, j);
  // [one_output_row]
  program.out() << "row x1 by hand: " << fixed(A(0, 0)) << " x1 + " << fixed(A(0, 1)) << " x2 + " << fixed(A(0, 2))
                << " x3 = (" << fixed(mixture(0)) << ", " << fixed(mixture(1)) << ")\n";
  program.out() << "one row times one column: " << fixed(mixture(0)) << ", a single number\n";
  program.draw("weights.svg", heat_map(A, {"softmax(XXᵀ): who looks at whom", names, names}));
  program.save(trace);
}

void inner_product(const Program& program) {
  program.section("product", "what an inner product measures");
  struct Pair {
    std::string name;
    Vector a, b;
  };
  const std::vector<Pair> pairs = {{"(10, 0) and (1, 1)", {10, 0}, {1, 1}},
                                   {"(1, 1) and (1, 1)", {1, 1}, {1, 1}},
                                   {"(1, 0) and (0, 1)", {1, 0}, {0, 1}},
                                   {"(1, 0) and (-1, 0)", {1, 0}, {-1, 0}}};
  Table table({"a and b", "a·b", "cosine", "projection of a on b", "times |b|"});
  for (const auto& [name, a, b] : pairs) {
    const double projection = norm(a) * cosine(a, b);
    table.add({name, fixed(dot(a, b), 1), fixed(cosine(a, b)), fixed(projection), fixed(projection * norm(b), 1)});
  }
  table.print(program.out());
  program.draw("product.svg", inner_product_picture());
}

void length(const Program& program) {
  program.section("length", "a long vector is looked at by all that lean its way");
  const std::vector<std::string> names = {"x1", "x2", "10 x3"};
  const Matrix X = {{1, 0}, {0, 1}, {10, 10}};
  print(program.out(), "weights", softmax(similarity_scores(X)), names, names);
  const Matrix Y = {{10, 0}, {0, 1}, {1, 1}};
  print(program.out(), "weights", softmax(similarity_scores(Y)), {"10 x1", "x2", "x3"}, {"10 x1", "x2", "x3"});
}

void softmax_properties(const Program& program) {
  program.section("softmax", "more than making rows sum to 1");
  // [softmax_rows]
  const Matrix s = {{2, -1, 0}};
  const Matrix by_sum = s / xt::sum(s)();
  const Matrix shifted = s + 100.0;
  // [softmax_rows]
  print(program.out(), "scores", s);
  print(program.out(), "divided by their sum", by_sum);
  print(program.out(), "softmax", softmax(s));
  print(program.out(), "softmax(scores + 100)", softmax(shifted));
  print(program.out(), "softmax(1000, 1001)", softmax({{1000, 1001}}));
  const double overflow = std::exp(1000.0) / (std::exp(1000.0) + std::exp(1001.0));
  program.out() << "e^1000 / (e^1000 + e^1001) as it stands on paper: " << (std::isnan(overflow) ? "NaN" : "?")
                << '\n';
  print(program.out(), "softmax(1, 0), two vectors at a right angle", softmax({{1, 0}}));
}

void peaked(const Program& program) {
  program.section("peaked", "three words of the size of real features");
  const std::vector<std::string> names = {"早", "上", "好"};
  const Matrix X = {{1, 3, 2}, {1, 1, 3}, {1, 2, 1}};
  Trace trace;
  similarity_attention(X);
  print(program.out(), "scores", trace["scores"], names, names);
  print(program.out(), "weights", trace["weights"], names, names);
  print(program.out(), "output", trace["output"], names);
}

void self(const Program& program) {
  program.section("self", "raw XXᵀ looks at itself, measured");
  Random random(1);
  Table table({"d", "mean weight on itself", "largest weight on another"});
  double diagonal = 0.0;
  for (const std::size_t d : {1, 4, 16, 64}) {
    // [self]
    double itself = 0.0, another = 0.0;
    const int draws = 100;
    for (int draw = 0; draw < draws; ++draw) {
      Matrix A = softmax(similarity_scores(random.normal_matrix(10, d)));
      itself += mean_diagonal(A) / draws;
      for (std::size_t i = 0; i < 10; ++i) A(i, i) = 0.0;
      another = std::max(another, xt::amax(A)());
    }
    // [self]
    table.add({std::to_string(d), fixed(itself, 3), fixed(another, 3)});
    diagonal = itself;
  }
  table.print(program.out());
  program.in_short("softmax(XXᵀ)X mixes every row with the rows that lean its way; at d = 64 a random row gives " +
                   fixed(diagonal, 3) + " of its weight to itself.");
}

void tour(const Program& program) {
  program.out() << "Chapter 01: softmax(XXᵀ)X\n";
  scores(program);
  inner_product(program);
  length(program);
  softmax_properties(program);
  peaked(program);
  self(program);
}

void own(const Program& program, const OwnInput& input) {
  Trace trace;
  similarity_attention(input.X);
  program.section("scores", "every row against every row");
  print(program.out(), "scores = X Xᵀ", trace["scores"], input.names, input.names);
  program.section("weights", "each row to shares that sum to 1");
  print(program.out(), "weights = softmax(scores)", trace["weights"], input.names, input.names);
  program.draw("weights.svg",
               heat_map(trace["weights"], {"softmax(XXᵀ): who looks at whom", input.names, input.names}));
  program.save(trace);
  program.in_short("Among " + tokens(input.names.size()) + " each gives itself " +
                   fixed(mean_diagonal(trace["weights"]), 3) + " of its weight, on average.");
}

}  // namespace

int main(int argc, char** argv) {
  return run_chapter(argc, argv, {"01", "Similarity", "attention with nothing learned, softmax(XXᵀ)X."}, tour,
                     own);
}
