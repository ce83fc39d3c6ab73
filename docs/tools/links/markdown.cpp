#include <algorithm>
#include <map>
#include <set>

#include "report.hpp"
#include "tags.hpp"
#include "weave/blocks.hpp"
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
};

void add_tag(Page& page, const std::string& html, std::size_t line) {
  for (const Tag& tag : tags(html)) {
    for (const char* name : {"id", "name"}) {
      if (const auto found = tag.attributes.find(name); found != tag.attributes.end())
        page.anchors.insert(found->second);
    }
    if (const std::string target = target_of(tag); !target.empty()) page.links.push_back({line, target});
  }
}

void add_prose(Page& page, const std::string& text, std::size_t line) {
  for (const Span& span : weave::scan(text)) {
    const std::size_t here = line + weave::lines_before(text, span.at);
    if (span.kind == Span::Kind::link || span.kind == Span::Kind::picture) {
      page.links.push_back({here, span.target});
      add_prose(page, span.text, here);
    }
    if (span.kind == Span::Kind::tag) add_tag(page, span.text, here);
  }
}

Page read_page(const fs::path& file) {
  const weave::Lines lines = weave::read_lines(file);
  Page page;
  weave::Slugs slugs;
  for (const weave::Prose& part : weave::prose(lines)) {
    if (part.level > 0) page.anchors.insert(slugs.next(part.text));
    add_prose(page, part.text, part.line + 1);
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

}  // namespace

Report check_markdown(const fs::path& folder) {
  const fs::path root = existing_folder(folder);
  std::map<fs::path, Page> pages;
  for (const fs::path& file : markdown_files(root)) pages[file] = read_page(file);

  Report report;
  report.pages = pages.size();
  for (const auto& [file, page] : pages) {
    for (const Link& link : page.links) {
      ++report.links;
      if (weave::is_remote(link.target)) continue;
      const std::string where = file.lexically_relative(root).generic_string() + ":" + std::to_string(link.line);
      const auto fail = [&](const std::string& why) { report.broken.push_back({where, why, link.target}); };
      const auto hash = link.target.find('#');
      const std::string name = link.target.substr(0, hash);
      const fs::path base = name.rfind('/', 0) == 0 ? fs::path(root.string() + name) : file.parent_path() / name;
      const fs::path target = name.empty() ? file : base.lexically_normal();
      if (target.lexically_relative(root).generic_string().rfind("..", 0) == 0) {
        fail("outside the project");
      } else if (!fs::exists(target)) {
        fail("no such file");
      } else if (const auto aim = pages.find(target); hash != std::string::npos && aim != pages.end()) {
        if (aim->second.anchors.count(link.target.substr(hash + 1)) == 0) fail("no such heading");
      }
    }
  }
  return report;
}

}  // namespace links
