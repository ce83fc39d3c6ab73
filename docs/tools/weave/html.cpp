#include "html.hpp"

#include "inline.hpp"
#include "page.hpp"

namespace weave {

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string html_inline(std::string_view paragraph) {
  using Kind = Span::Kind;
  std::string out;
  for (const Span& span : scan(paragraph)) {
    switch (span.kind) {
      case Kind::code:
        out += "<code>" + html_text(span.text) + "</code>";
        break;
      case Kind::math:
        out += "\\(" + html_text(span.text) + "\\)";
        break;
      case Kind::link:
      case Kind::picture:
        out += html_inline(span.text);
        break;
      case Kind::tag:
        out += span.text;
        break;
      case Kind::comment:
        break;
      case Kind::emphasis_begin:
        out += "<em>";
        break;
      case Kind::emphasis_end:
        out += "</em>";
        break;
      case Kind::strong_begin:
        out += "<strong>";
        break;
      case Kind::strong_end:
        out += "</strong>";
        break;
      default:
        out += html_text(span.text);
    }
  }
  return out;
}

std::string picture_url(const std::filesystem::path& page, const std::string& target) {
  const std::filesystem::path file = resolve(page, target);
  return "pictures/" + (file.parent_path().filename() / file.filename()).generic_string();
}

bool is_remote(std::string_view target) {
  return target.find("://") != std::string_view::npos || target.substr(0, 7) == "mailto:";
}

}  // namespace weave
