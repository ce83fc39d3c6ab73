#include "doxygen_inline.hpp"

#include <algorithm>
#include <regex>
#include <utility>

#include "html.hpp"
#include "inline.hpp"
#include "letters.hpp"
#include "lines.hpp"
#include "page.hpp"

namespace weave {

namespace {

using Kind = Span::Kind;

// Numeric entities, which Doxygen does not know, become their character; named ones stay.
std::string entity(const std::string& text, std::size_t at, std::size_t& bytes) {
  static const std::regex form(R"(^&(#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|[A-Za-z][A-Za-z0-9]*);)");
  std::smatch found;
  const std::string rest = text.substr(at, 40);
  if (!std::regex_search(rest, found, form)) return "";
  bytes = static_cast<std::size_t>(found.length());
  if (found[2].matched) return utf8(static_cast<char32_t>(std::stoul(found[2])));
  if (found[3].matched) return utf8(static_cast<char32_t>(std::stoul(found[3], nullptr, 16)));
  return found.str();
}

bool is_letter(const std::string& text, std::size_t at) {
  return at < text.size() && (is_word(static_cast<unsigned char>(text[at])) || text[at] < 0);
}

// A character that neither Doxygen's Markdown nor its commands may take for their own.
std::string literal(char c) {
  switch (c) {
    case '\\':
      return "\\\\";
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '@':
    case '#':
    case '%':
    case '$':
    case '*':
    case '_':
    case '`':
    case '[':
    case ']':
    case '.':
      return std::string("\\") + c;
    default:
      return {c};
  }
}

// Doxygen turns -- and --- into dashes; GitHub does not.
std::string hyphens(std::size_t count) {
  std::string out;
  for (; count >= 3; count -= 3) out += "\\---";
  return out + (count == 2 ? "\\--" : count == 1 ? "-" : "");
}

std::string literal_text(const std::string& text, bool code, bool in_table) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    std::size_t bytes = 0;
    if (const std::string found = code || c != '&' ? "" : entity(text, i, bytes); bytes > 0) {
      out += found.size() == 1 ? literal(found[0]) : found;
      i += bytes - 1;
    } else if (c == '-') {
      const std::size_t end = std::min(text.find_first_not_of('-', i), text.size());
      out += hyphens(end - i);
      i = end - 1;
    } else if (c == '.' || (c == '_' && i > 0 && is_letter(text, i - 1) && is_letter(text, i + 1))) {
      out += c;
    } else if (c == '\\' && !code && i + 1 < text.size() && text[i + 1] == '\n') {
      out += "<br>";
    } else if (c == '|' && code && in_table) {
      out += "\\|";
    } else {
      out += literal(c);
    }
  }
  return out;
}

// In a table GitHub reads \| as |, also in formulas and in code.
std::string formula(const Span& span, bool in_table) {
  std::string tex = span.text;
  if (in_table) {
    tex = replaced(replaced(tex, "\\|", "|"), "|", "\\vert ");
  }
  if (!tex.empty() && (tex.back() == '\\' || tex.back() == '@')) tex += ' ';  // else it would swallow the end
  return span.display ? "\\f[" + tex + "\\f]" : "\\f$" + tex + "\\f$";
}

std::string code(std::string text, bool in_table) {
  if (in_table) text = replaced(text, "\\|", "|");
  return "<code>" + literal_text(text, true, in_table) + "</code>";
}

// The words between the quotes of a \ref: Doxygen reads no Markdown there.
std::string quoted(std::string_view text, bool in_table) {
  std::string out;
  for (const char c : plain(text)) {
    if (c == '|' && in_table) {
      out += "∣";  // no escape survives here, so another sign of the same looks
    } else if (c == '\n') {
      out += ' ';
    } else {
      out += (std::string_view("\\@#%\"").find(c) == std::string_view::npos ? "" : "\\") + std::string(1, c);
    }
  }
  return replaced(out, "--", "\\--");
}

bool is_all_code(std::string_view text) {
  const std::vector<Span> spans = scan(text);
  return spans.size() == 1 && spans[0].kind == Kind::code;
}

// A number and a point that begin a line within a paragraph: a year there begins no list.
void escape_list_mark(std::string& line) {
  const std::size_t digits = indent_of(line);
  const std::size_t point = line.find_first_not_of("0123456789", digits);
  if (point == std::string::npos || point == digits || line[point] != '.') return;
  if (point + 1 < line.size() && line[point + 1] == ' ') line.insert(point, "\\");
}

