#include "numbers.hpp"

#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include "blocks.hpp"
#include "inline.hpp"
#include "quoting.hpp"

namespace weave {

namespace {

// Whether the words just before a place match.
bool follows(const std::string& text, std::size_t at, const std::regex& words) {
  const std::size_t first = at < 24 ? 0 : at - 24;
  return std::regex_search(text.substr(first, at - first), words);
}

// "section 3.2": the number of a place or of a version, not of a quantity.
bool is_label(const std::string& text, std::size_t at) {
  static const std::regex word(
      R"((\b(section|sections|sec\.|chapter|figure|fig\.|table|equation|eq\.|version|listing|exercise)|§)\s*$)",
      std::regex::icase);
  return follows(text, at, word);
}

// Letters, digits or points that touch the number make it part of something else: "v0.24", "3.2.1".
bool is_part_of_more(const std::string& text, std::size_t first, std::size_t last) {
  static const std::regex glued(R"([A-Za-z0-9_]\.?$)"), goes_on(R"(^\.\d)");
  return follows(text, first, glued) || std::regex_search(text.substr(last, 2), goes_on);
}

bool is_digit(const std::string& text, std::size_t at) {
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

std::size_t past_digits(const std::string& text, std::size_t at) {
  while (is_digit(text, at)) ++at;
  return at;
}

// Where the number is over whose point stands at `point`: after its digits and its power of ten.
std::size_t number_end(const std::string& text, std::size_t point) {
  const std::size_t end = past_digits(text, point + 1);
  if (end == text.size() || (text[end] != 'e' && text[end] != 'E')) return end;
  const bool sign = end + 1 < text.size() && (text[end + 1] == '-' || text[end + 1] == '+');
  const std::size_t power = end + (sign ? 2 : 1);
  return is_digit(text, power) ? past_digits(text, power) : end;
}

struct Found {
  std::string text;
  std::size_t line;
};

// By hand: std::regex recurses once a letter, and a long line overflows the stack.
std::vector<Found> find_numbers(const std::string& text) {
  std::vector<Found> found;
  std::size_t over = 0, line = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    line += text[i] == '\n' ? 1 : 0;
    if (text[i] != '.' || !is_digit(text, i + 1)) continue;
    std::size_t first = i;
    while (first > over && is_digit(text, first - 1)) --first;
    over = number_end(text, i);
    if (!is_part_of_more(text, first, over) && !is_label(text, first)) {
      found.push_back({(first == i ? "0" : "") + text.substr(first, over - first), line});
    }
    i = over - 1;
  }
  return found;
}

bool cites(const std::string& paragraph) {
  for (const Span& span : scan(paragraph)) {
    const bool links = span.kind == Span::Kind::link && span.target.find("bibliography") != std::string::npos;
    if (links) return true;
  }
  return false;
}

std::vector<Number> numbers_of(const std::string& paragraph, std::size_t line) {
  std::vector<Number> found;
  for (const Span& span : scan(paragraph)) {
    const std::size_t here = line + span.line;
    if (span.kind == Span::Kind::text) {
      for (const Found& number : find_numbers(span.text)) {
        found.push_back({here + number.line, number.text});
      }
    } else if (span.kind == Span::Kind::link || span.kind == Span::Kind::picture) {
      for (const Number& inner : numbers_of(span.text + " " + span.title, here)) found.push_back(inner);
    }
  }
  return found;
}

// The name in `<!-- output: name -->`, empty if the line is no such marker.
std::string quoted_section(const std::string& line) {
  std::istringstream words(line);
  std::string open, kind, name;
  words >> open >> kind >> name;
  return open == "<!--" && kind == "output:" ? name : "";
}

// A `##` section of a page: where it begins, counted from 0, and which sections of the transcript it quotes.
struct Section {
  std::size_t line;
  std::vector<std::string> quotes;
};

std::vector<Section> sections(const Lines& lines) {
  std::vector<Section> all{{0, {}}};
  for (const Block& block : blocks(lines)) {
    if (block.kind == Block::Kind::heading && block.level == 2) all.push_back({block.first, {}});
    const std::string name = block.kind == Block::Kind::comment ? quoted_section(lines[block.first]) : "";
    if (!name.empty()) all.back().quotes.push_back(name);
  }
  return all;
}

std::set<std::string> numbers_printed(const std::filesystem::path& transcript, const Section& section) {
  std::set<std::string> printed;
  for (const std::string& name : section.quotes) {
    for (const std::string& line : output_section(transcript, name)) {
      for (const std::string& number : decimal_numbers(line)) printed.insert(number);
    }
  }
  return printed;
}

}  // namespace

std::vector<std::string> decimal_numbers(const std::string& text) {
  std::vector<std::string> numbers;
  for (const Found& number : find_numbers(text)) numbers.push_back(number.text);
  return numbers;
}

std::vector<Number> foreign_numbers(const Lines& lines, const std::filesystem::path& transcript) {
  std::vector<Number> candidates;
  for (const Prose& part : prose(lines)) {
    if (cites(part.text)) continue;
    for (const Number& number : numbers_of(part.text, part.line + 1)) candidates.push_back(number);
  }
  if (candidates.empty()) return {};
  if (!std::filesystem::exists(transcript)) throw PageError(transcript.string() + ": no such file");

  std::vector<Number> foreign;
  const std::vector<Section> all = sections(lines);
  std::set<std::string> before, here;
  auto number = candidates.begin();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t end = i + 1 < all.size() ? all[i + 1].line : lines.size();
    before = std::exchange(here, numbers_printed(transcript, all[i]));
    for (; number != candidates.end() && number->line <= end; ++number) {
      if (here.count(number->text) == 0 && before.count(number->text) == 0) foreign.push_back(*number);
    }
  }
  return foreign;
}

}  // namespace weave
