// Chapter 02: queries, keys and values, softmax(Q Kᵀ) V.
#include <cmath>
#include <ostream>
#include <stdexcept>

#include "attn/core/random.hpp"
#include "attn/core/shape.hpp"
#include "attn/core/table.hpp"
#include "attn/drawing/diagram.hpp"
#include "attn/drawing/heat_map.hpp"
#include "attn/reference/projections.hpp"
#include "attn/reference/similarity.hpp"
#include "program.hpp"

using namespace attn;

namespace {

const std::vector<std::string> names = {"x1", "x2", "x3"};
const Matrix X = {{1, 0}, {0, 1}, {1, 1}};

void lookup(const Program& program) {
  program.section("lookup", "a dictionary that answers with a mixture");
  const Matrix K = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const Matrix V = {{10}, {20}, {60}};
  Table table({"query", "weights", "answer"});
  for (const double sharpness : {1.0, 4.0, 16.0}) {
    // [lookup]
    const Matrix Q = {{0, sharpness, 0}};
    Trace trace;
    const Matrix answer = dot_product_attention(Q, K, V);
    // [lookup]
    const Matrix& A = trace["weights"];
    table.add({"(0, " + fixed(sharpness, 0) + ", 0)", fixed(A(0, 0)) + " " + fixed(A(0, 1)) + " " + fixed(A(0, 2)),
               fixed(answer(0, 0), 2)});
  }
  table.print(program.out());
}

void order(const Program& program) {
  program.section("order", "keys and values in another order");
  // [order]
  const Matrix Q = {{1, 0}, {0, 1}};
  const Matrix K = {{1, 0}, {0, 1}, {1, 1}}, K_reversed = {{1, 1}, {0, 1}, {1, 0}};
  const Matrix V = {{1}, {2}, {5}}, V_reversed = {{5}, {2}, {1}};
  // [order]
  print(program.out(), "as they stand", dot_product_attention(Q, K, V));
  print(program.out(), "keys and values reversed", dot_product_attention(Q, K_reversed, V_reversed));
  print(program.out(), "only the keys reversed", dot_product_attention(Q, K_reversed, V));
}

void asymmetry(const Program& program) {
  program.section("asymmetry", "x1 may score x2 without being scored by it");
  // [asymmetry]
  const Matrix W_Q = {{1, 0}, {0, 0}};  // asks with the first feature
  const Matrix W_K = {{0, 0}, {1, 0}};  // is found by the second
  const Matrix Q = project(X, W_Q);
  const Matrix K = project(X, W_K);
  const Matrix scores = product(Q, transpose(K));
  // [asymmetry]
  const Matrix shared = product(Q, transpose(project(X, W_Q)));
  print(program.out(), "Q = X W_Q", Q, names);
  print(program.out(), "K = X W_K", K, names);
  print(program.out(), "scores = Q Kᵀ", scores, names, names);
  print(program.out(), "X Xᵀ, for comparison", similarity_scores(X), names, names);
  print(program.out(), "X W_Q (X W_Q)ᵀ, one matrix for both", shared, names, names);
  program.draw("scores.svg", heat_map(scores, {"QKᵀ is not symmetric", names, names}));
}

void query(const Program& program) {
  program.section("query", "one entry of Q, by hand");
  const Matrix W_Q = {{2, -1, 0}, {1, 3, 1}};
  const Matrix Q = project(X, W_Q);
  print(program.out(), "W_Q", W_Q);
  print(program.out(), "Q = X W_Q", Q, names);
  program.out() << "Q(2, 1) = X(2, 0) W_Q(0, 1) + X(2, 1) W_Q(1, 1) = 1 * -1 + 1 * 3 = " << fixed(Q(2, 1), 0)
                << '\n';
}

void linear(const Program& program) {
  program.section("linear", "a projection is a linear map");
  Random random(2);
  const Matrix A = random.normal_matrix(3, 4), B = random.normal_matrix(3, 4), W = random.normal_matrix(4, 5);
  // [linear]
  const Matrix together = project(Matrix(2.0 * A + 3.0 * B), W);
  const Matrix apart = 2.0 * project(A, W) + 3.0 * project(B, W);
  // [linear]
  program.out() << "largest difference of the two sides: " << fixed(max_difference(together, apart)) << '\n';
  const double bias = 1.0;
  const Matrix together_biased = together + bias, apart_biased = apart + (2.0 + 3.0) * bias;
  program.out() << "after adding 1 to each entry of every projection: "
                << fixed(max_difference(together_biased, apart_biased)) << '\n';
}

void seven(const Program& program) {
  program.section("seven", "seven tensors, from X to the output");
  Random random(3);
  // [seven]
  const Matrix tokens = random.normal_matrix(4, 3);
  const Matrix W_Q = random.normal_matrix(3, 2), W_K = random.normal_matrix(3, 2);
  const Matrix W_V = random.normal_matrix(3, 5);
  Trace trace;
  const Matrix output = projected_attention(tokens, {W_Q, W_K, W_V});
  // [seven]
  program.list(trace);
  print(program.out(), "weights", trace["weights"]);
  print(program.out(), "output", output);
  program.save(trace);
  program.draw("flow.svg", diagram("Where each tensor comes from",
                                   {{"X", "(n, d_model)", 0, 1},
                                    {"Q", "(n, d_k)", 1, 0},
                                    {"K", "(n, d_k)", 1, 1},
                                    {"V", "(n, d_v)", 1, 2},
                                    {"scores", "(n, n)", 2, 0.5},
                                    {"weights", "(n, n)", 3, 0.5},
                                    {"output", "(n, d_v)", 4, 1.25}},
                                   {{0, 1, "W_Q"},
                                    {0, 2, "W_K"},
                                    {0, 3, "W_V"},
                                    {1, 4, ""},
                                    {2, 4, ""},
                                    {4, 5, "softmax"},
                                    {5, 6, ""},
                                    {3, 6, ""}}));
}

void shapes(const Program& program) {
  program.section("shapes", "M queries, N keys, D features to compare, F to carry");
  const Matrix Q = {{1, 0}, {0, 1}};
  const Matrix K = {{1, 0}, {0, 1}, {1, 1}};
  const Matrix V = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 1}};
  const Matrix output = dot_product_attention(Q, K, V);
  program.out() << "Q " << shape_text(Q) << ", K " << shape_text(K) << ", V " << shape_text(V) << "  ->  output "
                << shape_text(output) << '\n';
  print(program.out(), "output", output);
}

