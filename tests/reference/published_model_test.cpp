// A model that somebody trained, run by the reference: CTranslate2's own test model, Arabic to Latin letters. Its
// files are not part of the project; where they are absent, this is skipped.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "attn/core/files.hpp"
#include "attn/formats/ctranslate2.hpp"
#include "attn/reference/greedy.hpp"
#include "matrices.hpp"

using namespace attn;

namespace {

namespace fs = std::filesystem;
const fs::path folder = fs::path(ATTN_TEST_MODELS) / "ct2-aren";

/// One entry a line; nothing is trimmed, since some of the letters cannot be seen.
std::vector<std::string> lines(const fs::path& file) {
  std::istringstream in(read_file(file));
  std::vector<std::string> all;
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> all;
  for (std::string word; in >> word;) all.push_back(word);
  return all;
}

Tokens numbers(const std::vector<std::string>& tokens, const std::vector<std::string>& vocabulary) {
  Tokens ids;
  for (const std::string& token : tokens) {
    const auto found = std::find(vocabulary.begin(), vocabulary.end(), token);
    REQUIRE(found != vocabulary.end());
    ids.push_back(static_cast<int>(found - vocabulary.begin()));
  }
  return ids;
}

/// A word as its letters.
std::vector<std::string> spelt(const std::string& word) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < word.size();) {
    std::size_t length = 1;
    while (at + length < word.size() && (word[at + length] & 0xC0) == 0x80) ++length;
    all.push_back(word.substr(at, length));
    at += length;
  }
  return all;
}

/// A line of expected.tsv: source letters, perhaps |prefix=, target letters, sum and mean of the
/// log-probabilities.
struct Expected {
  Tokens source, prefix, target;
  double sum = 0.0, mean = 0.0;
};

Expected parse(const std::string& line, const std::vector<std::string>& from, const std::vector<std::string>& to) {
  std::istringstream in(line);
  std::string source, target, sum, mean;
  std::getline(in, source, '\t'), std::getline(in, target, '\t'), std::getline(in, sum, '\t'),
      std::getline(in, mean);
  const std::string mark = "|prefix=";
  const std::size_t bar = source.find(mark);
  Expected expected;
  if (bar != std::string::npos) expected.prefix = numbers(words(source.substr(bar + mark.size())), to);
  expected.source = numbers(spelt(source.substr(0, bar)), from);
  expected.target = numbers(words(target), to);
  expected.target.push_back(2);
  expected.sum = std::stod(sum);
  expected.mean = std::stod(mean);
  return expected;
}

}  // namespace

TEST_CASE("a trained model of 6 + 6 layers gives its published answers", "[chapter-09]") {
  if (!fs::exists(folder / "model.bin")) {
    std::cout << "SKIPPED: no " << folder.string() << ", the published model that this test runs\n";
    return;
  }
  const ImportedModel file = read_ctranslate2(folder / "model.bin");
  const auto value = [&](const Parameter& parameter) { return file.parameters.at(parameter.name); };
  const Transformer model = make_transformer(file.config, value);
  CHECK(file.config.encoder_layers == 6);
  CHECK(file.config.decoder_layers == 6);
  const auto from = lines(folder / "source_vocabulary.txt"), to = lines(folder / "target_vocabulary.txt");
  std::size_t answers = 0;
  for (const std::string& line : lines(folder / "expected.tsv")) {
    if (line.rfind("#", 0) == 0) continue;
    INFO(line);
    const Expected expected = parse(line, from, to);
    const Decoded decoded = greedy(model, expected.source, 60, expected.prefix);
    CHECK(decoded.tokens == expected.target);
    CHECK(decoded.finished);
    CHECK(std::abs(decoded.log_probability - expected.sum) < 1e-6);
    CHECK(std::abs(decoded.log_probability / static_cast<double>(decoded.tokens.size()) - expected.mean) < 1e-6);
    ++answers;
  }
  CHECK(answers == 4);

  // Wrong choices are seen: another epsilon in the sixth digit, other positions in the first.
  Transformer other = model;
  other.config.dialect.epsilon = 1e-6;
  const Expected first = parse(lines(folder / "expected.tsv").at(1), from, to);
  const double by_epsilon = std::abs(greedy(other, first.source, 60).log_probability - first.sum);
  CHECK(by_epsilon > 1e-6);
  other = model;
  other.config.dialect.positions = PositionLayout::halves;
  CHECK(std::abs(greedy(other, first.source, 60).log_probability - first.sum) > 1e-2);
}
