#include "program.hpp"

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>

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

OwnInput from_sentence(const std::string& sentence) {
  OwnInput own{split_words(sentence), {}};
  if (own.names.empty()) refuse_input("--sentence", "at least one word", "only blanks");
  own.X = letter_ngrams(own.names, sentence_d_model, sentence_length);
  return own;
}

OwnInput from_file(const std::string& file) {
  OwnInput own{{}, to_matrix(read_npy(file), file)};
  if (own.X.size() == 0) refuse_input(file, "at least one row and one column", "an empty matrix");
  for (std::size_t i = 0; i < own.X.shape(0); ++i) own.names.push_back("row " + std::to_string(i));
  return own;
}

OwnInput read_own(const std::string& sentence, const std::string& file) {
  OwnInput own = file.empty() ? from_sentence(sentence) : from_file(file);
  if (own.names.size() > most_rows) {
    refuse_input(file.empty() ? "--sentence" : file,
                 "at most " + std::to_string(most_rows) + " tokens, so that the tables can be read",
                 std::to_string(own.names.size()));
  }
  return own;
}

/// Swallows what the sections print when only the last line is wanted.
class Silence : public std::streambuf {
  int overflow(int c) override { return c; }
};

}  // namespace

void Program::section(std::string_view name, std::string_view words) const {
  *out_ << "\n== " << name << ": " << words << " ==\n";
}

void Program::draw(const std::string& file, const std::string& picture) const {
  if (!save_folder_.empty()) write_file(fs::path(save_folder_) / file, picture);
}

void Program::list(const Trace& trace) const {
  Table table({"tensor", "shape"});
  for (const NamedMatrix& tensor : trace.tensors()) table.add({tensor.name, shape_text(tensor.value)});
  table.print(*out_);
}

void Program::save(const Trace& trace) const {
  if (save_folder_.empty()) return;
  for (const NamedMatrix& tensor : trace.tensors()) {
    write_npy(fs::path(save_folder_) / (tensor.name + ".npy"), to_tensor(tensor.value));
  }
}

void Program::in_short(const std::string& words) const {
  *out_ << "\n== short: what this has shown ==\n" << words << '\n';
  if (brief_ != nullptr) *brief_ << words;
}

int run_chapter(int argc, char** argv, const Chapter& chapter, void (*tour)(const Program&),
                void (*own)(const Program&, const OwnInput&)) {
  const auto start = std::chrono::steady_clock::now();
  CLI::App app("Chapter " + chapter.number + ", " + chapter.title + ": " + chapter.about);
  std::string sentence, file, folder;
  bool brief = false;
  app.add_option(
      "--sentence", sentence,
      "your own words, in any language, instead of the examples; they become vectors of letter n-grams, "
      "which know how a word is written and nothing of what it means");
  app.add_option("--input", file, "your own matrix instead, one token a row: a .npy file")->excludes("--sentence");
  app.add_option("--save", folder, "a folder for the tensors (.npy) and pictures (.svg) of this run");
  app.add_flag("--brief", brief, "only a line: what was shown, and how long it took");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    Silence silence;
    std::ostream nowhere(&silence);
    Program program;
    program.save_folder_ = folder;
    program.out_ = brief ? &nowhere : &std::cout;
    program.brief_ = brief ? &std::cout : nullptr;
    if (brief) std::cout << chapter.number << " " << chapter.title << ": ";
    if (app.count("--sentence") + app.count("--input") > 0) {
      own(program, read_own(sentence, file));
    } else {
      tour(program);
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    if (brief) std::cout << " (" << fixed(time.count(), 2) << " s)\n";
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
