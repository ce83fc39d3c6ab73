#include <algorithm>
#include <map>
#include <set>

#include "report.hpp"
#include "tags.hpp"
#include "weave/blocks.hpp"
#include "weave/formulas.hpp"
#include "weave/html.hpp"
#include "weave/inline.hpp"
#include "weave/slug.hpp"

namespace links {

namespace fs = std::filesystem;

namespace {

using weave::Span;

struct Link {
  std::size_t line;
  std::string target;
};

struct Page {
  std::set<std::string> anchors;
  std::vector<Link> links;
  std::vector<Link> formulas;  // between `$`, with something in them that GitHub takes for Markdown
};

void add_tag(Page& page, const std::string& html, std::size_t line) {
  for (const Tag& tag : tags(html)) {
    for (const char* name : {"id", "name"}) {
      if (const auto found = tag.attributes.find(name); found != tag.attributes.end())
        page.anchors.insert(found->second);
    }
    for (const std::string& target : targets_of(tag)) page.links.push_back({line, target});
  }
}

void add_prose(Page& page, const std::string& text, std::size_t line) {
  for (const Span& span : weave::scan(text)) {
    const std::size_t here = line + span.line;
    if (span.kind == Span::Kind::link || span.kind == Span::Kind::picture) {
      page.links.push_back({here, span.target});
      add_prose(page, span.text, here);
    }
    if (span.kind == Span::Kind::tag) add_tag(page, span.text, here);
    if (span.kind == Span::Kind::math && !span.backticks && !weave::taken_for_markdown(span.text).empty()) {
      page.formulas.push_back({here, span.text});
    }
  }
}

// The target of `[name]: target "title"`, empty if the line defines none; `[^1]: …` is a footnote.
std::string defined_target(const std::string& line) {
  const std::string bare = weave::trimmed(line);
  const std::size_t close = std::min(bare.find(']'), bare.size());
  if (bare.rfind('[', 0) != 0 || bare.rfind("[^", 0) == 0 || bare.compare(close, 2, "]:") != 0) return "";
  const std::string rest = weave::trimmed(std::string_view(bare).substr(close + 2));
  const bool in_angles = rest.rfind('<', 0) == 0 && rest.find('>') != std::string::npos;
  const std::size_t end = in_angles ? rest.find('>') + 1 : std::min(rest.find_first_of(" \t"), rest.size());
  const std::string title = weave::trimmed(std::string_view(rest).substr(end));
  if (!title.empty() && std::string_view("\"'(").find(title[0]) == std::string_view::npos) return "";
  return in_angles ? rest.substr(1, end - 2) : rest.substr(0, end);
}

// Definitions stand at the beginning of a paragraph.
void add_definitions(Page& page, const std::string& paragraph, std::size_t line) {
  for (const std::string& text : weave::split(paragraph)) {
    const std::string target = defined_target(text);
    if (target.empty()) return;
    page.links.push_back({line++, target});
  }
}

Page read_page(const fs::path& file) {
  const weave::Lines lines = weave::read_lines(file);
  Page page;
  weave::Slugs slugs;
  for (const weave::Prose& part : weave::prose(lines)) {
    if (part.level > 0) page.anchors.insert(slugs.next(part.text));
    add_prose(page, part.text, part.line + 1);
    if (part.level == 0 && !part.table) add_definitions(page, part.text, part.line + 1);
  }
  return page;
}

bool is_left_out(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name[0] == '.' || name == "my" || name.rfind("build", 0) == 0;
}

std::vector<fs::path> markdown_files(const fs::path& root) {
  std::vector<fs::path> files;
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::recursive_directory_iterator(); ++entry) {
    if (entry->is_directory() && is_left_out(entry->path())) {
      entry.disable_recursion_pending();
    } else if (entry->path().extension() == ".md") {
      files.push_back(entry->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The page that GitHub shows for a path: in a folder its README.md.
const Page* shown_page(const std::map<fs::path, Page>& pages, const fs::path& path) {
  const auto found = pages.find(fs::is_directory(path) ? path / "README.md" : path);
  return found == pages.end() ? nullptr : &found->second;
}

}  // namespace

Report check_markdown(const fs::path& folder) {
  const fs::path root = existing_folder(folder);
  std::map<fs::path, Page> pages;
  for (const fs::path& file : markdown_files(root)) pages[file] = read_page(file);

  Report report;
  report.pages = pages.size();
  for (const auto& [file, page] : pages) {
    for (const Link& formula : page.formulas) {
      report.broken.push_back(
          {file.lexically_relative(root).generic_string() + ":" + std::to_string(formula.line),
           "wanted $`…`$, since GitHub takes " + weave::taken_for_markdown(formula.target) + " for Markdown",
           formula.target});
    }
    for (const Link& link : page.links) {
      ++report.links;
      if (weave::is_remote(link.target)) continue;
      const std::string where = file.lexically_relative(root).generic_string() + ":" + std::to_string(link.line);
      const auto fail = [&](const std::string& why) { report.broken.push_back({where, why, link.target}); };
      const auto hash = link.target.find('#');
      const std::string name = without_percents(link.target.substr(0, hash));
      const fs::path base = name.rfind('/', 0) == 0 ? fs::path(root.string() + name) : file.parent_path() / name;
      const fs::path target = name.empty() ? file : base.lexically_normal();
      if (target.lexically_relative(root).generic_string().rfind("..", 0) == 0) {
        fail("outside the project");
      } else if (!fs::exists(target)) {
        fail("no such file");
      } else if (hash != std::string::npos && (fs::is_directory(target) || target.extension() == ".md")) {
        const Page* aim = shown_page(pages, target);
        const std::string anchor = without_percents(link.target.substr(hash + 1));
        if (aim == nullptr || aim->anchors.count(anchor) == 0) fail("no such heading");
      }
    }
  }
  return report;
}

}  // namespace links
