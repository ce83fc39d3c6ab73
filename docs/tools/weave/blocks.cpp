#include "blocks.hpp"

#include <algorithm>

#include "letters.hpp"

namespace weave {

namespace {

using Kind = Block::Kind;

constexpr const char* blanks = " \t\r";
constexpr const char* digits = "0123456789";

bool starts(std::string_view line, std::string_view with) { return line.substr(0, with.size()) == with; }

// The length of the run of ` or ~ that opens a fence, 0 if the line opens none.
std::size_t fence_length(const std::string& line) {
  const std::size_t at = indent_of(line);
  if (at == line.size() || (line[at] != '`' && line[at] != '~')) return 0;
  const std::size_t end = std::min(line.find_first_not_of(line[at], at), line.size());
  const bool info_is_plain = line[at] == '~' || line.find('`', end) == std::string::npos;
  return end - at >= 3 && info_is_plain ? end - at : 0;
}

bool closes(const std::string& line, char mark, std::size_t length) {
  const std::string bare = trimmed(line);
  return bare.size() >= length && bare.find_first_not_of(mark) == std::string::npos;
}

// No std::regex here: it recurses once a letter, and a long line overflows the stack.

std::size_t past(const std::string& line, const char* letters, std::size_t from) {
  return std::min(line.find_first_not_of(letters, from), line.size());
}

// The bytes of indentation and list mark, 0 if the line begins no list item.
std::size_t list_mark(const std::string& line) {
  const std::size_t first = past(line, blanks, 0), point = past(line, digits, first);
  const bool bullet = first < line.size() && std::string_view("-+*").find(line[first]) != std::string_view::npos;
  const bool number =
      point > first && point - first <= 9 && point < line.size() && (line[point] == '.' || line[point] == ')');
  if (!bullet && !number) return 0;
  const std::size_t mark = bullet ? first + 1 : point + 1, end = past(line, blanks, mark);
  return end > mark || end == line.size() ? end : 0;
}

// Only a list that starts with 1 may begin in the middle of a paragraph that is no list itself.
bool begins_list(const std::string& line) {
  const std::size_t first = past(line, blanks, 0), point = past(line, digits, first);
  return point == first || line.substr(first, point - first) == "1";
}

bool is_rule(const std::string& line) {
  const std::string bare = trimmed(line);
  if (indent_of(line) > 3 || bare.empty() || std::string_view("-*_").find(bare[0]) == std::string_view::npos) {
    return false;
  }
  const char allowed[] = {bare[0], ' ', '\t', '\0'};
  return bare.find_first_not_of(allowed) == std::string::npos &&
         std::count(bare.begin(), bare.end(), bare[0]) >= 3;
}

// Cells of dashes, each with a colon before or behind or without, and bars between them.
bool is_delimiter_row(const std::string& line) {
  std::string row = trimmed(line);
  if (row.find('|') == std::string::npos) return false;
  if (row.back() == '|') row.pop_back();
  for (std::size_t from = row.find('|') == 0 ? 1 : 0; from <= row.size();) {
    const std::size_t bar = std::min(row.find('|', from), row.size());
    const std::string cell = trimmed(row.substr(from, bar - from));
    const std::size_t dash = cell.rfind(':', 0) == 0 ? 1 : 0, end = past(cell, "-", dash);
    const bool colon_behind = end + 1 == cell.size() && cell[end] == ':';
    if (end == dash || (end != cell.size() && !colon_behind)) return false;
    from = bar + 1;
  }
  return true;
}

// A line that begins with <details>, <summary> or the end of one.
bool is_folding_html(const std::string& line) {
  const std::size_t first = past(line, blanks, 0);
  const std::size_t name = first + (line.compare(first, 2, "</") == 0 ? 2 : 1);
  if (first == line.size() || line[first] != '<') return false;
  for (const std::string_view tag : {"details", "summary"}) {
    const std::size_t end = name + tag.size();
    if (line.compare(name, tag.size(), tag) == 0 &&
        (end >= line.size() || !is_word(static_cast<unsigned char>(line[end])))) {
      return true;
    }
  }
  return false;
}

// Every `>` costs a recursion, so what begins with more of them than anybody writes is no quote.
bool is_quote(const std::string& line) { return starts(line, ">") && past(line, "> ", 0) <= 64; }

int heading_level(const std::string& line) {
  const auto end = std::min(line.find_first_not_of('#'), line.size());
  return end >= 1 && end <= 6 && (end == line.size() || line[end] == ' ') ? static_cast<int>(end) : 0;
}

class Cutter {
 public:
  explicit Cutter(const Lines& lines) : lines_(lines) {}

  std::vector<Block> cut() {
    while (at_ < lines_.size()) {
      blocks_.push_back(next());
      at_ = blocks_.back().last;
    }
    return blocks_;
  }

