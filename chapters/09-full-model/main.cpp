// Chapter 09: the whole model, from the tokens of one sentence to the probabilities of the next word of another.
#include <algorithm>
#include <cmath>
#include <ostream>

#include "attn/core/errors.hpp"
#include "attn/core/shape.hpp"
#include "attn/core/table.hpp"
#include "attn/core/trace.hpp"
#include "attn/drawing/heat_map.hpp"
#include "attn/reference/greedy.hpp"
#include "attn/reference/positions.hpp"
#include "attn/reference/similarity.hpp"
#include "measure.hpp"
#include "pictures.hpp"
#include "program.hpp"

using namespace attn;

namespace {

/// The toy model with random weights; always the same ones.
Transformer toy_model() {
  Random random(10);
  return initial_transformer(toy(), random);
}

/// Lists what is between the layers, and only counts what is in them.
void list_stations(const Program& program, const Trace& trace) {
  Table table({"tensor", "shape"});
  std::size_t inside = 0;
  for (const NamedMatrix& tensor : trace.tensors()) {
    const bool station = std::count(tensor.name.begin(), tensor.name.end(), '.') < 3;
    if (station) table.add({tensor.name, shape_text(tensor.value)});
    inside += station ? 0 : 1;
  }
  table.print(program.out());
  program.out() << "and " << inside << " inside the layers: --trace lists them\n";
}

void way(const Program& program) {
  program.section("way", "from tokens to logits");
  // [way]
  const Transformer model = toy_model();
  Trace trace;
  const Matrix logits = transformer(model, source, target);
  // [way]
  list_stations(program, trace);
  program.save(trace);
  program.draw("architecture.svg", architecture_picture());
}

void embedding(const Program& program) {
  program.section("embedding", "rows of a table, and how large they are");
  Random random(91);
  const std::size_t d = 512;
  // [one_hot]
  const Matrix table = random.normal_matrix(2000, d, 1.0 / std::sqrt(512.0));
  const Tokens tokens = {7, 8, 9};
  Matrix one_hot = xt::zeros<double>({tokens.size(), table.shape(0)});
  for (std::size_t i = 0; i < tokens.size(); ++i) one_hot(i, static_cast<std::size_t>(tokens[i])) = 1.0;
  const Matrix X = std::sqrt(512.0) * product(one_hot, table);
  // [one_hot]
  program.out() << "largest difference of the look-up and the product: "
                << fixed(max_difference(embed(tokens, table), X)) << '\n';
  Table sizes({"at d_model = 512", "size"});
  sizes.add({"a number of an embedding", fixed(size_of(table))});
  sizes.add({"a number of a position", fixed(size_of(positional_encoding(100, d)))});
  sizes.add({"a number of an embedding, times √512", fixed(size_of(std::sqrt(512.0) * table))});
  sizes.print(program.out());
}

void tied(const Program& program) {
  program.section("tied", "one matrix at both ends, scaled at one");
  // [tied]
  const Matrix E = 0.5 * identity(4);  // four tokens of four features
  const Matrix read = embed({0}, E);   // times √4
  const Matrix said = product(xt::view(E, xt::range(0, 1), xt::all()), transpose(E));
  // [tied]
  print(program.out(), "token 0 as it is read", read);
  print(program.out(), "logits of a state that equals row 0", said);
}

void shift(const Program& program) {
  program.section("shift", "what the decoder reads, and what it should say");
  const Transformer model = toy_model();
  // [shift]
  const Tokens input = shift_right(model, target);
  // [shift]
  Table table({"position", "reads", "and before that", "should say"});
  std::string before;
  for (std::size_t i = 0; i < target.size(); ++i) {
    table.add({std::to_string(i), word(input[i]), before, word(target[i])});
    before += (i == 0 ? "" : " ") + word(input[i]);
  }
  table.print(program.out());
  const Tokens padded = {7, 2, 0};  // a EOS PAD
  Table with_padding({"position", "reads", "should say", "loss"});
  const Tokens read = shift_right(model, padded);
  const Matrix losses = cross_entropies(transformer(model, source, padded), padded, model.config.pad);
  for (std::size_t i = 0; i < padded.size(); ++i) {
    with_padding.add({std::to_string(i), word(read[i]), word(padded[i]), fixed(losses(0, i))});
  }
  program.out() << "a shorter sentence, filled up:\n";
  with_padding.print(program.out());
}

void uses(const Program& program) {
  program.section("uses", "one attention, three uses");
  const Transformer model = toy_model();
  Trace trace;
  transformer(model, source, target);
  Table table({"use", "queries from", "keys and values from", "may look at", "weights", "exactly 0"});
  const auto add = [&](const std::string& use, const std::string& queries, const std::string& keys,
                       const std::string& mask, const std::string& tensor) {
    const Matrix& A = trace[tensor];
    const auto zeros = std::count(A.begin(), A.end(), 0.0);
    table.add(
        {use, queries, keys, mask, shape_text(A), std::to_string(zeros) + " of " + std::to_string(A.size())});
  };
  add("encoder, self", "source", "source", "all but padding", "encoder.0.self.head.0.weights");
  add("decoder, self", "target", "target", "itself and before", "decoder.0.self.head.0.weights");
  add("decoder, cross", "target", "memory", "all but padding", "decoder.0.cross.head.0.weights");
  table.print(program.out());
}

void wiring(const Program& program) {
  program.section("wiring", "where the queries, keys and values of layer 1 come from");
  const Transformer model = toy_model();
  // [wiring]
  Trace trace;
  transformer(model, source, target);
  const MultiHead& cross = model.decoder[1].cross;
  const Matrix Q = product(trace["decoder.1.self.norm"], cross.W_Q);
  const Matrix K = product(trace["encoder.memory"], cross.W_K);
  // [wiring]
  const auto out = [&](const std::string& words, double difference) {
    program.out() << words << fixed(difference) << '\n';
  };
  out("cross.Q, and self.norm of the same layer times W_Q:    ", max_difference(trace["decoder.1.cross.Q"], Q));
  out("cross.Q, and the output of layer 0 times W_Q:          ",
      max_difference(trace["decoder.1.cross.Q"], product(trace["decoder.0.output"], cross.W_Q)));
  out("cross.K, and the memory times W_K:                     ", max_difference(trace["decoder.1.cross.K"], K));
  out("cross.K of layer 0 and of layer 1, of the same memory: ",
      max_difference(trace["decoder.0.cross.K"], trace["decoder.1.cross.K"]));
  out("W_Q of encoder layers 0 and 1:                         ",
      max_difference(model.encoder[0].self.W_Q, model.encoder[1].self.W_Q));
}

std::size_t likeliest(const Matrix& scores, std::size_t i) {
  const auto row = xt::row(scores, i);
  return static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

/// For each position, what it reads, what it should say, and what it makes of that.
void print_predictions(const Program& program, const Matrix& p, const Tokens& input, const Tokens& labels,
                       const Words& names) {
  const auto name = [&](int token) { return names.at(static_cast<std::size_t>(token)); };
  Table table({"reads", "should say", "with probability", "would say", "with probability"});
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::size_t best = likeliest(p, i);
    table.add({name(input[i]), name(labels[i]), fixed(p(i, static_cast<std::size_t>(labels[i]))), names.at(best),
               fixed(p(i, best))});
  }
  table.print(program.out());
}

void probabilities(const Program& program) {
  program.section("probabilities", "softmax of the logits, nothing learned yet");
  const Transformer model = toy_model();
  // [probabilities]
  const Matrix logits = transformer(model, source, target);
  const Matrix p = softmax(logits);
  const double loss = cross_entropy(logits, target, model.config.pad);
  // [probabilities]
  print_predictions(program, p, shift_right(model, target), target, vocabulary);
  bool stays = true;
  for (std::size_t i = 0; i < target.size(); ++i) {
    for (const double temperature : {0.5, 2.0}) {
      stays = stays && likeliest(softmax(logits / temperature), i) == likeliest(p, i);
    }
  }
  program.out() << "divided by a temperature of 0.5 or 2, the likeliest stay the likeliest: "
                << (stays ? "yes" : "no") << '\n'
                << "each row sums to 1, largest difference: " << fixed(xt::amax(xt::abs(xt::sum(p, {1}) - 1.0))())
                << '\n'
                << "cross-entropy: " << fixed(loss) << '\n';
}

Start loss(const Program& program) {
  program.section("loss", "before training, the mean of 100 models");
  Table table({"embeddings drawn with deviation", "size of the logits", "loss"});
  const Start usual = before_training(1.0 / std::sqrt(16.0));
  const auto add = [&](const std::string& deviation, const Start& start) {
    table.add({deviation, fixed(start.logits, 2), fixed(start.loss, 2)});
  };
  add("0.02", before_training(0.02));
  add("0.25, that is 1/√d_model", usual);
  add("1", before_training(1.0));
  table.print(program.out());
  program.out() << "guessing: ln 11 = " << fixed(std::log(11.0), 2) << '\n';
  return usual;
}

void who_matters(const Program& program) {
  program.section("influence", "how far each state moves when one token is another");
  const Transformer model = toy_model();
  const Tokens input = shift_right(model, target);
  const Matrix moved = influence(model, input);
  Words columns = words(source);
  for (const std::string& read : words(input)) columns.push_back(read);
  Words rows;
  for (const std::string& said : words(target)) rows.push_back("to say " + said);
  print(program.out(), "source: ein Hund läuft EOS PAD; decoder reads: BOS a dog runs", moved, rows, columns);
  program.out() << "exactly 0: " << std::count(moved.begin(), moved.end(), 0.0) << '\n';
  program.draw("influence.svg", heat_map(moved, {"Which token can change which prediction", rows, columns}));
}

void memory(const Program& program) {
  program.section("memory", "how far the logits move");
  const Transformer model = toy_model();
  const Tokens input = shift_right(model, target);
  const Matrix z = encode(model, source), logits = decode(model, input, z, source);
  Table table({"what is changed", "largest change of a logit"});
  const auto add = [&](const std::string& what, const Matrix& now) {
    table.add({what, fixed(max_difference(now, logits))});
  };
  add("the source: Hund läuft ein EOS PAD", transformer(model, {4, 5, 3, 2, 0}, target));
  // [memory]
  add("the memory: all zeros", decode(model, input, xt::zeros_like(z), source));
  add("one more PAD behind the source", transformer(model, {3, 4, 5, 2, 0, 0}, target));
  // [memory]
  table.print(program.out());
}

void depth(const Program& program) {
  program.section("depth", "no layers, one, two, six");
  Table table({"layers a side", "parameters", "another source moves the logits by"});
  for (const std::size_t layers : {0, 1, 2, 6}) {
    Config config = toy();
    config.encoder_layers = config.decoder_layers = layers;
    Random random(93);
    const Transformer model = initial_transformer(config, random);
    const Matrix here = transformer(model, source, target), there = transformer(model, {5, 3, 4, 2, 0}, target);
    table.add({std::to_string(layers), grouped(parameter_count(config)), fixed(max_difference(here, there))});
  }
  table.print(program.out());
}

void step_by_step(const Program& program) {
  program.section("greedy", "one token at a time, by a model that has learned nothing");
  const Transformer model = toy_model();
  const std::size_t most_tokens = 6;
  // [steps]
  const Decoded decoded = greedy(model, source, most_tokens);
  const Matrix at_once = transformer(model, source, decoded.tokens);  // it reads its own output, shifted
  const Matrix memory = encode(model, source);
  double largest_difference = 0.0;
  Tokens input = {model.config.bos};
  for (std::size_t i = 0; i < decoded.tokens.size(); ++i) {
    const Matrix logits = decode(model, input, memory, source);
    const Vector difference = xt::abs(xt::row(logits, i) - xt::row(at_once, i));
    largest_difference = std::max(largest_difference, xt::amax(difference)());
    input.push_back(decoded.tokens[i]);
  }
  // [steps]
  Table table({"step", "has read", "says"});
  std::string read = "BOS";
  for (std::size_t i = 0; i < decoded.tokens.size(); ++i) {
    table.add({std::to_string(i + 1), read, word(decoded.tokens[i])});
    read += " " + word(decoded.tokens[i]);
  }
  table.print(program.out());
  program.out() << "came to EOS: " << (decoded.finished ? "yes" : "no, it was stopped") << '\n'
                << "logarithm of its probability: " << fixed(decoded.log_probability) << '\n'
                << "step by step and all at once, largest difference of a logit: " << fixed(largest_difference)
                << '\n';
}

void repeating(const Program& program) {
  program.section("repeating", "a hundred models that have learned nothing");
  Table table({"", "say one token only", "probability of the token just read"});
  for (const bool is_tied : {true, false}) {
    Config config = toy();
    config.tied = is_tied;
    int say_one = 0;
    double again = 0.0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      Random random(seed);
      const Transformer model = initial_transformer(config, random);
      const Tokens said = greedy(model, source, 6).tokens;
      say_one += std::count(said.begin(), said.end(), said[0]) == static_cast<std::ptrdiff_t>(said.size()) ? 1 : 0;
      const Tokens input = shift_right(model, target);
      const Matrix p = softmax(transformer(model, source, target));
      for (std::size_t i = 0; i < input.size(); ++i) again += p(i, static_cast<std::size_t>(input[i])) / 400;
    }
    table.add({is_tied ? "tied" : "not tied", std::to_string(say_one), fixed(again, 2)});
  }
  table.add({"guessing", "", fixed(1.0 / 11.0, 2)});
  table.print(program.out());
}

