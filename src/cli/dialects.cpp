#include <algorithm>
#include <iostream>
#include <map>
#include <optional>

#include "attn/core/errors.hpp"
#include "attn/core/numbers.hpp"
#include "attn/core/shape.hpp"
#include "attn/core/table.hpp"
#include "attn/core/trace.hpp"
#include "attn/reference/loss.hpp"
#include "attn/reference/transformer.hpp"
#include "attn/text/letters.hpp"
#include "cli/commands.hpp"

namespace attn {
namespace {

constexpr int first_word = 3;  // after PAD, BOS and EOS
constexpr std::size_t most_words = 200;

/// Words as tokens: each word that is new gets the next number.
class WordNumbers {
 public:
  Tokens tokens(const std::string& sentence, std::string_view option) {
    letters(sentence, option);  // refuses what is not UTF-8, by the option's name
    const std::vector<std::string> words = split_words(sentence);
    if (words.empty()) refuse_input(option, "at least one word", "only blanks");
    if (words.size() > most_words) {
      refuse_input(option, "at most " + std::to_string(most_words) + " words", std::to_string(words.size()));
    }
    Tokens ids;
    for (const std::string& word : words) {
      ids.push_back(numbers_.try_emplace(word, first_word + static_cast<int>(numbers_.size())).first->second);
    }
    return ids;
  }

  std::size_t vocabulary() const { return first_word + numbers_.size(); }

 private:
  std::map<std::string, int> numbers_;
};

/// The same numbers for the same name, whichever dialect asks; biases and gains that show.
Matrix value_of(const Parameter& parameter, std::uint64_t seed) {
  std::uint64_t hash = 14695981039346656037U ^ seed;
  for (const char c : parameter.name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  Random random(hash);
  const Matrix first = initial_value(parameter, random);
  const bool vector = parameter.kind == Parameter::Kind::bias || parameter.kind == Parameter::Kind::gain;
  return vector ? Matrix(first + random.normal_matrix(parameter.rows, parameter.columns, 0.1)) : first;
}

/// What a dialect makes of two sentences.
struct Passed {
  std::deque<NamedMatrix> tensors;
  double loss = 0.0;
};

Passed pass(const Dialect& dialect, const Tokens& source, const Tokens& target, std::size_t vocabulary,
            std::uint64_t seed) {
  Config config;
  config.vocabulary = vocabulary;
  config.d_model = 16;
  config.d_ff = 32;
  config.h = 4;
  config.encoder_layers = config.decoder_layers = 2;
  config.dialect = dialect;
  const Transformer model =
      make_transformer(config, [&](const Parameter& parameter) { return value_of(parameter, seed); });
  Trace trace;
  const Matrix logits = transformer(model, source, target);
  return {trace.tensors(), cross_entropy(logits, target, config.pad)};
}

/// The stations of the way, not what happens inside a layer.
bool is_station(const std::string& name) {
  return std::count(name.begin(), name.end(), '.') == 1 ||
         (name.size() > 7 && name.ends_with(".output") && std::count(name.begin(), name.end(), '.') == 2);
}

std::optional<Matrix> find(const std::deque<NamedMatrix>& tensors, const std::string& name) {
  for (const NamedMatrix& tensor : tensors) {
    if (tensor.name == name) return tensor.value;
  }
  return std::nullopt;
}

std::string difference(const Matrix& A, const Matrix& B) {
  const double apart = xt::amax(xt::abs(A - B))();
  return apart == 0.0 ? "0" : to_text(apart, std::chars_format::scientific, 2);
}

void print_stations(const Passed& a, const Passed& b, const Dialect& A, const Dialect& B) {
  Table table({"tensor", "shape", "largest difference"});
  for (const NamedMatrix& tensor : a.tensors) {
    if (!is_station(tensor.name)) continue;
    const std::optional<Matrix> other = find(b.tensors, tensor.name);
    table.add(
        {tensor.name, shape_text(tensor.value), other ? difference(tensor.value, *other) : "only " + A.name});
  }
  for (const NamedMatrix& tensor : b.tensors) {
    if (!is_station(tensor.name) || find(a.tensors, tensor.name)) continue;
    table.add({tensor.name, shape_text(tensor.value), "only " + B.name});
  }
  table.print(std::cout);
}

void print_switches(const std::vector<Dialect>& some, bool only_differences) {
  std::vector<std::string> header = {"switch"};
  for (const Dialect& d : some) header.push_back(d.name);
  Table table(header);
  for (std::size_t i = 0; i < switches(some[0]).size(); ++i) {
    std::vector<std::string> row = {switches(some[0])[i].first};
    for (const Dialect& d : some) row.push_back(switches(d)[i].second);
    const bool alike = std::all_of(row.begin() + 1, row.end(), [&](const auto& value) { return value == row[1]; });
    if (!alike || !only_differences) table.add(row);
  }
  table.print(std::cout);
}

}  // namespace

int list_dialects_command() {
  print_switches(dialects(), false);
  return 0;
}

int dialects_command(const std::string& a, const std::string& b, const DialectsInput& input) {
  const Dialect &A = dialect(a), &B = dialect(b);
  WordNumbers numbers;
  const Tokens source = numbers.tokens(input.source, "--source");
  Tokens target = numbers.tokens(input.target, "--target");
  target.push_back(Config().eos);
  if (A.name == B.name) {
    std::cout << A.name << " is " << B.name << ": nothing differs\n";
    return 0;
  }
  std::cout << "What they do differently:\n";
  print_switches({A, B}, true);
  const Passed in_a = pass(A, source, target, numbers.vocabulary(), input.seed);
  const Passed in_b = pass(B, source, target, numbers.vocabulary(), input.seed);
  std::cout << "\nThe same weights (d_model 16, d_ff 32, 4 heads, 2 + 2 layers, seed " << input.seed
            << ") on the same sentences:\n";
  print_stations(in_a, in_b, A, B);
  std::cout << "\nThe loss of the target: " << fixed(in_a.loss) << " in " << A.name << ", " << fixed(in_b.loss)
            << " in " << B.name << "\n";
  return 0;
}

}  // namespace attn
