// What the program of every chapter shares: its options, its sections, the reader's own input.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/matrix.hpp"
#include "attn/core/trace.hpp"

namespace attn {

/// What a chapter is called.
struct Chapter {
  std::string number;  ///< such as "03"
  std::string title;   ///< such as "Scaling"
  std::string about;   ///< a sentence for --help
};

/// The reader's own input: words made into vectors, or a matrix from a file.
struct OwnInput {
  std::vector<std::string> names;  ///< the words, or "row 0", "row 1" ...
  Matrix X;                        ///< one token a row
};

/// An option that only one chapter has.
struct ChapterOption {
  std::string name;    ///< such as "--measure"
  std::string about;   ///< for --help
  std::string* value;  ///< where it goes
};

/// The running program, as its chapter sees it.
class Program {
 public:
  /// Where the chapter prints.
  std::ostream& out() const { return *out_; }

  /// Starts a section; pages quote it by its name.
  void section(std::string_view name, std::string_view words) const;

  /// Starts a section whose numbers were measured: they differ a little from machine to machine.
  void measured(std::string_view name, std::string_view words) const;

  /// Writes a picture into the folder that --save names, if it was given.
  void draw(const std::string& file, const std::string& picture) const;

  /// Prints the name and the shape of every tensor of a trace.
  void list(const Trace& trace) const;

  /// Writes every tensor of a trace as NAME.npy into the folder that --save names, if it was given; lists them
  /// under
  /// --trace.
  void save(const Trace& trace) const;

  /// Says what this run has shown, in a line: the last thing a chapter does.
  void in_short(const std::string& words) const;

 private:
  friend int run_chapter(int, char**, const Chapter&, void (*)(const Program&),
                         void (*)(const Program&, const OwnInput&), const std::vector<ChapterOption>&);
  std::ostream* out_ = nullptr;
  std::string save_folder_;
  std::string* short_ = nullptr;
  bool list_traces_ = false;
};

/// A count of tokens in words: "1 token", "3 tokens".
std::string tokens(std::size_t count);

/// The largest difference between two matrices of one shape, entry by entry.
double max_difference(const Matrix& A, const Matrix& B);

/// How much of its weight each token gives itself, on average.
double mean_diagonal(const Matrix& weights);

/// Runs a chapter: `tour` shows what the page tells; `own` does the same to what the reader brought with
/// --sentence or --input. Returns the exit status.
int run_chapter(int argc, char** argv, const Chapter& chapter, void (*tour)(const Program&),
                void (*own)(const Program&, const OwnInput&), const std::vector<ChapterOption>& options = {});

}  // namespace attn
