#include "numbers.hpp"

#include <regex>
#include <set>

#include "blocks.hpp"
#include "inline.hpp"

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

struct Found {
  std::string text;
  std::size_t at;
};

std::vector<Found> find_numbers(const std::string& text) {
  static const std::regex number(R"(\d*\.\d+([eE][-+]?\d+)?)");
  std::vector<Found> found;
  for (std::sregex_iterator i(text.begin(), text.end(), number), end; i != end; ++i) {
    const auto first = static_cast<std::size_t>(i->position());
    const auto last = first + static_cast<std::size_t>(i->length());
    if (is_part_of_more(text, first, last) || is_label(text, first)) continue;
    found.push_back({(i->str()[0] == '.' ? "0" : "") + i->str(), first});
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
    const std::size_t here = line + lines_before(paragraph, span.at);
    if (span.kind == Span::Kind::text) {
      for (const Found& number : find_numbers(span.text)) {
        found.push_back({here + lines_before(span.text, number.at), number.text});
      }
    } else if (span.kind == Span::Kind::link || span.kind == Span::Kind::picture) {
      for (const Number& inner : numbers_of(span.text + " " + span.title, here)) found.push_back(inner);
    }
  }
  return found;
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

  std::set<std::string> printed;
  for (const std::string& line : read_lines(transcript)) {
    for (const std::string& number : decimal_numbers(line)) printed.insert(number);
  }
  std::vector<Number> foreign;
  for (const Number& number : candidates) {
    if (printed.count(number.text) == 0) foreign.push_back(number);
  }
  return foreign;
}

}  // namespace weave