/// The message with which a call refuses what it was given.
std::string refusal(const Matrix& Q, const Matrix& K, const Matrix& V) {
  try {
    dot_product_attention(Q, K, V);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

void refused(const Program& program) {
  program.section("refused", "what does not fit");
  const Matrix Q = xt::ones<double>({2, 2}), K = xt::ones<double>({3, 2}), V = xt::ones<double>({3, 4});
  const Matrix longer_keys = xt::ones<double>({3, 5}), one_value = xt::ones<double>({1, 4});
  program.out() << "keys longer than the queries:  " << refusal(Q, longer_keys, V) << '\n'
                << "three keys and one value:      " << refusal(Q, K, one_value) << '\n';
}

void reach(const Program& program) {
  program.section("reach", "every output depends on every input");
  Random random(4);
  Matrix tokens = random.normal_matrix(4, 3);
  const Projections weights = {random.normal_matrix(3, 2, 0.5), random.normal_matrix(3, 2, 0.5),
                               random.normal_matrix(3, 3)};
  const Matrix before = projected_attention(tokens, weights);
  Matrix change({4, 4});
  // [reach]
  for (std::size_t j = 0; j < 4; ++j) {
    Matrix moved = tokens;
    xt::row(moved, j) += 1e-6;
    const Matrix after = projected_attention(moved, weights);
    const Matrix speed = (after - before) / 1e-6;
    for (std::size_t i = 0; i < 4; ++i) change(i, j) = norm(xt::row(speed, i));
  }
  // [reach]
  print(program.out(), "how fast output i moves when token j moves", change, {"b1", "b2", "b3", "b4"},
        {"a1", "a2", "a3", "a4"});
}

void conventions(const Program& program) {
  program.section("conventions", "tokens as rows, or tokens as columns");
  const Matrix Q = {{1, 2}, {0, 1}, {3, 1}}, K = {{1, 0}, {0, 1}, {1, 1}};
  // [conventions]
  const Matrix rows = product(Q, transpose(K));  // (i, j): query i, key j
  const Matrix Q_columns = transpose(Q);         // a token is a column now
  const Matrix K_columns = transpose(K);
  const Matrix columns = product(transpose(K_columns), Q_columns);  // (j, i)
  // [conventions]
  print(program.out(), "rows: Q Kᵀ", rows);
  print(program.out(), "columns: Kᵀ Q", columns);
  program.out() << "largest difference of Q Kᵀ and (Kᵀ Q)ᵀ: " << fixed(max_difference(rows, transpose(columns)))
                << '\n';
  const Matrix S = {{1, 0}, {1, 0}};
  print(program.out(), "softmax over the keys", softmax(S));
  print(program.out(), "softmax over the queries: wrong", transpose(softmax(transpose(S))));
}

void reduction(const Program& program) {
  program.section("reduction", "with identity projections, chapter 01 comes back");
  // [reduction]
  const Projections nothing = {identity(2), identity(2), identity(2)};
  const Matrix projected = projected_attention(X, nothing);
  const Matrix plain = similarity_attention(X);
  // [reduction]
  program.out() << "largest difference: " << fixed(max_difference(projected, plain)) << '\n';
  program.in_short(
      "softmax(QKᵀ)V: three linear maps let a token ask, answer and carry different things; seven "
      "tensors, and chapter 01 back at identity projections.");
}

void tour(const Program& program) {
  program.out() << "Chapter 02: softmax(QKᵀ)V\n";
  lookup(program);
  order(program);
  asymmetry(program);
  query(program);
  linear(program);
  seven(program);
  shapes(program);
  refused(program);
  reach(program);
  conventions(program);
  reduction(program);
}

void own(const Program& program, const OwnInput& input) {
  const std::size_t d_model = input.X.shape(1);
  const double deviation = 1.0 / std::sqrt(static_cast<double>(d_model));
  Random random(2017);
  const Projections weights = {random.normal_matrix(d_model, d_model, deviation),
                               random.normal_matrix(d_model, d_model, deviation),
                               random.normal_matrix(d_model, d_model, deviation)};
  Trace trace;
  projected_attention(input.X, weights);
  program.section("seven", "seven tensors; the projections are random, not trained");
  program.list(trace);
  program.section("weights", "who looks at whom");
  print(program.out(), "weights = softmax(Q Kᵀ)", trace["weights"], input.names, input.names);
  program.draw("weights.svg",
               heat_map(trace["weights"], {"softmax(QKᵀ): who looks at whom", input.names, input.names}));
  program.save(trace);
  program.in_short("With random projections, among " + tokens(input.names.size()) + " each gives itself " +
                   fixed(mean_diagonal(trace["weights"]), 3) +
                   " of its weight, on average; even shares would be " +
                   fixed(1.0 / static_cast<double>(input.names.size()), 3) + ".");
}

}  // namespace

int main(int argc, char** argv) {
  return run_chapter(argc, argv, {"02", "Projections", "queries, keys and values, softmax(QKᵀ)V."}, tour, own);
}