 private:
  Block next() {
    const std::string& line = lines_[at_];
    if (trimmed(line).empty()) return one(Kind::blank);
    if (is_indented_code()) return run(Kind::indented, [](const std::string& l) { return indent_of(l) >= 4; });
    if (list_mark(line) != 0 && !is_rule(line)) {
      in_list_ = true;
    } else if (indent_of(line) == 0) {
      in_list_ = false;
    }
    if (fence_length(line) != 0) return fence();
    if (starts(line, "<!--")) return comment();
    if (is_folding_html(line)) return one(Kind::html);
    if (is_quote(line)) return run(Kind::quote, is_quote);
    if (heading_level(line) != 0) return heading();
    if (is_rule(line)) return one(Kind::rule);
    if (begins_table(at_)) return run(Kind::table, [](const std::string& l) { return !trimmed(l).empty(); });
    return paragraph();
  }

  Block one(Kind kind) const { return {kind, at_, at_ + 1}; }

  template <class Belongs>
  Block run(Kind kind, Belongs belongs) const {
    std::size_t last = at_ + 1;
    while (last < lines_.size() && belongs(lines_[last]) && !trimmed(lines_[last]).empty()) ++last;
    return {kind, at_, last};
  }

  bool is_indented_code() const {
    const bool apart = blocks_.empty() || blocks_.back().kind != Kind::paragraph;
    return apart && !in_list_ && indent_of(lines_[at_]) >= 4;
  }

  bool begins_table(std::size_t at) const {
    return lines_[at].find('|') != std::string::npos && at + 1 < lines_.size() && is_delimiter_row(lines_[at + 1]);
  }

  Block fence() const {
    const std::string& line = lines_[at_];
    const std::size_t length = fence_length(line);
    const char mark = line[indent_of(line)];
    std::size_t last = at_ + 1;
    while (last < lines_.size() && !closes(lines_[last], mark, length)) ++last;
    return {Kind::fence, at_, std::min(last + 1, lines_.size()), trimmed(line.substr(indent_of(line) + length))};
  }

  Block comment() const {
    std::size_t last = at_;
    while (last < lines_.size() && lines_[last].find("-->") == std::string::npos) ++last;
    return {Kind::comment, at_, std::min(last + 1, lines_.size())};
  }

  Block heading() const {
    Block block = one(Kind::heading);
    block.level = heading_level(lines_[at_]);
    block.prefix = std::min(lines_[at_].size(), static_cast<std::size_t>(block.level) + 1);
    return block;
  }

  Block paragraph() const {
    Block block = one(Kind::paragraph);
    block.prefix = list_mark(lines_[at_]);
    while (block.last < lines_.size() && continues(block.last)) ++block.last;
    return block;
  }

  bool continues(std::size_t at) const {
    const std::string& line = lines_[at];
    return !trimmed(line).empty() && fence_length(line) == 0 && !starts(line, "<!--") && !is_folding_html(line) &&
           !is_quote(line) && heading_level(line) == 0 && !is_rule(line) && !begins_table(at) &&
           (list_mark(line) == 0 || (!in_list_ && !begins_list(line)));
  }

  const Lines& lines_;
  std::size_t at_ = 0;
  bool in_list_ = false;
  std::vector<Block> blocks_;
};

}  // namespace

std::vector<Block> blocks(const Lines& lines) { return Cutter(lines).cut(); }

Lines fence_body(const Lines& lines, const Block& fence) {
  const std::string& open = lines[fence.first];
  const bool closed =
      fence.last - fence.first >= 2 && closes(lines[fence.last - 1], open[indent_of(open)], fence_length(open));
  const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(fence.first) + 1;
  return {begin, lines.begin() + static_cast<std::ptrdiff_t>(fence.last) - (closed ? 1 : 0)};
}

Lines quote_body(const Lines& lines, const Block& quote) {
  Lines inner;
  for (std::size_t i = quote.first; i < quote.last; ++i) {
    inner.push_back(lines[i].substr(lines[i].size() > 1 && lines[i][1] == ' ' ? 2 : 1));
  }
  if (inner[0].rfind("[!", 0) == 0) inner[0].clear();
  return inner;
}

std::vector<Prose> prose(const Lines& lines) {
  std::vector<Prose> all;
  for (const Block& block : blocks(lines)) {
    if (block.kind == Kind::quote) {
      for (Prose& inner : prose(quote_body(lines, block))) {
        inner.line += block.first;
        all.push_back(inner);
      }
    }
    if (block.kind != Kind::paragraph && block.kind != Kind::heading && block.kind != Kind::table) continue;
    Lines text(lines.begin() + static_cast<std::ptrdiff_t>(block.first),
               lines.begin() + static_cast<std::ptrdiff_t>(block.last));
    text[0].erase(0, block.prefix);
    all.push_back({block.first, joined(text), block.level, block.kind == Kind::table});
  }
  return all;
}

std::vector<Fence> fences(const Lines& lines) {
  std::vector<Fence> all;
  for (const Block& block : blocks(lines)) {
    if (block.kind == Kind::fence) all.push_back({block.first + 1, block.info, fence_body(lines, block)});
    if (block.kind != Kind::quote) continue;
    for (Fence& inner : fences(quote_body(lines, block))) {
      inner.line += block.first;
      all.push_back(inner);
    }
  }
  return all;
}

}  // namespace weave
