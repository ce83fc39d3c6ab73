// weave: keeps the pages of the course in step with their code and their output, and readies them for Doxygen.

#include <iostream>
#include <string>
#include <vector>

#include "weave/doxygen.hpp"
#include "weave/formulas.hpp"
#include "weave/numbers.hpp"
#include "weave/page.hpp"
#include "weave/search.hpp"
#include "weave/weaving.hpp"

namespace {

namespace fs = std::filesystem;

const char usage[] =
    "usage: weave update README.md [OUTPUT]   rewrite the marked blocks of a page\n"
    "       weave check README.md [OUTPUT]    fail when a block or a number of the prose is stale\n"
    "       weave doxygen README.md           print the page in Doxygen's Markdown\n"
    "       weave search PAGE…                print the search data of the pages as a script\n"
    "       weave formulas FILE…              print the formulas of pages and headers as a script\n"
    "\n"
    "OUTPUT is the transcript that the page quotes (default: output.txt beside it).\n"
    "Markers in a page, each alone on its line, the generated block below it:\n"
    "  <!-- code: FILE REGION -->   the lines between two lines \"// [REGION]\"\n"
    "  <!-- output: SECTION -->     the transcript, or measured.txt beside it, below its line \"== SECTION: … "
    "==\"\n"
    "  <!-- top -->                 reading time, and the chapter before\n"
    "  <!-- nav -->                 links to the chapters around\n";

int update(const fs::path& page, const fs::path& transcript) {
  const weave::Lines lines = weave::read_lines(page);
  const weave::Woven woven = weave::weave(page, lines, transcript);
  if (woven.lines == lines) return 0;
  weave::write_lines(page, woven.lines);
  std::cout << page.string() << ": updated\n";
  return 0;
}

int check(const fs::path& page, const fs::path& transcript) {
  const weave::Lines lines = weave::read_lines(page);
  const weave::Woven woven = weave::weave(page, lines, transcript);
  for (const weave::Stale& block : woven.stale) {
    std::cerr << page.string() << ":" << block.line << ": stale\n  has:     " << block.has
              << "\n  wanted:  " << block.wanted << "\n  mend it: ./course weave\n";
  }
  if (!weave::is_chapter(page)) return woven.stale.empty() ? 0 : 1;
  const auto foreign = weave::foreign_numbers(lines, transcript);
  for (const weave::Number& number : foreign) {
    std::cerr << page.string() << ":" << number.line << ": " << number.text
              << " is in no output that the page quotes here, from " << transcript.string()
              << "; quote it, or cite its source with a link to bibliography.md\n";
  }
  return woven.stale.empty() && foreign.empty() ? 0 : 1;
}

int run(const std::vector<std::string>& words) {
  const std::string command = words.empty() ? "" : words[0];
  const std::vector<fs::path> files(words.begin() + (words.empty() ? 0 : 1), words.end());
  if (command == "--help" && files.empty()) {
    std::cout << usage;
    return 0;
  }
  if ((command == "update" || command == "check") && (files.size() == 1 || files.size() == 2)) {
    const fs::path transcript = files.size() == 2 ? files[1] : files[0].parent_path() / "output.txt";
    return command == "update" ? update(files[0], transcript) : check(files[0], transcript);
  }
  if (command == "doxygen" && files.size() == 1) {
    for (const auto& line : weave::doxygen(files[0], weave::read_lines(files[0]))) std::cout << line << '\n';
    return 0;
  }
  if ((command == "search" || command == "formulas") && !files.empty()) {
    std::cout << (command == "search" ? weave::search_script(files) : weave::formulas_script(files));
    return 0;
  }
  std::cerr << usage;
  return 2;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run({words + 1, words + count});
  } catch (const weave::PageError& error) {
    std::cerr << "weave: " << error.what() << '\n';
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "weave: " << error.what() << '\n';
    return 2;
  }
}
