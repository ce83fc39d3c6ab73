// Chapter 08: the layers of the encoder and the decoder, LN(x + F(x)), and everything in them but attention.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "attn/core/shape.hpp"
#include "attn/core/table.hpp"
#include "attn/core/trace.hpp"
#include "attn/drawing/chart.hpp"
#include "attn/drawing/heat_map.hpp"
#include "measure.hpp"
#include "pictures.hpp"
#include "program.hpp"

using namespace attn;

namespace {

/// The same model with another order, or another norm.
Dialect with(void (*change)(Dialect&)) {
  Dialect dialect;
  change(dialect);
  return dialect;
}

const Dialect post;
const Dialect pre = with([](Dialect& d) { d.pre_norm = true; });

/// Lists a trace without what each head traces: chapter 4 has shown that.
void list_without_heads(const Program& program, const Trace& trace, const std::string& scope) {
  Table table({"tensor", "shape"});
  for (const NamedMatrix& tensor : trace.tensors()) {
    if (tensor.name.rfind(scope, 0) != 0 || tensor.name.find("head.") != std::string::npos) continue;
    table.add({tensor.name, shape_text(tensor.value)});
  }
  table.print(program.out());
}

double collapse(const Program& program) {
  program.section("collapse", "how different ten tokens still are, layer by layer");
  const std::size_t n = 10, d = 16, layers = 6;
  const int draws = 50;
  std::vector<double> alone(layers + 1), normed(layers + 1), whole(layers + 1);
  Random random(81);
  for (int draw = 0; draw < draws; ++draw) {
    // [collapse]
    Matrix x = random.normal_matrix(n, d), y = x, z = x;
    for (std::size_t layer = 0; layer <= layers; ++layer) {
      alone[layer] += apartness(x) / draws;
      normed[layer] += apartness(y) / draws;
      whole[layer] += apartness(z) / draws;
      const EncoderLayer w = random_encoder_layer(random, 4, d, 32);
      x = multi_head_attention(x, x, w.self);
      y = layer_norm(multi_head_attention(y, y, w.self), w.self_norm);
      z = encoder_layer(z, w, full_mask(n, n));
    }
    // [collapse]
  }
  Table table({"layers", "attention alone", "attention and norm", "whole layer"});
  std::vector<std::string> names;
  for (std::size_t layer = 0; layer <= layers; ++layer) {
    names.push_back(std::to_string(layer));
    table.add({names.back(), fixed(alone[layer]), fixed(normed[layer]), fixed(whole[layer])});
  }
  table.print(program.out());
  program.draw(
      "collapse.svg",
      chart("How different the tokens still are", "layers", names,
            {{"attention alone", alone}, {"attention and norm, no residual", normed}, {"the whole layer", whole}},
            1.0));
  return whole.back();
}

// [absolute]
const FeedForward absolute = {{{1, 0, -1, 0}, {0, 1, 0, -1}},    // W_1: each number, and its negative
                              {{0, 0, 0, 0}},                    // b_1
                              {{1, 0}, {0, 1}, {1, 0}, {0, 1}},  // W_2: adds the two halves up
                              {{0, 0}}};                         // b_2
// [absolute]

void feed_forward_by_hand(const Program& program) {
  program.section("feed_forward", "two maps and a max between them make |x|");
  const std::vector<std::string> names = {"x1", "x2", "x3"}, turned_names = {"x3", "x1", "x2"};
  const Matrix x = {{3, -2}, {-1, 0}, {1, 2}}, turned = {{1, 2}, {3, -2}, {-1, 0}};
  Trace trace;
  print(program.out(), "x", x, names);
  const Matrix output = feed_forward(x, absolute);
  print(program.out(), "hidden = max(0, x W_1 + b_1)", trace["hidden"], names);
  print(program.out(), "output = hidden W_2 + b_2", output, names);
  print(program.out(), "output for the tokens in another order", feed_forward(turned, absolute), turned_names);
}

void convolutions(const Program& program) {
  program.section("convolution", "the same as two convolutions with kernel size 1");
  Random random(82);
  const Matrix x = random.normal_matrix(5, 4);
  const FeedForward w = random_feed_forward(random, 4, 8);
  // [two_convolutions]
  const Matrix hidden = relu(convolution(x, {w.W_1}, w.b_1));
  const Matrix output = convolution(hidden, {w.W_2}, w.b_2);
  // [two_convolutions]
  program.out() << "largest difference from feed_forward: " << fixed(max_difference(output, feed_forward(x, w)))
                << '\n';
  const std::vector<Matrix> three = {random.normal_matrix(4, 4), random.normal_matrix(4, 4),
                                     random.normal_matrix(4, 4)};
  Matrix moved = x;
  xt::row(moved, 1) += 1.0;
  const Matrix by_one = feed_forward(moved, w) - feed_forward(x, w);
  const Matrix by_three = convolution(moved, three, w.b_2) - convolution(x, three, w.b_2);
  Table table({"token", "size 1", "size 3"});
  for (std::size_t i = 0; i < 5; ++i) {
    table.add({"x" + std::to_string(i + 1), fixed(norm(xt::row(by_one, i))), fixed(norm(xt::row(by_three, i)))});
  }
  program.out() << "how far each output moves when x2 moves:\n";
  table.print(program.out());
}

void norm_by_hand(const Program& program) {
  program.section("norm", "one token, step by step");
  const Matrix x = {{1, 2, 3, 4}};
  // [by_hand]
  const double mean = xt::mean(x)();
  const Matrix apart = x - mean;
  const double variance = xt::mean(apart * apart)();
  const Matrix y = apart / std::sqrt(variance + 1e-6);
  // [by_hand]
  print(program.out(), "x", x);
  program.out() << "mean: " << fixed(mean, 1) << '\n';
  print(program.out(), "x - mean", apart);
  program.out() << "variance: " << fixed(variance, 2) << ", its root: " << fixed(std::sqrt(variance)) << '\n';
  print(program.out(), "y = (x - mean) / root", y);
  program.out() << "largest difference from layer_norm: " << fixed(max_difference(y, layer_norm(x, plain_norm(4))))
                << '\n';
  print(program.out(), "with gamma = (2, 1, 1, 1), beta = (0, 0, 0, 5)",
        layer_norm(x, {{{2, 1, 1, 1}}, {{0, 0, 0, 5}}}));
}

void forms(const Program& program) {
  program.section("forms", "what it divides by");
  const Dialect wide = with([](Dialect& d) { d.epsilon = 1e-5; });
  const Dialect annotated = with([](Dialect& d) { d.norm = NormForm::annotated; });
  Table table({"divided by", "ε", "first of (1, 0, 0, 0)", "the others", "first of (0.001, -0.001)"});
  const auto add = [&](const std::string& form, const std::string& epsilon, const Dialect& dialect) {
    const Matrix one = layer_norm({{1, 0, 0, 0}}, plain_norm(4), dialect);
    const Matrix tiny = layer_norm({{1e-3, -1e-3}}, plain_norm(2), dialect);
    table.add({form, epsilon, fixed(one(0, 0)), fixed(one(0, 1)), fixed(tiny(0, 0))});
  };
  add("√(variance + ε)", "1e-6", post);
  add("√(variance + ε)", "1e-5", wide);
  add("unbiased deviation + ε", "1e-6", annotated);
  table.print(program.out());
  print(program.out(), "a row that is constant", layer_norm({{7, 7, 7, 7}}, plain_norm(4)));
  const std::vector<float> far = {1000000, 1000001, 1000002, 1000003};
  program.out() << "variance of 1000000, ..., 1000003 in float, in two passes: " << fixed(two_passes(far), 2)
                << ", in one: " << fixed(one_pass(far), 2) << '\n';
}

void over_tokens(const Program& program) {
  program.section("over", "each token by itself, not the whole matrix");
  const Matrix X = {{1, 2, 3, 4}, {10, 20, 30, 40}};
  print(program.out(), "each row by itself: right", layer_norm(X, plain_norm(4)));
  // [over_all]
  const Matrix apart = X - xt::mean(X)();
  const Matrix over_all = apart / std::sqrt(xt::mean(apart * apart)() + 1e-6);
  // [over_all]
  print(program.out(), "over all numbers together: wrong", over_all);
}

void orders(const Program& program) {
  program.section("orders", "x = (1, 2, 3, 4), and F gives back what it gets");
  const Matrix x = {{1, 2, 3, 4}};
  // [orders]
  const auto F = [](const Matrix& z) { return z; };
  const Matrix after = sublayer("F", x, plain_norm(4), post, nullptr, F);
  const Matrix before = sublayer("F", x, plain_norm(4), pre, nullptr, F);
  // [orders]
  print(program.out(), "post-norm, LN(x + F(x))", after);
  print(program.out(), "pre-norm, x + F(LN(x))", before);
  program.draw("orders.svg", orders_picture());
}

void depth(const Program& program) {
  program.section("depth", "the size of a token after each of twelve layers");
  const std::size_t n = 10, d = 16;
  Random random(83);
  Matrix x = random.normal_matrix(n, d), y = x;
  Curve post_norm{"post-norm", {}}, pre_norm{"pre-norm", {}};
  std::vector<std::string> names;
  Table table({"layers", "post-norm", "pre-norm"});
  for (int layer = 0; layer <= 12; ++layer) {
    names.push_back(std::to_string(layer));
    post_norm.y.push_back(size_of(x));
    pre_norm.y.push_back(size_of(y));
    if (layer % 3 == 0) table.add({names.back(), fixed(post_norm.y.back(), 2), fixed(pre_norm.y.back(), 2)});
    const EncoderLayer w = random_encoder_layer(random, 4, d, 32);
    x = encoder_layer(x, w, full_mask(n, n), post);
    y = encoder_layer(y, w, full_mask(n, n), pre);
  }
  table.print(program.out());
  program.draw("depth.svg", chart("The size of a token: post-norm sets it, pre-norm lets it grow", "layers", names,
                                  {post_norm, pre_norm}, 6.0));
}

void dropping(const Program& program) {
  program.section("dropout", "p = 0.1: a tenth goes, the rest grows by a ninth");
  const std::size_t n = 1000;
  const Matrix ones = xt::ones<double>({n, n});
  // [dropping]
  Dropout dropout;  // p = 0.1
  const Matrix dropped = apply_dropout(ones, &dropout);
  // [dropping]
  const double zeros = xt::mean(xt::equal(dropped, 0.0))();
  program.out() << "share that is 0: " << fixed(zeros, 3) << '\n'
                << "each of the others: " << fixed(xt::amax(dropped)()) << '\n'
                << "mean: " << fixed(xt::mean(dropped)(), 3) << '\n'
                << "no dropout at evaluation, largest difference from X: "
                << fixed(max_difference(apply_dropout(ones, nullptr), ones)) << '\n';
  const Matrix row = xt::ones<double>({1, 8});
  for (const std::uint32_t step : {0u, 1u, 0u}) {
    Dropout half{.p = 0.5, .step = step};
    print(program.out(), "p = 0.5, step " + std::to_string(step), apply_dropout(row, &half));
  }
}

void sites(const Program& program) {
  program.section("sites", "how many places of a layer with two heads drop something");
  Random random(84);
  const EncoderLayer encoder = random_encoder_layer(random, 2, 8, 16);
  const DecoderLayer decoder = random_decoder_layer(random, 2, 8, 16);
  const Matrix x = random.normal_matrix(3, 8);
  Table table({"dialect", "encoder layer", "decoder layer"});
  for (const char* name : {"paper", "annotated"}) {
    Dropout in_encoder, in_decoder;
    encoder_layer(x, encoder, full_mask(3, 3), dialect(name), &in_encoder);
    decoder_layer(x, x, decoder, causal_mask(3), full_mask(3, 3), dialect(name), &in_decoder);
    table.add({name, std::to_string(in_encoder.next_site), std::to_string(in_decoder.next_site)});
  }
  table.print(program.out());
}

void layers(const Program& program) {
  const std::size_t n = 5, m = 3, d = 8;
  Random random(85);
  const EncoderLayer encoder = random_encoder_layer(random, 2, d, 16);
  const DecoderLayer decoder = random_decoder_layer(random, 2, d, 16);
  const Matrix source = random.normal_matrix(n, d), target = random.normal_matrix(m, d);
  Trace trace;
  // [layers]
  Matrix memory;
  {
    const TraceScope scope("encoder");
    memory = encoder_layer(source, encoder, full_mask(n, n));
  }
  const TraceScope scope("decoder");
  decoder_layer(target, memory, decoder, causal_mask(m), full_mask(m, n));
  // [layers]
  program.section("encoder", "what an encoder layer traces, but for the insides of its heads");
  list_without_heads(program, trace, "encoder.");
  program.section("decoder", "what a decoder layer traces, but for the insides of its heads");
  list_without_heads(program, trace, "decoder.");
  program.save(trace);
}

void mistakes(const Program& program) {
  program.section("mistakes", "how far each moves the output; the shape never tells");
  Random random(86);
  const std::size_t n = 4, d = 8;
  DecoderLayer w = random_decoder_layer(random, 2, d, 16);
  for (LayerNorm* norm : {&w.self_norm, &w.cross_norm, &w.feed_forward_norm}) {
    *norm = {1.0 + random.normal_matrix(1, d, 0.5), random.normal_matrix(1, d, 0.5)};
  }
  const Matrix x = random.normal_matrix(n, d), memory = random.normal_matrix(n, d);
  const Matrix right = decoder_layer(x, memory, w, causal_mask(n), full_mask(n, n));
  Table table({"mistake", "largest difference"});
  const auto add = [&](const std::string& mistake, const Matrix& wrong) {
    table.add({mistake, fixed(max_difference(wrong, right), 2)});
  };
  add("pre-norm for post-norm", decoder_layer(x, memory, w, causal_mask(n), full_mask(n, n), pre));
  DecoderLayer twice = w;
  twice.cross_norm = w.self_norm;
  add("the first norm again in place of the second",
      decoder_layer(x, memory, twice, causal_mask(n), full_mask(n, n)));
  const Matrix heard = multi_head_attention(x, x, w.self, under(causal_mask(n)));
  const Matrix seen = layer_norm(x + heard, w.self_norm);
  const auto rest = [&](const Matrix& asked) {
    return layer_norm(asked + feed_forward(asked, w.feed_forward), w.feed_forward_norm);
  };
  // [bypass]
  const Matrix bypassed = multi_head_attention(heard, memory, w.cross);  // right: from `seen`
  // [bypass]
  add("cross-attention asks from before the add and the norm", rest(layer_norm(seen + bypassed, w.cross_norm)));
  add("cross-attention looks at the target itself",
      rest(layer_norm(seen + multi_head_attention(seen, seen, w.cross), w.cross_norm)));
  add("no residual around cross-attention",
      rest(layer_norm(multi_head_attention(seen, memory, w.cross), w.cross_norm)));
  table.print(program.out());
  const Matrix one = {{1, 2, 3, 4}}, normed = layer_norm(one, plain_norm(4));
  print(program.out(), "pre-norm with F = 0: x comes out", one);
  print(program.out(), "the residual taken from the normed x: wrong", normed);
}

void reduction(const Program& program) {
  program.section("reduction", "with nothing learned inside, only the norms are left");
  Random random(87);
  const std::size_t n = 4, d = 8;
  const Matrix x = random.normal_matrix(n, d);
  // [reduction]
  EncoderLayer nothing = random_encoder_layer(random, 2, d, 16);
  nothing.self.W_O = xt::zeros<double>({d, d});                        // attention adds 0
  nothing.feed_forward.W_2 = xt::zeros<double>({std::size_t{16}, d});  // so does the feed-forward layer
  const Matrix after = encoder_layer(x, nothing, full_mask(n, n), post);
  const Matrix before = encoder_layer(x, nothing, full_mask(n, n), pre);
  // [reduction]
  program.out() << "post-norm, largest difference from LN(x): "
                << fixed(max_difference(after, layer_norm(x, plain_norm(d)))) << '\n'
                << "pre-norm, largest difference from x: " << fixed(max_difference(before, x)) << '\n';
}

void tour(const Program& program) {
  program.out() << "Chapter 08: LN(x + F(x))\n";
  const double kept = collapse(program);
  feed_forward_by_hand(program);
  convolutions(program);
  norm_by_hand(program);
  forms(program);
  over_tokens(program);
  orders(program);
  depth(program);
  dropping(program);
  sites(program);
  layers(program);
  mistakes(program);
  reduction(program);
  program.in_short("LN(x + F(x)): after six layers ten random tokens are still apart by " + fixed(kept, 2) +
                   "; after six attentions without residual, by 0.00.");
}

/// Each row's root of the mean square.
std::string row_size(const Matrix& X, std::size_t i) {
  return fixed(norm(xt::row(X, i)) / std::sqrt(static_cast<double>(X.shape(1))), 2);
}

void own(const Program& program, const OwnInput& input) {
  const auto [n, d] = shape(input.X);
  const double size = size_of(input.X);
  const Matrix x = size > 0.0 ? Matrix(input.X / size) : input.X;  // of the size that chapter 9 gives embeddings
  const std::size_t h = d % 8 == 0 ? 8 : 1;
  Random random(2017);
  const EncoderLayer weights = random_encoder_layer(random, h, d, std::min<std::size_t>(4 * d, 2048));
  Trace trace;
  encoder_layer(x, weights, full_mask(n, n));
  program.section("tensors", "an encoder layer; its weights are random, not trained");
  list_without_heads(program, trace, "");
  program.section("sizes", "what each part adds to each token");
  Table table({"token", "size before", "attention adds", "feed-forward adds", "size after"});
  for (std::size_t i = 0; i < n; ++i) {
    table.add({input.names[i], row_size(x, i), row_size(trace["self.output"], i),
               row_size(trace["feed_forward.output"], i), row_size(trace["output"], i)});
  }
  table.print(program.out());
  Matrix weight = xt::zeros<double>({n, n});
  for (std::size_t i = 0; i < h; ++i) {
    weight += trace["self.head." + std::to_string(i) + ".weights"] / static_cast<double>(h);
  }
  program.draw("weights.svg",
               heat_map(weight, {"Who looks at whom, the mean of all heads", input.names, input.names}));
  program.save(trace);
  program.in_short("An encoder layer with random weights took " + tokens(n) + " from an apartness of " +
                   fixed(apartness(x), 3) + " to " + fixed(apartness(trace["output"]), 3) + ".");
}

}  // namespace

int main(int argc, char** argv) {
  return run_chapter(
      argc, argv, {"08", "The layer", "feed-forward, residual, layer norm and dropout, LN(x + F(x))."}, tour, own);
}
