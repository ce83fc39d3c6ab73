#include "program.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "attn/core/blas.hpp"
#include "attn/core/errors.hpp"
#include "attn/core/files.hpp"
#include "attn/core/shape.hpp"
#include "attn/core/table.hpp"
#include "attn/core/tensor.hpp"
#include "attn/formats/npy.hpp"
#include "attn/text/letter_ngrams.hpp"
#include "attn/text/letters.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t sentence_d_model = 512;
constexpr double sentence_length = 2.0;
constexpr std::size_t most_rows = 40;
constexpr std::size_t most_columns = 2048;
constexpr double largest_entry = 1e100;

std::string short_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

OwnInput from_sentence(const std::string& sentence) {
  OwnInput own{split_words(sentence), {}};
  if (own.names.empty()) refuse_input("--sentence", "at least one word", "only blanks");
  own.X = letter_ngrams(own.names, sentence_d_model, sentence_length);
  return own;
}

OwnInput from_file(const std::string& file) {
  OwnInput own{{}, to_matrix(read_npy(file), file)};
  if (own.X.size() == 0) refuse_input(file, "at least one row and one column", "an empty matrix");
  if (own.X.shape(1) > most_columns) {
    refuse_input(file, "at most " + std::to_string(most_columns) + " columns", std::to_string(own.X.shape(1)));
  }
  for (std::size_t i = 0; i < own.X.shape(0); ++i) {
    own.names.push_back("row " + std::to_string(i));
    for (std::size_t j = 0; j < own.X.shape(1); ++j) {
      if (std::abs(own.X(i, j)) <= largest_entry) continue;
      refuse_input(file, "numbers of at most 1e100 in size",
                   short_number(own.X(i, j)) + " in row " + std::to_string(i) + ", column " + std::to_string(j));
    }
  }
  return own;
}

OwnInput read_own(bool from_words, const std::string& words_or_file) {
  OwnInput own = from_words ? from_sentence(words_or_file) : from_file(words_or_file);
  if (own.names.size() > most_rows) {
    refuse_input(from_words ? "--sentence" : words_or_file,
                 "at most " + std::to_string(most_rows) + " tokens, so that the tables can be read",
                 std::to_string(own.names.size()));
  }
  return own;
}

/// Swallows what the sections print when only the last line is wanted.
class Silence : public std::streambuf {
  int overflow(int c) override { return c; }
};

void print_names(std::ostream& out, const Trace& trace) {
  Table table({"tensor", "shape"});
  for (const NamedMatrix& tensor : trace.tensors()) table.add({tensor.name, shape_text(tensor.value)});
  table.print(out);
}

}  // namespace

void Program::section(std::string_view name, std::string_view words) const {
  *out_ << "\n== " << name << ": " << words << " ==\n";
}

void Program::measured(std::string_view name, std::string_view words) const {
  section(name, std::string(words) + " (measured)");
}

void Program::draw(const std::string& file, const std::string& picture) const {
  if (!save_folder_.empty()) write_file(fs::path(save_folder_) / file, picture);
}

void Program::list(const Trace& trace) const { print_names(*out_, trace); }

void Program::save(const Trace& trace) const {
  if (list_traces_) print_names(std::cout, trace);
  if (save_folder_.empty()) return;
  for (const NamedMatrix& tensor : trace.tensors()) {
    write_npy(fs::path(save_folder_) / (tensor.name + ".npy"), to_tensor(tensor.value));
  }
}

void Program::in_short(const std::string& words) const {
  *out_ << "\n== short: what this has shown ==\n" << words << '\n';
  *short_ = words;
}

std::string tokens(std::size_t count) { return std::to_string(count) + (count == 1 ? " token" : " tokens"); }

double max_difference(const Matrix& A, const Matrix& B) { return xt::amax(xt::abs(A - B))(); }

double mean_diagonal(const Matrix& weights) {
  double sum = 0.0;
  for (std::size_t i = 0; i < weights.shape(0); ++i) sum += weights(i, i) / static_cast<double>(weights.shape(0));
  return sum;
}

int run_chapter(int argc, char** argv, const Chapter& chapter, void (*tour)(const Program&),
                void (*own)(const Program&, const OwnInput&), const std::vector<ChapterOption>& options) {
  const auto start = std::chrono::steady_clock::now();
  CLI::App app("Chapter " + chapter.number + ", " + chapter.title + ": " + chapter.about);
  std::string sentence, file, folder;
  bool brief = false, list_traces = false;
  app.add_option(
      "--sentence", sentence,
      "your own words, in any language, instead of the examples; they become vectors of letter n-grams, "
      "which know how a word is written and nothing of what it means");
  app.add_option("--input", file, "your own matrix instead, one token a row: a .npy file")->excludes("--sentence");
  app.add_option("--save", folder, "a folder for the tensors (.npy) and pictures (.svg) of this run");
  CLI::Option* only_a_line = app.add_flag("--brief", brief, "only a line: what was shown, and how long it took");
  app.add_flag("--trace", list_traces, "only the name and the shape of every tensor on the way")
      ->excludes(only_a_line);
  for (const ChapterOption& option : options) app.add_option(option.name, *option.value, option.about);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    use_available_threads();
    use_best_kernels(argv);
    if (app.count("--save") > 0 && folder.empty()) refuse_input("--save", "a folder", "an empty name");
    Silence silence;
    std::ostream nowhere(&silence);
    std::string in_short;
    Program program;
    program.short_ = &in_short;
    program.save_folder_ = folder;
    program.list_traces_ = list_traces;
    program.out_ = brief || list_traces ? &nowhere : &std::cout;
    if (app.count("--sentence") + app.count("--input") > 0) {
      const bool from_words = app.count("--sentence") > 0;
      own(program, read_own(from_words, from_words ? sentence : file));
    } else {
      tour(program);
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    if (brief) {
      std::cout << chapter.number << " " << chapter.title << ": " << in_short << " (" << fixed(time.count(), 2)
                << " s)\n";
    }
    std::cout.flush();
    if (!folder.empty()) std::cerr << "Saved in " << folder << '\n';
    if (!std::cout) refuse_input("standard output", "a place that can be written", "an error");
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "chapter-" << chapter.number << ": " << error.what() << '\n';
    return 2;
  }
}

}  // namespace attn
