#include "doxygen.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "blocks.hpp"
#include "doxygen_inline.hpp"
#include "html.hpp"
#include "inline.hpp"
#include "page.hpp"
#include "slug.hpp"

namespace weave {

namespace {

using Kind = Block::Kind;

// What Doxygen calls GitHub's five kinds of alert; empty if the line begins none.
std::string alert_command(const std::string& line) {
  static const std::map<std::string, std::string> commands{{"> [!NOTE]", "\\note"},
                                                           {"> [!TIP]", "\\remark"},
                                                           {"> [!IMPORTANT]", "\\attention"},
                                                           {"> [!WARNING]", "\\warning"},
                                                           {"> [!CAUTION]", "\\warning"}};
  const auto found = commands.find(trimmed(line));
  return found == commands.end() ? "" : found->second;
}

// "1. Similarity" would begin a list in Doxygen's title: a space that cannot break keeps it a title.
std::string unlisted(const std::string& title) {
  const std::size_t point = title.find_first_not_of("0123456789");
  if (point == 0 || point == std::string::npos || title.compare(point, 2, ". ") != 0) return title;
  return title.substr(0, point + 1) + "\u00A0" + title.substr(point + 2);
}

std::string language(const std::string& info) {
  const std::string word = info.substr(0, info.find(' '));
  static const std::map<std::string, std::string> extensions{
      {"text", "unparsed"}, {"python", "py"}, {"bash", "sh"}, {"shell", "sh"}, {"c++", "cpp"}};
  const auto found = extensions.find(word);
  return found == extensions.end() ? word : found->second;
}

class Filter {
 public:
  explicit Filter(std::filesystem::path page) : page_(page), id_(page_id(page)), inline_(std::move(page)) {}

  Lines convert(const Lines& lines) {
    Lines out = converted(lines, 0);
    if (!owed_.empty()) out.push_back(owed_);
    return out;
  }

 private:
  Lines converted(const Lines& lines, std::size_t offset) {
    std::swap(out_, outer_.emplace_back());
    const std::vector<Block> all = blocks(lines);
    for (std::size_t i = 0; i < all.size(); ++i) {
      line_ = offset + all[i].first + 1;
      block(lines, all[i], i + 1 < all.size() && all[i + 1].kind == Kind::fence);
    }
    Lines done = std::move(out_);
    out_ = std::move(outer_.back());
    outer_.pop_back();
    return done;
  }

  void block(const Lines& lines, const Block& block, bool fence_below) {
    const std::string& first = lines[block.first];
    switch (block.kind) {
      case Kind::blank:
        blank();
        break;
      case Kind::heading:
        heading(first.substr(block.prefix), block.level);
        break;
      case Kind::fence:
        fence(lines, block);
        break;
      case Kind::comment:
        comment(first, block.last - block.first, fence_below);
        break;
      case Kind::html:
        emit("\\htmlonly[block]" + first + "\\endhtmlonly");
        break;
      case Kind::quote:
        quote(lines, block);
        break;
      case Kind::table:
        table(lines, block);
        break;
      case Kind::paragraph:
        paragraph(lines, block);
        break;
      case Kind::rule:
      case Kind::indented:
        copy(lines, block.first, block.last);
        break;
    }
  }

  // What closes the block above comes first.
  void emit(const std::string& line) { out_.push_back(std::exchange(owed_, "") + line); }

  void emit_alone(const std::string& line) {
    if (!owed_.empty()) {
      throw PageError(page_.string() + ":" + std::to_string(line_) + ": leave an empty line above this one");
    }
    out_.push_back(line);
  }

  void copy(const Lines& lines, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) emit_alone(lines[i]);
  }

  void blank() {
    const bool contents = std::exchange(contents_wanted_, false);
    emit(contents ? "[TOC]" : "");
  }

  // Doxygen prints headings as they are, so they lose their markup. Those of the main page would stand in the side
  // bar above the chapters if Doxygen knew them as headings.
  void heading(const std::string& text, int level) {
    const std::string words = trimmed(plain(text)), slug = slugs_.next(text);
    if (level == 1 && !std::exchange(titled_, true)) {
      emit_alone("# " + unlisted(words) + (id_ == "index" || id_.empty() ? "" : " {#" + id_ + "}"));
      contents_wanted_ = id_ != "index" && id_ != "chapters";
    } else if (id_ == "index") {
      const std::string tag = "h" + std::to_string(std::max(1, level - 1));
      emit_alone("<" + tag + ">\\anchor " + anchor_id(id_, slug) + " " + html_text(words) + "</" + tag + ">");
    } else {
      emit_alone(std::string(static_cast<std::size_t>(level), '#') + " " + words + " {#" + anchor_id(id_, slug) +
                 "}");
    }
  }

