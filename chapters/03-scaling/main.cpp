// Chapter 03: scaled dot-product attention, softmax(Q Kᵀ / √d_k) V, and why it is scaled.
#include <cmath>
#include <cstdio>
#include <ostream>

#include "attn/core/random.hpp"
#include "attn/core/shape.hpp"
#include "attn/core/table.hpp"
#include "attn/drawing/chart.hpp"
#include "attn/drawing/heat_map.hpp"
#include "attn/reference/scaling.hpp"
#include "attn/reference/similarity.hpp"
#include "measure.hpp"
#include "program.hpp"

using namespace attn;

namespace {

/// With four decimals, or as 1.1e-07 where those would hide it.
std::string small(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", value);
  return value < 0.001 ? text : fixed(value);
}

void equation(const Program& program) {
  program.section("equation", "equation (1) of the paper, on small matrices");
  // [equation]
  const Matrix Q = {{1, 0}, {0, 1}};
  const Matrix K = {{1, 0}, {0, 1}, {1, 1}};
  const Matrix V = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 1}};
  Trace trace;
  const Matrix output = attention(Q, K, V);
  // [equation]
  print(program.out(), "scores = Q Kᵀ", trace["scores"]);
  print(program.out(), "scaled_scores = scores / √2", trace["scaled_scores"]);
  print(program.out(), "weights", trace["weights"]);
  print(program.out(), "output", output);
  program.save(trace);
}

void last_two_steps(const Program& program, const Matrix& A, const Matrix& V) {
  // [last_two_steps]
  Matrix shares(V.shape());
  for (std::size_t j = 0; j < V.shape(0); ++j) {
    xt::row(shares, j) = A(0, j) * xt::row(V, j);  // step 6
  }
  const Vector output = xt::sum(shares, {0});  // step 7
  // [last_two_steps]
  std::vector<std::string> names;
  for (std::size_t j = 0; j < V.shape(0); ++j) names.push_back(fixed(A(0, j)) + " v" + std::to_string(j + 1));
  print(program.out(), "step 6 for the first token: its weights, each times a value", shares, names);
  print(program.out(), "step 7: their sum", Matrix(xt::view(output, xt::newaxis(), xt::all())));
}

void seven_steps(const Program& program) {
  program.section("steps", "the seven steps, and the tensor of each");
  Random random(5);
  const Matrix X = random.normal_matrix(4, 8);
  const double deviation = 1.0 / std::sqrt(8.0);
  const Projections weights = {random.normal_matrix(8, 2, deviation), random.normal_matrix(8, 2, deviation),
                               random.normal_matrix(8, 3, deviation)};
  Trace trace;
  self_attention(X, weights);
  const auto shape_of = [&](std::string_view name) { return shape_text(trace[name]); };
  Table table({"step", "what", "tensor", "shape"});
  table.add({"1", "words to vectors", "X", shape_of("X")});
  table.add({"2", "a query for each", "Q", shape_of("Q")});
  table.add({"2", "a key for each", "K", shape_of("K")});
  table.add({"2", "a value for each", "V", shape_of("V")});
  table.add({"3", "a score for each pair", "scores", shape_of("scores")});
  table.add({"4", "divided by √d_k", "scaled_scores", shape_of("scaled_scores")});
  table.add({"5", "softmax over the keys", "weights", shape_of("weights")});
  table.add({"6", "each value times its weight", "(inside the product)", ""});
  table.add({"7", "added up", "output", shape_of("output")});
  table.print(program.out());
  last_two_steps(program, trace["weights"], trace["V"]);
  print(program.out(), "the same row of weights V", Matrix(xt::view(trace["output"], xt::range(0, 1), xt::all())));
}

void variance(const Program& program) {
  program.section("variance", "an inner product of d_k terms has variance d_k");
  Random random(11);
  Table table({"d_k", "mean of q·k", "variance", "variance of q·k/√d_k", "mean when k = q"});
  for (const std::size_t d : {4, 16, 64, 256}) {
    const Moments apart = inner_products(random, d, false), same = inner_products(random, d, true);
    table.add({std::to_string(d), fixed(apart.mean, 1), fixed(apart.variance, 1),
               fixed(apart.variance / static_cast<double>(d), 2), fixed(same.mean, 1)});
  }
  table.print(program.out());
}

