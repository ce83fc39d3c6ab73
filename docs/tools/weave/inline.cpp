#include "inline.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "letters.hpp"

namespace weave {

namespace {

using Kind = Span::Kind;
constexpr auto npos = std::string_view::npos;

bool is_punctuation(char32_t code) {
  if (code < 0x80) return std::ispunct(static_cast<int>(code)) != 0;
  return code != 0xA0 && !is_word(code);
}

bool is_space(char32_t code) { return code == 0 || code == ' ' || code == '\t' || code == '\n' || code == 0xA0; }

// A run of * or _ that may open or close emphasis; `span` is its place among the spans.
struct Run {
  char mark;
  std::size_t length;
  bool opens;
  bool closes;
  std::size_t span;
  std::vector<Kind> begun = {};  // innermost first
  std::vector<Kind> ended = {};
};

// Where brackets of one kind close, as far as they have been looked at.
struct Brackets {
  char begin;
  char end;
  std::map<std::size_t, std::size_t> closed = {};
  std::size_t seen = 0;
};

// Lines may be very long: whatever is looked for ahead is looked for once, so that the time stays in proportion.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {
    for (std::size_t i = text.find('`'); i != npos; i = text.find('`', i + run_length(i))) {
      backticks_[run_length(i)].push_back(i);
    }
  }

  std::vector<Span> scan() {
    while (at_ < text_.size()) {
      if (!(escape() || formula() || code() || angle() || picture() || link() || url() || run())) letter();
    }
    pair_runs();
    std::vector<Span> spans = with_emphasis();
    std::size_t line = 0, from = 0;
    for (Span& span : spans) {
      line += lines_before(text_.substr(from), span.at - from);
      from = span.at;
      span.line = line;
    }
    return spans;
  }

