#include "search.hpp"

#include <cctype>
#include <map>
#include <sstream>

#include "blocks.hpp"
#include "inline.hpp"
#include "page.hpp"
#include "script.hpp"
#include "slug.hpp"

namespace weave {

namespace {

// A formula as somebody would type it: \mathrm{softmax}(QK^\top) -> softmax(QKᵀ)
std::string readable(const std::string& tex) {
  static const std::map<std::string, std::string> signs{
      {"top", "ᵀ"},   {"sqrt", "√"},  {"cdot", "·"},        {"times", "×"}, {"le", "≤"},   {"ge", "≥"},
      {"mathrm", ""}, {"text", ""},   {"operatorname", ""}, {"left", ""},   {"right", ""}, {"frac", ""},
      {"mathbb", ""}, {"quad", " "},  {"qquad", " "},       {"infty", "∞"}, {"in", "∈"},   {"sum", "Σ"},
      {"lVert", "‖"}, {"rVert", "‖"}, {"vert", "|"},        {"lvert", "|"}, {"rvert", "|"}};
  std::string out;
  for (std::size_t i = 0; i < tex.size(); ++i) {
    if (tex[i] != '\\') {
      if (tex.compare(i, 2, "}{") == 0) out += '/';
      if (std::string_view("{}$&").find(tex[i]) == std::string_view::npos) out += tex[i];
      continue;
    }
    std::size_t end = i + 1;
    while (end < tex.size() && std::isalpha(static_cast<unsigned char>(tex[end])) != 0) ++end;
    const std::string name = tex.substr(i + 1, end - i - 1);
    const auto sign = signs.find(name);
    const bool joins =
        sign == signs.end() && !out.empty() && std::isalnum(static_cast<unsigned char>(out.back())) != 0;
    if (joins) out += ' ';
    if (name == "top" && !out.empty() && out.back() == '^') out.pop_back();
    out += name.empty() ? " " : sign == signs.end() ? name : sign->second;
    i = name.empty() ? i + 1 : end - 1;
  }
  return out;
}

std::string words_of(const std::string& paragraph) {
  std::string words;
  for (const Span& span : scan(paragraph)) {
    switch (span.kind) {
      case Span::Kind::math:
        words += readable(span.text);
        break;
      case Span::Kind::link:
      case Span::Kind::picture:
        words += words_of(span.text);
        break;
      case Span::Kind::tag:
      case Span::Kind::comment:
        break;
      default:
        words += span.text;
    }
  }
  return words;
}

// One space between words, and no bars of tables.
std::string squeezed(const std::string& text) {
  std::istringstream in(text);
  std::string out;
  for (std::string word; in >> word;) {
    const bool bare_line = word.find_first_not_of("|:-") == std::string::npos;
    if (!bare_line) out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

class Sections {
 public:
  explicit Sections(const std::filesystem::path& page) : id_(page_id(page)), title_(words_of(title_of(page))) {}

  std::string entries(const Lines& lines) {
    url_ = page_url(id_);
    add(lines);
    flush();
    return out_;
  }

 private:
  void add(const Lines& lines) {
    std::string above;
    for (const Block& block : blocks(lines)) {
      const bool generated = above == "<!-- top -->" || above == "<!-- nav -->";
      above = trimmed(lines[block.first]);
      if (generated) continue;
      const Lines here(lines.begin() + static_cast<std::ptrdiff_t>(block.first),
                       lines.begin() + static_cast<std::ptrdiff_t>(block.last));
      switch (block.kind) {
        case Block::Kind::heading:
          heading(here[0].substr(block.prefix), block.level);
          break;
        case Block::Kind::fence:
          text_ += ' ' + fence_text(lines, block);
          break;
        case Block::Kind::quote:
          add(quote_body(lines, block));
          break;
        case Block::Kind::html:
        case Block::Kind::table:
        case Block::Kind::paragraph:
          text_ += ' ' + words_of(joined(here).substr(block.prefix));
          break;
        default:
          text_ += ' ';
      }
    }
  }

  static std::string fence_text(const Lines& lines, const Block& block) {
    const std::string body = joined(fence_body(lines, block));
    return block.info == "math" ? readable(body) : body;
  }

  void heading(const std::string& text, int level) {
    const std::string slug = slugs_.next(text);
    if (level == 1) return;
    flush();
    heading_ = words_of(text);
    url_ = page_url(id_) + '#' + anchor_id(id_, slug);
  }

  void flush() {
    const std::string text = squeezed(text_);
    text_.clear();
    if (text.empty() && heading_.empty()) return;
    out_ += "  {url: " + script_string(url_) + ", title: " + script_string(title_) +
            ", heading: " + script_string(heading_) + ", text: " + script_string(text) + "},\n";
  }

  std::string id_, title_, url_, heading_, text_, out_;
  Slugs slugs_;
};

}  // namespace

std::string search_script(const std::vector<std::filesystem::path>& pages) {
  std::string script = "const ATTN_SEARCH = [\n";
  for (const auto& page : pages) {
    if (page_id(page).empty()) throw PageError(page.string() + ": is no page of the documentation");
    script += Sections(page).entries(read_lines(page));
  }
  return script + "];\n";
}

}  // namespace weave