// Moves line ends that stood inside a span to the next spaces.
class LineKeeper {
 public:
  explicit LineKeeper(std::string_view paragraph) {
    const auto end = paragraph.find('\n');
    if (end != std::string_view::npos) indent_ = std::string(indent_of(split(paragraph.substr(end + 1))[0]), ' ');
  }

  void add_text(const std::string& text) {
    for (const char c : text) {
      if (c == ' ' && owed_ > 0) {
        out_ += '\n' + indent_;
        --owed_;
      } else {
        out_ += c;
      }
    }
  }

  void add_span(std::string text, std::size_t source_line_ends) {
    const auto kept = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    std::replace(text.begin(), text.end(), '\n', ' ');
    out_ += text;
    owed_ += std::max(source_line_ends, kept);
  }

  std::string finish() { return out_ + std::string(std::exchange(owed_, 0), '\n'); }

 private:
  std::string indent_;
  std::string out_;
  std::size_t owed_ = 0;
};

}  // namespace

DoxygenInline::DoxygenInline(std::filesystem::path page) : page_(std::move(page)), id_(page_id(page_)) {}

std::string DoxygenInline::convert(std::string_view paragraph) {
  Lines lines = split(render(paragraph, false));
  for (std::size_t i = 1; i < lines.size(); ++i) escape_list_mark(lines[i]);
  return joined(lines);
}

std::string DoxygenInline::convert_row(std::string_view row) { return render(row, true); }

std::string DoxygenInline::render(std::string_view paragraph, bool in_table) {
  LineKeeper out(paragraph);
  const std::vector<Span> spans = scan(paragraph);
  const std::size_t all_lines = lines_before(paragraph, paragraph.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Span& span = spans[i];
    const std::size_t line_ends = (i + 1 < spans.size() ? spans[i + 1].line : all_lines) - span.line;
    switch (span.kind) {
      case Kind::text:
        out.add_text(literal_text(span.text, false, in_table));
        break;
      case Kind::escaped:
        out.add_span(in_table && span.text == "|" ? "\\|" : literal(span.text[0]), 0);
        break;
      case Kind::code:
        out.add_span(code(span.text, in_table), line_ends);
        break;
      case Kind::math:
        out.add_span(formula(span, in_table), line_ends);
        break;
      case Kind::link:
        out.add_span(link(span.text, span.target, in_table), line_ends);
        break;
      case Kind::picture:
        out.add_span(is_remote(span.target)
                         ? literal_text(plain(span.text), false, in_table)
                         : "\\htmlonly<img src=\"" + html_text(picture_url(page_, span.target)) + "\" alt=\"" +
                               html_text(plain(span.text)) + "\"/>\\endhtmlonly",
                     line_ends);
        break;
      case Kind::url:
        out.add_span("<a href=\"" + html_text(span.text) + "\">" + literal_text(span.text, true, false) + "</a>",
                     0);
        break;
      case Kind::tag:
        out.add_span(span.text, line_ends);
        break;
      case Kind::comment:
        out.add_span("", line_ends);
        break;
      case Kind::emphasis_begin:
        out.add_span("<em>", 0);
        break;
      case Kind::emphasis_end:
        out.add_span("</em>", 0);
        break;
      case Kind::strong_begin:
        out.add_span("<strong>", 0);
        break;
      case Kind::strong_end:
        out.add_span("</strong>", 0);
        break;
    }
  }
  return out.finish();
}

std::string DoxygenInline::link(std::string_view text, const std::string& target, bool in_table) {
  if (is_remote(target)) return "<a href=\"" + html_text(target) + "\">" + render(text, in_table) + "</a>";
  const auto hash = target.find('#');
  const std::string anchor = hash == std::string::npos ? "" : target.substr(hash + 1);
  if (hash == 0) return reference(anchor_id(id_, anchor), text, in_table);

  const std::filesystem::path file = resolve(page_, target);
  if (const std::string id = page_id(file); !id.empty()) {
    return reference(anchor.empty() ? id : anchor_id(id, anchor), text, in_table);
  }
  const std::string path = file.generic_string();
  const auto library = path.rfind("/src/attn/");
  if (library != std::string::npos && file.extension() == ".hpp") {
    return reference(path.substr(library + 5), text, in_table);
  }
  return "<tt>" + literal_text(plain(text), true, in_table) + "</tt>";
}

std::string DoxygenInline::reference(const std::string& id, std::string_view text, bool in_table) {
  const bool in_map = id_ == "chapters" && id.rfind("ch", 0) == 0 && id.size() == 4 && subpages_.insert(id).second;
  const std::string words = (in_map ? "\\subpage " : "\\ref ") + id + " \"" + quoted(text, in_table) + '"';
  return is_all_code(text) ? "<code>" + words + "</code>" : words;
}

}  // namespace weave