void count(const Program& program) {
  program.section("parameters", "how many numbers are learned, part by part");
  const Config base;
  const auto with = [](Config config, bool bias, bool is_tied, bool final_norm) {
    config.dialect.attention_bias = bias;
    config.dialect.final_norm = final_norm;
    config.tied = is_tied;
    return grouped(parameter_count(config));
  };
  Table table({"part", "toy", "base"});
  const auto add = [&](const std::string& part, const std::string& prefix) {
    table.add({part, grouped(parameter_count(toy(), prefix)), grouped(parameter_count(base, prefix))});
  };
  add("embedding: V d", "embedding");
  add("attention and its norm: 4d² + 2d", "encoder.0.self");
  add("feed-forward and its norm: 2 d d_ff + d_ff + d + 2d", "encoder.0.feed_forward");
  add("an encoder layer", "encoder.0.");
  add("a decoder layer", "decoder.0.");
  add("all of it", "");
  table.add({"with biases in attention", with(toy(), true, true, false), with(base, true, true, false)});
  table.add(
      {"with those and a norm after each stack", with(toy(), true, true, true), with(base, true, true, true)});
  table.add({"not tied", with(toy(), false, false, false), with(base, false, false, false)});
  table.print(program.out());
  Transformer model = toy_model();
  std::size_t counted = 0;
  for_each(model, [&](const std::string&, const Matrix& value) { counted += value.size(); });
  program.out() << "counted in the toy itself: " << grouped(counted) << '\n';
}

