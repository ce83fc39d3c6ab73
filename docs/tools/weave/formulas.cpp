#include "formulas.hpp"

#include <algorithm>
#include <cctype>

#include "blocks.hpp"
#include "inline.hpp"
#include "letters.hpp"
#include "script.hpp"

namespace weave {

namespace {

// The text of a source line's comment: what follows ///, //! or the * of a longer comment.
std::string comment_text(const std::string& line) {
  const std::string bare = trimmed(line);
  for (const std::string mark : {"///<", "///", "//!", "/**", "*"}) {
    if (bare.rfind(mark, 0) == 0) return bare.substr(mark.size());
  }
  const auto trailing = line.find("///<");
  return trailing == std::string::npos ? "" : line.substr(trailing + 4);
}

}  // namespace

std::vector<Formula> page_formulas(const Lines& lines) {
  std::vector<Formula> found;
  for (const Prose& part : prose(lines)) {
    for (const Span& span : scan(part.text)) {
      if (span.kind != Span::Kind::math) continue;
      found.push_back({part.line + 1 + span.line, span.text, span.display});
      if (part.table) found.back().tex = replaced(span.text, "\\|", "|");
    }
  }
  for (const Fence& fence : fences(lines)) {
    if (fence.info != "math") continue;
    const auto behind = [&](const Formula& formula) { return formula.line > fence.line + 1; };
    found.insert(std::find_if(found.begin(), found.end(), behind), {fence.line + 1, joined(fence.body), true});
  }
  return found;
}

std::string taken_for_markdown(std::string_view tex) {
  const auto is_in_a_word = [&](std::size_t i) {
    return i > 0 && i + 1 < tex.size() && is_word(letter_before(tex, i).code) &&
           is_word(letter_at(tex, i + 1).code);
  };
  for (std::size_t i = 0; i < tex.size(); ++i) {
    if (tex[i] == '*' || (tex[i] == '_' && !is_in_a_word(i))) return {tex[i]};
    if (tex[i] != '\\' || i + 1 == tex.size()) continue;
    if (std::ispunct(static_cast<unsigned char>(tex[i + 1])) != 0) return std::string(tex.substr(i, 2));
  }
  return "";
}

std::vector<Formula> comment_formulas(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += comment_text(line) + '\n';
  std::vector<Formula> found;
  std::size_t line = 1, from = 0;
  for (std::size_t at = text.find("\\f"); at != std::string::npos; at = text.find("\\f", at)) {
    const bool display = at + 2 < text.size() && text[at + 2] == '[';
    const bool formula = display || (at + 2 < text.size() && text[at + 2] == '$');
    const std::size_t end = formula ? text.find(display ? "\\f]" : "\\f$", at + 3) : std::string::npos;
    if (end != std::string::npos) {
      line += lines_before(std::string_view(text).substr(from), at - from);
      from = at;
      found.push_back({line, text.substr(at + 3, end - at - 3), display});
    }
    at = end == std::string::npos ? at + 2 : end + 3;
  }
  return found;
}

std::string formulas_script(const std::vector<std::filesystem::path>& files) {
  std::string script = "const FORMULAS = [\n";
  for (const auto& file : files) {
    const Lines lines = read_lines(file);
    for (const Formula& formula : file.extension() == ".md" ? page_formulas(lines) : comment_formulas(lines)) {
      script += "  {where: " + script_string(file.string() + ":" + std::to_string(formula.line)) +
                ", tex: " + script_string(formula.tex) + ", display: " + (formula.display ? "true" : "false") +
                "},\n";
    }
  }
  return script + "];\n";
}

}  // namespace weave