void saturation(const Program& program) {
  program.section("saturation", "ten normal scores, small and large");
  Random random(7);
  Table table({"size of the scores", "largest weight", "size of the Jacobian"});
  std::vector<std::string> sizes;
  Curve largest{"largest of 10 weights", {}}, jacobian{"size of softmax's Jacobian (Frobenius norm)", {}};
  for (const int size : {1, 2, 4, 8, 16, 32}) {
    Sharpness mean;
    const int draws = 4000;
    for (int n = 0; n < draws; ++n) add_share(mean, sharpness(random.normal_matrix(1, 10, size)), draws);
    sizes.push_back(std::to_string(size));
    largest.y.push_back(mean.largest);
    jacobian.y.push_back(mean.jacobian);
    table.add({sizes.back(), fixed(mean.largest, 2), fixed(mean.jacobian, 3)});
  }
  table.print(program.out());
  program.draw("saturation.svg", chart("Large scores: softmax chooses, and then no longer answers",
                                       "standard deviation of the scores", sizes, {largest, jacobian}, 1.0));
}

void two(const Program& program) {
  program.section("two", "two scores, z and 0: the derivative of the weight is p (1 - p)");
  Table table({"z", "p", "p (1 - p)"});
  for (const int z : {0, 1, 2, 4, 8, 16}) {
    const Matrix p = softmax({{static_cast<double>(z), 0}});
    table.add({std::to_string(z), fixed(p(0, 0)), small(p(0, 0) * p(0, 1))});
  }
  table.print(program.out());
}

void jacobian(const Program& program) {
  program.section("jacobian", "the formula against central differences");
  const Matrix s = {{2, -1, 0}};
  const Matrix J = softmax_jacobian(xt::row(softmax(s), 0));
  // [central]
  const double step = 1e-5;
  Matrix measured({3, 3});
  for (std::size_t j = 0; j < 3; ++j) {
    Matrix above = s, below = s;
    above(0, j) += step;
    below(0, j) -= step;
    const Matrix slope = (softmax(above) - softmax(below)) / (2 * step);
    xt::col(measured, j) = xt::row(slope, 0);
  }
  // [central]
  print(program.out(), "weights", softmax(s));
  print(program.out(), "how the weights (rows) answer to the scores (columns)", J);
  program.out() << "largest difference from what is measured: " << fixed(xt::amax(xt::abs(J - measured))())
                << '\n';
}

Effect scale(const Program& program) {
  program.section("scale", "with 1/√d_k, sharpness no longer grows with d_k");
  Random random(8);
  Table table({"d_k", "largest weight", "scaled", "Jacobian", "scaled"});
  std::vector<std::string> widths;
  Curve unscaled{"softmax(q·k)", {}}, scaled{"softmax(q·k/√d_k)", {}};
  Effect at_64;
  for (const int d_k : {1, 4, 16, 64, 256, 1024}) {
    const Effect effect = effect_of_scale(random, static_cast<std::size_t>(d_k));
    if (d_k == 64) at_64 = effect;
    widths.push_back(std::to_string(d_k));
    unscaled.y.push_back(effect.unscaled.jacobian);
    scaled.y.push_back(effect.scaled.jacobian);
    table.add({widths.back(), fixed(effect.unscaled.largest, 2), fixed(effect.scaled.largest, 2),
               fixed(effect.unscaled.jacobian, 3), fixed(effect.scaled.jacobian, 3)});
  }
  table.print(program.out());
  program.draw("scaling.svg",
               chart("How much softmax still answers to its scores", "d_k", widths, {unscaled, scaled}, 0.4));
  return at_64;
}

void folklore(const Program& program) {
  program.section("folklore", "does attention look too much at itself?");
  const std::size_t n = 10, d = 64;
  const int draws = 200;
  Random random(9);
  double raw = 0.0, scaled = 0.0, projected = 0.0;
  // [folklore]
  const double root = std::sqrt(static_cast<double>(d));
  for (int draw = 0; draw < draws; ++draw) {
    const Matrix X = random.normal_matrix(n, d);
    const Matrix Q = project(X, random.normal_matrix(d, d, 1.0 / root));
    const Matrix K = project(X, random.normal_matrix(d, d, 1.0 / root));
    raw += mean_diagonal(softmax(similarity_scores(X))) / draws;
    scaled += mean_diagonal(softmax(similarity_scores(X) / root)) / draws;
    projected += mean_diagonal(softmax(product(Q, transpose(K)) / root)) / draws;
  }
  // [folklore]
  Table table({"weights", "mean weight on itself"});
  table.add({"softmax(XXᵀ)", fixed(raw, 3)});
  table.add({"softmax(XXᵀ/√d)", fixed(scaled, 3)});
  table.add({"softmax(QKᵀ/√d), random W_Q, W_K", fixed(projected, 3)});
  table.add({"uniform, 1/n", fixed(1.0 / static_cast<double>(n), 3)});
  table.print(program.out());
}