void six_dialects(const Program& program) {
  program.section("dialects", "what six implementations do, and how far it moves the same weights");
  const SharedWeights weights(94);
  const Matrix paper = transformer(weights.in(Dialect()), source, target);
  std::vector<std::string> header = {"switch"}, moves = {"logits move by"};
  for (const Dialect& dialect : dialects()) {
    header.push_back(dialect.name);
    moves.push_back(fixed(max_difference(transformer(weights.in(dialect), source, target), paper), 2));
  }
  Table table(header);
  for (std::size_t row = 0; row < switches(Dialect()).size(); ++row) {
    std::vector<std::string> cells = {switches(Dialect())[row].first};
    for (const Dialect& dialect : dialects()) cells.push_back(switches(dialect)[row].second);
    table.add(cells);
  }
  table.add(moves);
  table.print(program.out());
}

void one_switch(const Program& program) {
  program.section("switches", "one switch at a time, the same weights");
  const SharedWeights weights(94);
  const Matrix paper = transformer(weights.in(Dialect()), source, target);
  Table table({"switch", "largest change of a logit"});
  const auto add = [&](const std::string& name, void (*turn)(Dialect&)) {
    Dialect dialect;
    turn(dialect);
    table.add({name, fixed(max_difference(transformer(weights.in(dialect), source, target), paper))});
  };
  add("positions in halves", [](Dialect& d) { d.positions = PositionLayout::halves; });
  add("positions in halves, the last frequency 1/10000",
      [](Dialect& d) { d.positions = PositionLayout::halves_t2t; });
  add("the first position is 1", [](Dialect& d) { d.first_position = 1; });
  add("pre-norm", [](Dialect& d) { d.pre_norm = true; });
  add("a norm after each stack", [](Dialect& d) { d.final_norm = true; });
  add("the annotated norm", [](Dialect& d) { d.norm = NormForm::annotated; });
  add("ε = 1e-5", [](Dialect& d) { d.epsilon = 1e-5; });
  add("biases in attention", [](Dialect& d) { d.attention_bias = true; });
  add("a bias on the logits", [](Dialect& d) { d.output_bias = true; });
  add("embeddings not scaled", [](Dialect& d) { d.scale_embeddings = false; });
  add("swish", [](Dialect& d) { d.activation = Activation::swish; });
  add("the decoder starts with EOS", [](Dialect& d) { d.decoder_start = DecoderStart::eos; });
  add("the decoder starts with a zero vector", [](Dialect& d) { d.decoder_start = DecoderStart::zero_vector; });
  table.print(program.out());
}