  void fence(const Lines& lines, const Block& block) {
    const std::string indent(indent_of(lines[block.first]), ' ');
    const bool formula = block.info == "math";
    const bool output = std::exchange(output_, false);
    const std::string marks =
        trimmed(lines[block.first]).substr(0, trimmed(lines[block.first]).size() - block.info.size());
    const std::string info = block.info.empty() ? "" : "{." + language(block.info) + "}";
    if (output) {
      out_.push_back(marks + info);
    } else {
      emit_alone(indent + (formula ? "\\f[" : trimmed(marks) + info));
    }
    const std::size_t body = fence_body(lines, block).size();
    for (std::size_t i = 1; i <= body; ++i) out_.push_back(lines[block.first + i]);
    if (body + 2 == block.last - block.first) out_.push_back(formula ? indent + "\\f]" : lines[block.last - 1]);
    if (output) owed_ = "</div>" + owed_;
  }

  void comment(const std::string& first, std::size_t count, bool fence_below) {
    const std::string text = trimmed(first);
    if (text.rfind("<!-- output:", 0) == 0 && fence_below) {
      emit("<div class=\"output\">");
      output_ = true;
    } else if (text == "<!-- top -->" || text == "<!-- nav -->") {
      emit("<div class=\"" + text.substr(5, 3) + "\">");
      owed_after_paragraph_ = "</div>";
    } else {
      for (std::size_t i = 0; i < count; ++i) emit("");
    }
  }

  void quote(const Lines& lines, const Block& block) {
    const std::string command = alert_command(lines[block.first]);
    Lines inner = quote_body(lines, block);
    if (command.empty()) {
      for (const std::string& line : converted(inner, block.first)) emit("> " + line);
      return;
    }
    inner.erase(inner.begin());
    const std::vector<Block> parts = blocks(inner);
    const bool simple = parts.size() == 1 && parts[0].kind == Kind::paragraph && parts[0].prefix == 0;
    emit(command + (simple ? "" : " \\parblock"));
    for (const std::string& line : converted(inner, block.first + 1)) emit(line);
    if (!simple) owed_ += "\\endparblock";
  }

  void table(const Lines& lines, const Block& block) {
    for (std::size_t i = block.first; i < block.last; ++i) {
      emit_alone(i == block.first + 1 ? lines[i] : inline_.convert_row(lines[i]));
    }
  }

  void paragraph(const Lines& lines, const Block& block) {
    Lines text(lines.begin() + static_cast<std::ptrdiff_t>(block.first),
               lines.begin() + static_cast<std::ptrdiff_t>(block.last));
    const std::string mark = text[0].substr(0, block.prefix);
    text[0].erase(0, block.prefix);
    if (mark.empty() && text.size() == 1 && figure(text[0])) return;
    const Lines done = split(inline_.convert(joined(text)));
    for (std::size_t i = 0; i < done.size(); ++i) {
      const bool last = i + 1 == done.size();
      emit((i == 0 ? mark : "") + done[i] + (last ? std::exchange(owed_after_paragraph_, "") : ""));
    }
  }

  // A picture alone on its line; Doxygen would drop its description and mix the pictures of all chapters.
  bool figure(const std::string& line) {
    const std::vector<Span> spans = scan(trimmed(line));
    if (spans.size() != 1 || spans[0].kind != Span::Kind::picture || is_remote(spans[0].target)) return false;
    const Span& picture = spans[0];
    emit("\\htmlonly[block]<figure><img src=\"" + html_text(picture_url(page_, picture.target)) + "\" alt=\"" +
         html_text(plain(picture.text)) + "\"/><figcaption>" +
         html_inline(picture.title.empty() ? picture.text : picture.title) +
         "</figcaption></figure>\\endhtmlonly");
    return true;
  }

  std::filesystem::path page_;
  std::string id_;
  DoxygenInline inline_;
  Slugs slugs_;
  Lines out_;
  std::vector<Lines> outer_;
  std::size_t line_ = 0;
  std::string owed_;                  // closes a block, and waits for the next line
  std::string owed_after_paragraph_;  // the same, at the end of the next paragraph
  bool titled_ = false;
  bool contents_wanted_ = false;
  bool output_ = false;
};

}  // namespace

Lines doxygen(const std::filesystem::path& page, const Lines& lines) { return Filter(page).convert(lines); }

}  // namespace weave