void mistakes(const Program& program) {
  program.section("mistakes", "scaled by the wrong number, or in the wrong place");
  const double d_k = 64, d_model = 512;
  const auto softmax_of = [](double difference) { return softmax({{difference, 0}}); };
  print(program.out(), "a score difference of 8, divided by √d_k = 8", softmax_of(8 / std::sqrt(d_k)));
  print(program.out(), "not divided: too sharp", softmax_of(8));
  print(program.out(), "divided by √d_model, the width of all 8 heads: too flat",
        softmax_of(8 / std::sqrt(d_model)));
  print(program.out(), "divided by d_k: too flat", softmax_of(8 / d_k));
  const Matrix late = softmax_of(8) / std::sqrt(d_k);
  print(program.out(), "divided after softmax: not shares any more", late);
  program.out() << "sum of that row: " << fixed(xt::sum(late)()) << '\n';
}

void reduction(const Program& program) {
  program.section("reduction", "scale 1 gives chapter 02 back");
  const Matrix Q = {{1, 2}, {0, 1}}, K = {{1, 0}, {0, 1}, {1, 1}}, V = {{1, 0}, {0, 1}, {2, 2}};
  // [reduction]
  const Matrix scale_1 = scaled_attention(Q, K, V, 1.0);
  const Matrix unscaled = dot_product_attention(Q, K, V);
  // [reduction]
  program.out() << "largest difference: " << fixed(xt::amax(xt::abs(scale_1 - unscaled))()) << '\n';
}

void in_short(const Program& program, const Effect& at_64) {
  program.in_short("softmax(QKᵀ/√d_k)V: at d_k = 64 the scale takes the largest of 10 random weights from " +
                   fixed(at_64.unscaled.largest, 2) + " to " + fixed(at_64.scaled.largest, 2) +
                   ", and softmax's Jacobian from " + fixed(at_64.unscaled.jacobian, 3) + " to " +
                   fixed(at_64.scaled.jacobian, 3) + ".");
}

void tour(const Program& program) {
  program.out() << "Chapter 03: softmax(QKᵀ/√d_k)V\n";
  equation(program);
  seven_steps(program);
  variance(program);
  saturation(program);
  two(program);
  jacobian(program);
  const Effect at_64 = scale(program);
  folklore(program);
  mistakes(program);
  reduction(program);
  in_short(program, at_64);
}

void own(const Program& program, const OwnInput& input) {
  const std::size_t d_model = input.X.shape(1);
  // As large as it takes for queries and keys to have variance 1, which is what the scale counts on.
  const double length = std::sqrt(xt::sum(input.X * input.X)() / static_cast<double>(input.X.shape(0)));
  const double deviation = length > 0.0 ? 1.0 / length : 1.0;
  Random random(2017);
  const Projections weights = {random.normal_matrix(d_model, d_model, deviation),
                               random.normal_matrix(d_model, d_model, deviation),
                               random.normal_matrix(d_model, d_model, deviation)};
  Trace trace;
  self_attention(input.X, weights);
  program.section("tensors", "the projections are random, not trained");
  program.list(trace);
  program.section("weights", "who looks at whom");
  print(program.out(), "weights = softmax(Q Kᵀ/√d_k)", trace["weights"], input.names, input.names);
  program.draw("weights.svg",
               heat_map(trace["weights"], {"softmax(QKᵀ/√d_k): who looks at whom", input.names, input.names}));
  program.save(trace);
  program.in_short("The largest weight among " + tokens(input.names.size()) + " is " +
                   fixed(xt::amax(trace["weights"])(), 3) + "; nothing is trained yet.");
}

}  // namespace

int main(int argc, char** argv) {
  return run_chapter(argc, argv, {"03", "Scaling", "softmax(QKᵀ/√d_k)V, and why it is scaled."}, tour, own);
}