void mistakes(const Program& program) {
  program.section("mistakes", "how far each moves the logits; the shape never tells");
  const SharedWeights weights(94);
  const Transformer model = weights.in(Dialect());
  const Tokens input = shift_right(model, target);
  Matrix logits, memory, first, own_input;
  {
    Trace trace;
    logits = transformer(model, source, target);
    memory = trace["encoder.memory"], first = trace["encoder.0.output"], own_input = trace["decoder.input"];
  }
  Table table({"mistake", "largest change of a logit"});
  const auto add = [&](const std::string& what, const Matrix& wrong) {
    table.add({what, fixed(max_difference(wrong, logits), 2)});
  };
  add("logits × √d_model too", std::sqrt(16.0) * logits);
  add("the target is not shifted", decode(model, target, memory, source));
  add("the memory is taken after the first layer", decode(model, input, first, source));
  add("the decoder looks at its own input for memory", decode(model, input, own_input, input));
  Transformer seeing = model;
  seeing.config.pad = -5;  // no token at all
  add("padding is looked at", transformer(seeing, source, target));
  Transformer clones = model;
  clones.encoder[1] = clones.encoder[0];
  clones.decoder[1] = clones.decoder[0];
  add("every layer has the weights of the first", transformer(clones, source, target));
  table.print(program.out());
}

