#include "weaving.hpp"

#include <algorithm>
#include <sstream>

#include "blocks.hpp"
#include "inline.hpp"
#include "letters.hpp"
#include "page.hpp"
#include "quoting.hpp"

namespace weave {

namespace fs = std::filesystem;

namespace {

// The words of the generated lines; a translation brings its own.
struct Phrases {
  std::string about, minute, minutes, before, nothing_before, all_chapters;
};
const Phrases english{"About ",      " minute.", " minutes.", " Before this: ", "nothing but matrices and C++",
                      "All chapters"};

struct Marker {
  std::string kind;
  std::vector<std::string> arguments;
};

// The marker on a line: a comment of a known first word, or of any word with a colon.
Marker read_marker(const std::string& line) {
  const std::string bare = trimmed(line);
  if (bare.rfind("<!--", 0) != 0 || bare.size() < 7 || bare.find("-->") != bare.size() - 3) return {};
  std::istringstream words(bare.substr(4, bare.size() - 7));
  Marker marker;
  words >> marker.kind;
  for (std::string word; words >> word;) marker.arguments.push_back(word);
  const bool known =
      marker.kind == "top" || marker.kind == "nav" || marker.kind == "code" || marker.kind == "output";
  if (!known && (marker.kind.empty() || marker.kind.back() != ':')) return {};
  return marker;
}

std::string link(const std::string& text, const fs::path& page) {
  const fs::path folder = page.parent_path().filename();
  return "[" + text + "](../" + (folder / page.filename()).generic_string() + ")";
}

Lines fenced(const std::string& language, const Lines& body) {
  std::size_t longest = 2;
  for (const std::string& line : body) {
    const std::string bare = trimmed(line);
    longest = std::max(longest, std::min(bare.find_first_not_of('`'), bare.size()));
  }
  const std::string fence(longest + 1, '`');
  Lines block{fence + language};
  block.insert(block.end(), body.begin(), body.end());
  block.push_back(fence);
  return block;
}

// A stretch of the page: lines that stay, and the generated ones below them if they are a marker.
struct Piece {
  Lines kept;
  std::string generated;  // "", "fence", "top" or "nav"
  std::size_t line = 0;   // of the first generated line, counted from 1
  Lines has;
  Lines wanted;
};

class Weaver {
 public:
  Weaver(const fs::path& page, const Lines& lines, const fs::path& transcript)
      : page_(page), lines_(lines), transcript_(transcript) {}

  Woven weave() {
    const std::vector<Block> all = blocks(lines_);
    for (std::size_t i = 0; i < all.size(); ++i) {
      expect_sound(all[i]);
      pieces_.push_back({slice(all[i].first, all[i].last), "", all[i].last + 1, {}, {}});
      if (all[i].kind != Block::Kind::comment || all[i].last - all[i].first != 1) continue;
      follow(all[i], i + 1 < all.size() ? &all[i + 1] : nullptr);
      const std::size_t end = all[i].last + pieces_.back().has.size();
      while (i + 1 < all.size() && all[i + 1].last <= end) ++i;
      if (i + 1 < all.size() && all[i + 1].first < end) keep(end, all[++i].last);
    }
    generate_lines();
    return assemble();
  }

 private:
  Lines slice(std::size_t first, std::size_t last) const {
    return {lines_.begin() + static_cast<std::ptrdiff_t>(first),
            lines_.begin() + static_cast<std::ptrdiff_t>(last)};
  }

  void keep(std::size_t first, std::size_t last) { pieces_.push_back({slice(first, last), "", last + 1, {}, {}}); }

  [[noreturn]] void fail(std::size_t line, const std::string& why) const {
    throw PageError(page_.string() + ":" + std::to_string(line + 1) + ": " + why);
  }

  void expect_sound(const Block& block) const {
    const std::size_t lines = block.last - block.first;
    if (block.kind == Block::Kind::fence && fence_body(lines_, block).size() + 2 != lines) {
      fail(block.first, "this fence never ends");
    }
    if (block.kind != Block::Kind::paragraph) return;
    for (std::size_t i = block.first; i < block.last; ++i) {
      if (!read_marker(lines_[i]).kind.empty())
        fail(i, "a marker stands at the left margin, this one is indented");
    }
  }