 private:
  char here(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool sees(std::string_view what) const { return text_.substr(at_, what.size()) == what; }

  bool take(Kind kind, std::string_view text, std::size_t end) {
    spans_.push_back({kind, std::string(text), {}, {}, false, at_});
    at_ = end;
    return true;
  }

  void letter() {
    const std::size_t bytes = letter_at(text_, at_).bytes;
    if (spans_.empty() || spans_.back().kind != Kind::text) spans_.push_back({Kind::text, "", {}, {}, false, at_});
    spans_.back().text += text_.substr(at_, bytes);
    at_ += bytes;
  }

  bool escape() {
    if (here() != '\\' || std::ispunct(static_cast<unsigned char>(here(1))) == 0) return false;
    return take(Kind::escaped, text_.substr(at_ + 1, 1), at_ + 2);
  }

  bool formula() {
    if (here() != '$') return false;
    if (sees("$`")) return formula_in_backticks();
    if (sees("$$")) return display_formula();
    const Letter before = letter_before(text_, at_), after = letter_at(text_, at_ + 1);
    if ((before.code != 0 && is_word(before.code)) || is_space(after.code)) return false;
    if (no_formula_closes_) return false;
    std::size_t end = at_ + 1;
    while ((end = text_.find('$', end)) != npos && !closes_formula(end)) ++end;
    no_formula_closes_ = end == npos;
    if (end == npos) return false;
    return take(Kind::math, text_.substr(at_ + 1, end - at_ - 1), end + 1);
  }

  bool formula_in_backticks() {
    if (!formula_until("`$", 2)) return false;
    spans_.back().backticks = true;
    return true;
  }

  bool display_formula() {
    if (!formula_until("$$", 2)) return false;
    spans_.back().display = true;
    return true;
  }

  bool formula_until(std::string_view mark, std::size_t skip) {
    const std::size_t end = find_ahead(mark, at_ + skip);
    if (end == npos || end == at_ + skip) return false;
    return take(Kind::math, text_.substr(at_ + skip, end - at_ - skip), end + mark.size());
  }

  std::size_t find_ahead(std::string_view what, std::size_t from) {
    if (missing_.count(what) != 0) return npos;
    const std::size_t found = text_.find(what, from);
    if (found == npos) missing_.insert(what);
    return found;
  }

  bool closes_formula(std::size_t at) const {
    const char32_t before = letter_before(text_, at).code, after = letter_at(text_, at + 1).code;
    return !is_escaped(at) && !is_space(before) && (after == 0 || !is_word(after));
  }

  bool is_escaped(std::size_t at) const {
    std::size_t first = at;
    while (first > 0 && text_[first - 1] == '\\') --first;
    return (at - first) % 2 == 1;
  }

  bool code() {
    if (here() != '`') return false;
    const std::size_t end = code_end(at_);
    const std::size_t length = run_length(at_);
    if (end == npos) {
      for (std::size_t i = 0; i < length; ++i) letter();
      return true;
    }
    std::string inner = on_one_line(text_.substr(at_ + length, end - at_ - 2 * length));
    const bool padded = inner.size() > 2 && inner.front() == ' ' && inner.back() == ' ' &&
                        inner.find_first_not_of(' ') != std::string::npos;
    return take(Kind::code, padded ? inner.substr(1, inner.size() - 2) : inner, end);
  }

  static std::string on_one_line(std::string_view text) {
    std::string line;
    for (std::size_t i = 0; i < text.size(); ++i) {
      line += text[i] == '\n' ? ' ' : text[i];
      if (text[i] == '\n') i = std::min(text.find_first_not_of(" \n", i), text.size()) - 1;
    }
    return line;
  }

  std::size_t run_length(std::size_t at) const {
    return std::min(text_.find_first_not_of(text_[at], at), text_.size()) - at;
  }

  // Where the code that begins at `at` is over, npos if it never is.
  std::size_t code_end(std::size_t at) const {
    const std::size_t length = run_length(at);
    const auto runs = backticks_.find(length);
    if (runs == backticks_.end()) return npos;
    const auto next = std::lower_bound(runs->second.begin(), runs->second.end(), at + length);
    return next == runs->second.end() ? npos : *next + length;
  }

  bool angle() {
    if (here() != '<') return false;
    if (sees("<!--")) {
      const std::size_t end = find_ahead("-->", at_);
      return end != npos && take(Kind::comment, text_.substr(at_ + 4, end - at_ - 4), end + 3);
    }
    const std::size_t end = text_.find_first_of("<>", at_ + 1);
    if (end == npos || text_[end] == '<') return false;
    const std::string_view inner = text_.substr(at_ + 1, end - at_ - 1);
    if (inner.find("://") != npos && inner.find_first_of(" \n") == npos) return take(Kind::url, inner, end + 1);
    const char first = here(here(1) == '/' ? 2 : 1);
    if (std::isalpha(static_cast<unsigned char>(first)) == 0) return false;
    return take(Kind::tag, text_.substr(at_, end + 1 - at_), end + 1);
  }

  bool picture() { return sees("![") && bracketed(Kind::picture, at_ + 1); }
  bool link() { return here() == '[' && bracketed(Kind::link, at_); }

  bool bracketed(Kind kind, std::size_t open) {
    const std::size_t close = matching(square_, open);
    if (close == npos || close + 1 >= text_.size() || text_[close + 1] != '(') return false;
    const std::size_t end = matching(round_, close + 1);
    if (end == npos) return false;
    take(kind, text_.substr(open + 1, close - open - 1), end + 1);
    aim(text_.substr(close + 2, end - close - 2));
    return true;
  }

  // Brackets nest; those in code, and those after a backslash, do not count.
  std::size_t matching(Brackets& brackets, std::size_t open) const {
    if (open >= brackets.seen) look_ahead(brackets, open);
    const auto found = brackets.closed.find(open);
    return found == brackets.closed.end() ? npos : found->second;
  }

  // To the end of the outermost pair. Every level of a link costs a recursion, so the levels are counted.
  void look_ahead(Brackets& brackets, std::size_t open) const {
    constexpr int most_levels = 32;
    struct Opened {
      std::size_t at;
      int levels;  // of the pairs inside, and its own
    };
    std::vector<Opened> opened{{open, 1}};
    std::size_t i = open + 1;
    for (; i < text_.size() && !opened.empty(); ++i) {
      if (text_[i] == '\\') {
        ++i;
      } else if (brackets.begin == '[' && text_[i] == '`' && code_end(i) != npos) {
        i = code_end(i) - 1;
      } else if (text_[i] == brackets.begin) {
        opened.push_back({i, 1});
      } else if (text_[i] == brackets.end) {
        const Opened inner = opened.back();
        opened.pop_back();
        if (inner.levels <= most_levels) brackets.closed[inner.at] = i;
        if (!opened.empty()) opened.back().levels = std::max(opened.back().levels, inner.levels + 1);
      }
    }
    brackets.seen = i;
  }

  void aim(std::string_view parentheses) {
    const auto first = parentheses.find_first_not_of(" \n");
    if (first == npos) return;
    parentheses.remove_prefix(first);
    const bool in_angles = parentheses.front() == '<' && parentheses.find('>') != npos;
    const std::size_t end =
        in_angles ? parentheses.find('>') + 1 : std::min(parentheses.find_first_of(" \n"), parentheses.size());
    spans_.back().target = parentheses.substr(in_angles ? 1 : 0, end - (in_angles ? 2 : 0));
    const std::string_view rest = parentheses.substr(end);
    const std::size_t open = rest.find_first_of("\"'"), close = rest.find_last_of("\"'");
    if (open != npos && close > open) spans_.back().title = rest.substr(open + 1, close - open - 1);
  }

  bool url() {
    if (!sees("https://") && !sees("http://")) return false;
    if (is_word(letter_before(text_, at_).code)) return false;
    std::size_t end = std::min(text_.find_first_of(" \t\n<", at_), text_.size());
    const std::string_view seen = text_.substr(at_, end - at_);
    auto unopened = std::count(seen.begin(), seen.end(), ')') - std::count(seen.begin(), seen.end(), '(');
    while (std::string_view("?!.,:;*_~'\"").find(text_[end - 1]) != npos ||
           (text_[end - 1] == ')' && unopened > 0)) {
      unopened -= text_[--end] == ')' ? 1 : 0;
    }
    return take(Kind::url, text_.substr(at_, end - at_), end);
  }

  bool run() {
    const char mark = here();
    if (mark != '*' && mark != '_') return false;
    const std::size_t length = run_length(at_);
    const char32_t before = letter_before(text_, at_).code, after = letter_at(text_, at_ + length).code;
    const bool left = !is_space(after) && (!is_punctuation(after) || is_space(before) || is_punctuation(before));
    const bool right = !is_space(before) && (!is_punctuation(before) || is_space(after) || is_punctuation(after));
    const bool opens = left && (mark == '*' || !right || is_punctuation(before));
    const bool closes = right && (mark == '*' || !left || is_punctuation(after));
    if (!opens && !closes) {
      for (std::size_t i = 0; i < length; ++i) letter();
      return true;
    }
    runs_.push_back({mark, length, opens, closes, spans_.size()});
    take(Kind::text, text_.substr(at_, length), at_ + length);
    spans_.push_back({Kind::text, "", {}, {}, false, at_});  // so that the next words do not join the run
    return true;
  }

  // Each closing run takes the nearest opening one, strong before plain; what opened in between stays as it is.
  void pair_runs() {
    std::map<char, std::vector<std::size_t>> open;
    for (std::size_t c = 0; c < runs_.size(); ++c) {
      std::vector<std::size_t>& same = open[runs_[c].mark];
      while (runs_[c].closes && runs_[c].length > 0 && !same.empty()) {
        const std::size_t o = same.back();
        const bool strong = runs_[o].length >= 2 && runs_[c].length >= 2;
        runs_[o].begun.push_back(strong ? Kind::strong_begin : Kind::emphasis_begin);
        runs_[c].ended.push_back(strong ? Kind::strong_end : Kind::emphasis_end);
        runs_[o].length -= strong ? 2 : 1;
        runs_[c].length -= strong ? 2 : 1;
        for (auto& [mark, places] : open) {
          while (!places.empty() && places.back() > o) places.pop_back();
        }
        if (runs_[o].length == 0) same.pop_back();
      }
      if (runs_[c].opens && runs_[c].length > 0) same.push_back(c);
    }
  }

  std::vector<Span> with_emphasis() const {
    std::vector<Span> out;
    auto run = runs_.begin();
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      if (run == runs_.end() || run->span != i) {
        if (spans_[i].kind != Kind::text || !spans_[i].text.empty()) out.push_back(spans_[i]);
        continue;
      }
      const std::size_t at = spans_[i].at;
      for (const Kind kind : run->ended) out.push_back({kind, "", {}, {}, false, at});
      if (run->length > 0) out.push_back({Kind::text, std::string(run->length, run->mark), {}, {}, false, at});
      for (auto kind = run->begun.rbegin(); kind != run->begun.rend(); ++kind) {
        out.push_back({*kind, "", {}, {}, false, at});
      }
      ++run;
    }
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Span> spans_;
  std::vector<Run> runs_;
  std::map<std::size_t, std::vector<std::size_t>> backticks_;  // where their runs begin, by length
  std::set<std::string_view> missing_;                         // what does not come again
  bool no_formula_closes_ = false;                             // from here on
  Brackets square_{'[', ']'};
  Brackets round_{'(', ')'};
};

}  // namespace

std::vector<Span> scan(std::string_view paragraph) { return Scanner(paragraph).scan(); }

std::string plain(std::string_view paragraph) {
  std::string words;
  for (const Span& span : scan(paragraph)) {
    const bool nested = span.kind == Kind::link || span.kind == Kind::picture;
    if (nested) {
      words += plain(span.text);
    } else if (span.kind != Kind::tag && span.kind != Kind::comment) {
      words += span.text;
    }
  }
  return words;
}

std::size_t lines_before(std::string_view paragraph, std::size_t at) {
  const std::string_view before = paragraph.substr(0, at);
  return static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

}  // namespace weave