void reduction(const Program& program) {
  program.section("reduction", "an encoder of no layer, and of one");
  // [reduction]
  Transformer model = toy_model();
  const Matrix input = add_positions(embed(source, model.embedding));
  model.encoder.resize(1);
  const Matrix one_layer = encode(model, source);
  model.encoder.resize(0);
  const Matrix no_layer = encode(model, source);
  // [reduction]
  const Mask mask = padding_mask(source.size(), {true, true, true, true, false});
  program.out() << "no layer, and chapter 7: largest difference " << fixed(max_difference(no_layer, input)) << '\n'
                << "one layer, and chapter 8: largest difference "
                << fixed(max_difference(one_layer, encoder_layer(input, toy_model().encoder[0], mask))) << '\n';
}

void tour(const Program& program) {
  program.out() << "Chapter 09: the Transformer\n";
  way(program);
  embedding(program);
  tied(program);
  shift(program);
  uses(program);
  wiring(program);
  probabilities(program);
  const Start start = loss(program);
  who_matters(program);
  memory(program);
  depth(program);
  step_by_step(program);
  repeating(program);
  count(program);
  six_dialects(program);
  one_switch(program);
  mistakes(program);
  reduction(program);
  program.in_short("A whole Transformer of " + grouped(parameter_count(toy())) +
                   " numbers; before training its loss is " + fixed(start.loss, 2) + ", and guessing gives " +
                   fixed(std::log(11.0), 2) + ".");
}

void own(const Program& program, const OwnInput& input) {
  if (input.names[0] == "row 0") {  // no word has a blank in it
    refuse_input("--input", "--sentence in its place, since the tokens of this chapter are words", "a matrix");
  }
  Words names = {"PAD", "BOS", "EOS"};
  Tokens sentence;
  for (const std::string& name : input.names) {
    const auto known = std::find(names.begin() + 3, names.end(), name);
    sentence.push_back(static_cast<int>(known - names.begin()));
    if (known == names.end()) names.push_back(name);
  }
  sentence.push_back(2);
  Config config = toy();
  config.vocabulary = names.size();
  config.d_model = 64, config.d_ff = 256;
  Random random(2017);
  const Transformer model = initial_transformer(config, random);
  const Tokens read = shift_right(model, sentence);
  Trace trace;
  const Matrix logits = transformer(model, sentence, sentence);

  program.section("tokens", "each different word is a token; the embeddings are the model's own");
  Table table({"token", "number"});
  for (std::size_t i = 0; i < names.size(); ++i) table.add({names[i], std::to_string(i)});
  table.print(program.out());
  program.section("way", "from your words to your words; the weights are random, not trained");
  list_stations(program, trace);
  program.section("predictions", "what it should say, and would");
  print_predictions(program, softmax(logits), read, sentence, names);
  const auto named = [&](const Tokens& tokens) {
    Words all;
    for (const int token : tokens) all.push_back(names[static_cast<std::size_t>(token)]);
    return all;
  };
  program.draw("cross.svg",
               heat_map(trace["decoder.1.cross.head.0.weights"],
                        {"The first head of cross-attention: who looks at what", named(read), named(sentence)}));
  program.save(trace);
  program.in_short("A model of " + grouped(parameter_count(config)) + " numbers on " + tokens(input.names.size()) +
                   ": loss " + fixed(cross_entropy(logits, sentence, config.pad), 2) +
                   " before training; guessing gives " + fixed(std::log(static_cast<double>(names.size())), 2) +
                   ".");
}

}  // namespace

int main(int argc, char** argv) {
  return run_chapter(argc, argv, {"09", "The full model", "encoder, decoder and everything around them."}, tour,
                     own);
}