  // Finds what the marker wants, and what stands below it now.
  void follow(const Block& comment, const Block* below) {
    const Marker marker = read_marker(lines_[comment.first]);
    if (marker.kind.empty()) return;
    Piece& piece = pieces_.back();
    try {
      piece.generated = read_sources(marker, piece.wanted);
    } catch (const PageError& error) {
      fail(comment.first, error.what());
    }
    const std::string next = comment.last < lines_.size() ? lines_[comment.last] : "";
    if (piece.generated == "fence") {
      if (below != nullptr && below->kind == Block::Kind::fence) piece.has = slice(below->first, below->last);
    } else if (next.rfind(piece.generated == "top" ? '*' : '[', 0) == 0) {
      piece.has = {next};
    }
  }

  std::string read_sources(const Marker& marker, Lines& wanted) const {
    const auto& words = marker.arguments;
    if (marker.kind == "code:" && words.size() == 2) {
      wanted = fenced("cpp", code_region((page_.parent_path() / words[0]).lexically_normal(), words[1]));
      return "fence";
    }
    if (marker.kind == "output:" && words.size() == 1) {
      wanted = fenced("text", output_section(transcript_, words[0]));
      return "fence";
    }
    if ((marker.kind == "top" || marker.kind == "nav") && words.empty()) {
      if (!is_chapter(page_)) throw PageError("<!-- " + marker.kind + " --> belongs on the page of a chapter");
      return marker.kind;
    }
    throw PageError(
        "no such marker; there are <!-- code: FILE REGION -->, <!-- output: SECTION -->, <!-- top --> "
        "and <!-- nav -->");
  }

  // The reading time counts everything but these lines, so they come last.
  void generate_lines() {
    Lines bare;
    for (const Piece& piece : pieces_) {
      bare.insert(bare.end(), piece.kept.begin(), piece.kept.end());
      bare.insert(bare.end(), piece.wanted.begin(), piece.wanted.end());
    }
    for (Piece& piece : pieces_) {
      if (piece.generated == "top") piece.wanted = {top_line(reading_minutes(bare))};
      if (piece.generated == "nav") piece.wanted = {nav_line()};
    }
  }

  std::string top_line(int minutes) const {
    const auto before = neighbours(page_).before;
    return "*" + english.about + std::to_string(minutes) + (minutes == 1 ? english.minute : english.minutes) +
           english.before + (before ? link(short_title(title_of(*before)), *before) : english.nothing_before) +
           ".*";
  }

  std::string nav_line() const {
    const Neighbours next = neighbours(page_);
    std::string line;
    if (next.before) line += link("← " + title_of(*next.before), *next.before) + " · ";
    line += "[" + english.all_chapters + "](../" + page_.filename().string() + ")";
    if (next.after) line += " · " + link(title_of(*next.after) + " →", *next.after);
    return line;
  }

  Woven assemble() const {
    Woven woven;
    for (const Piece& piece : pieces_) {
      woven.lines.insert(woven.lines.end(), piece.kept.begin(), piece.kept.end());
      woven.lines.insert(woven.lines.end(), piece.wanted.begin(), piece.wanted.end());
      if (piece.has == piece.wanted) continue;
      std::size_t i = 0;
      while (i < piece.has.size() && i < piece.wanted.size() && piece.has[i] == piece.wanted[i]) ++i;
      woven.stale.push_back({piece.line + i, i < piece.has.size() ? piece.has[i] : "(nothing)",
                             i < piece.wanted.size() ? piece.wanted[i] : "(nothing)"});
    }
    return woven;
  }

  fs::path page_;
  const Lines& lines_;
  fs::path transcript_;
  std::vector<Piece> pieces_;
};

bool has_word(std::string_view token) {
  for (std::size_t i = 0; i < token.size();) {
    const Letter letter = letter_at(token, i);
    if (is_word(letter.code)) return true;
    i += letter.bytes;
  }
  return false;
}

}  // namespace

Woven weave(const fs::path& page, const Lines& lines, const fs::path& transcript) {
  return Weaver(page, lines, transcript).weave();
}

int reading_minutes(const Lines& lines) {
  int shown = 0, words = 0;
  for (const Fence& fence : fences(lines)) {
    if (fence.info.rfind("math", 0) == 0) continue;
    for (const std::string& line : fence.body) shown += trimmed(line).empty() ? 0 : 1;
  }
  for (const Prose& part : prose(lines)) {
    std::istringstream tokens(plain(part.text));
    for (std::string token; tokens >> token;) words += has_word(token) ? 1 : 0;
  }
  const int milliseconds = 300 * words + 5000 * shown;
  return std::max(1, (milliseconds + 59999) / 60000);
}

}  // namespace weave
