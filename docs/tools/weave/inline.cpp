#include "inline.hpp"

#include <algorithm>
#include <cctype>

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
  std::vector<Kind> begun = {};
  std::vector<Kind> ended = {};
};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<Span> scan() {
    while (at_ < text_.size()) {
      if (!(escape() || formula() || code() || angle() || picture() || link() || url() || run())) letter();
    }
    pair_runs();
    return with_emphasis();
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
    if (sees("$`")) return formula_until("`$", 2);
    if (sees("$$")) return display_formula();
    const Letter before = letter_before(text_, at_), after = letter_at(text_, at_ + 1);
    if ((before.code != 0 && is_word(before.code)) || is_space(after.code)) return false;
    std::size_t end = at_ + 1;
    while ((end = text_.find('$', end)) != npos && !closes_formula(end)) ++end;
    if (end == npos) return false;
    return take(Kind::math, text_.substr(at_ + 1, end - at_ - 1), end + 1);
  }

  bool display_formula() {
    if (!formula_until("$$", 2)) return false;
    spans_.back().display = true;
    return true;
  }

  bool formula_until(std::string_view mark, std::size_t skip) {
    const std::size_t end = text_.find(mark, at_ + skip);
    if (end == npos || end == at_ + skip) return false;
    return take(Kind::math, text_.substr(at_ + skip, end - at_ - skip), end + mark.size());
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
    for (std::size_t i = text_.find('`', at + length); i != npos; i = text_.find('`', i)) {
      const std::size_t other = run_length(i);
      i += other;
      if (other == length) return i;
    }
    return npos;
  }

  bool angle() {
    if (here() != '<') return false;
    if (sees("<!--")) {
      const std::size_t end = text_.find("-->", at_);
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
    const std::size_t close = matching(open, '[', ']');
    if (close == npos || close + 1 >= text_.size() || text_[close + 1] != '(') return false;
    const std::size_t end = matching(close + 1, '(', ')');
    if (end == npos) return false;
    take(kind, text_.substr(open + 1, close - open - 1), end + 1);
    aim(text_.substr(close + 2, end - close - 2));
    return true;
  }

  // Brackets nest; those in code, and those after a backslash, do not count.
  std::size_t matching(std::size_t open, char begin, char end) const {
    int depth = 0;
    for (std::size_t i = open; i < text_.size(); ++i) {
      if (text_[i] == '\\') {
        ++i;
      } else if (begin == '[' && text_[i] == '`' && code_end(i) != npos) {
        i = code_end(i) - 1;
      } else if (text_[i] == begin) {
        ++depth;
      } else if (text_[i] == end && --depth == 0) {
        return i;
      }
    }
    return npos;
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
    const auto seen = [&] { return text_.substr(at_, end - at_); };
    const auto count = [&](char c) { return std::count(seen().begin(), seen().end(), c); };
    while (seen().find_last_of("?!.,:;*_~'\"") == seen().size() - 1 ||
           (seen().back() == ')' && count(')') > count('('))) {
      --end;
    }
    return take(Kind::url, seen(), end);
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

  // Each closing run takes the nearest opening one, strong before plain.
  void pair_runs() {
    for (std::size_t c = 0; c < runs_.size(); ++c) {
      while (runs_[c].closes && runs_[c].length > 0) {
        std::size_t o = c;
        while (o > 0 && !fits(runs_[o - 1], runs_[c])) --o;
        if (o-- == 0) break;
        const bool strong = runs_[o].length >= 2 && runs_[c].length >= 2;
        runs_[o].begun.insert(runs_[o].begun.begin(), strong ? Kind::strong_begin : Kind::emphasis_begin);
        runs_[c].ended.push_back(strong ? Kind::strong_end : Kind::emphasis_end);
        runs_[o].length -= strong ? 2 : 1;
        runs_[c].length -= strong ? 2 : 1;
        for (std::size_t between = o + 1; between < c; ++between) runs_[between].opens = false;
      }
    }
  }

  static bool fits(const Run& open, const Run& close) {
    return open.opens && open.length > 0 && open.mark == close.mark;
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
      for (const Kind kind : run->begun) out.push_back({kind, "", {}, {}, false, at});
      ++run;
    }
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Span> spans_;
  std::vector<Run> runs_;
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
