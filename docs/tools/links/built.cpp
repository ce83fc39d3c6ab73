#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "report.hpp"
#include "tags.hpp"

namespace links {

namespace fs = std::filesystem;

namespace {

bool starts(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

bool is_network(std::string_view target) {
  return starts(target, "//") || target.find("://") != std::string_view::npos;
}

// javascript:, data:, mailto: and their like lead to no file.
bool has_scheme(const std::string& target) {
  const std::size_t end = target.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+.-");
  return end != std::string::npos && target[end] == ':' && target[0] >= 'a' && target[0] <= 'z';
}

int hex_digit(char c) {
  static const std::string digits = "0123456789abcdef";
  return static_cast<int>(digits.find(static_cast<char>(std::tolower(static_cast<unsigned char>(c)))));
}

// The text from here up to the first of some letters. (No std::regex on whole files: it recurses once a letter,
// and a long line of a script overflows the stack.)
std::string_view up_to(std::string_view text, std::size_t from, std::string_view stops) {
  return text.substr(from, std::min(text.find_first_of(stops, from), text.size()) - from);
}

// Strings of a script that name a page: Doxygen's navigation and search, and the data of our own search. What
// comes after NAVTREEINDEX only says where one part of the navigation's index ends and the next begins; nobody
// follows it.
std::vector<std::string> pages_named_in(std::string_view script) {
  script = script.substr(0, script.find("var NAVTREEINDEX ="));
  constexpr std::string_view quotes = "\"'", ending = ".html";
  std::vector<std::string> names;
  for (std::size_t at = script.find(ending); at != std::string_view::npos; at = script.find(ending, at + 1)) {
    const std::size_t quote = script.find_last_of("\"' \t\n<>()+", at);
    if (quote == std::string_view::npos || quotes.find(script[quote]) == std::string_view::npos) continue;
    if (quote + 1 == at) continue;  // a name that the script puts together
    const std::string_view name = up_to(script, quote + 1, "\"' \t\n<>()+");
    const std::string_view rest = name.substr(std::min(at - quote - 1 + ending.size(), name.size()));
    const std::string_view folder = starts(name, "../") ? name.substr(3) : name;
    const bool of_this_site = folder.substr(0, folder.find('#')).find('/') == std::string_view::npos;
    const bool whole = quote + 1 + name.size() < script.size() && script[quote + 1 + name.size()] == script[quote];
    if (of_this_site && whole && (rest.empty() || rest[0] == '#')) names.emplace_back(name);
  }
  return names;
}

void sort_by_page(std::vector<Broken>& broken) {
  std::sort(broken.begin(), broken.end(), [](const Broken& a, const Broken& b) {
    return std::tie(a.page, a.why, a.target) < std::tie(b.page, b.why, b.target);
  });
}

class Site {
 public:
  explicit Site(const fs::path& folder) : root_(existing_folder(folder)) {
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      if (!entry.is_regular_file()) continue;
      const fs::path& file = entry.path();
      if (file.extension() == ".html" || file.extension() == ".svg") read_page(file);
      if (file.extension() == ".js") scripts_[file] = pages_named_in(read_file(file));
    }
  }

  Report check() {
    for (const auto& [page, tags] : pages_) {
      for (const Tag& tag : tags) {
        for (const std::string& target : targets_of(tag)) check_target(page, tag, target);
      }
    }
    for (const auto& [script, names] : scripts_) {
      for (const std::string& name : names) check_file(script, name);
    }
    check_reach();
    report_.pages = pages_.size();
    sort_by_page(report_.broken);
    return report_;
  }

 private:
  void read_page(const fs::path& file) {
    auto& tags = pages_[file] = links::tags(read_file(file));
    for (const Tag& tag : tags) {
      if (const auto id = tag.attributes.find("id"); id != tag.attributes.end()) ids_[file].insert(id->second);
      if (const auto name = tag.attributes.find("name"); tag.name == "a" && name != tag.attributes.end()) {
        ids_[file].insert(name->second);
      }
    }
  }

  void fail(const fs::path& page, const std::string& why, const std::string& target) {
    report_.broken.push_back({page.lexically_relative(root_).generic_string(), why, target});
  }

  void check_target(const fs::path& page, const Tag& tag, const std::string& target) {
    if (is_network(target)) {
      ++report_.links;
      if (!is_loaded(tag) && !starts(target, "https://")) fail(page, "not https", target);
    } else if (!has_scheme(target)) {
      check_file(page, target);
    }
  }

  void check_file(const fs::path& from, const std::string& target) {
    ++report_.links;
    const auto hash = target.find('#');
    std::string name = without_percents(target.substr(0, hash));
    name.erase(std::min(name.find('?'), name.size()));
    const std::string anchor = hash == std::string::npos ? "" : without_percents(target.substr(hash + 1));
    const fs::path file = name.empty() ? from : (from.parent_path() / name).lexically_normal();
    if (!fs::exists(file)) return fail(from, "no such file", target);
    linked_[from].insert(file);
    const auto ids = ids_.find(file);
    const bool known = anchor.empty() || (ids != ids_.end() && ids->second.count(anchor) != 0);
    if (!known && file.extension() == ".html") fail(from, "no such anchor", target);
  }

  // Every script counts as read by the start page.
  void check_reach() {
    const fs::path start = root_ / "index.html";
    if (!fs::exists(start)) return fail(start, "no such file", "index.html");
    std::vector<fs::path> todo{start};
    for (const auto& script : scripts_) todo.push_back(script.first);
    std::set<fs::path> reached(todo.begin(), todo.end());
    while (!todo.empty()) {
      const fs::path page = todo.back();
      todo.pop_back();
      for (const fs::path& next : linked_[page]) {
        if (reached.insert(next).second) todo.push_back(next);
      }
    }
    for (const auto& [page, tags] : pages_) {
      const std::string name = page.filename().string();
      const bool of_a_folder = starts(name, "dir_");  // Doxygen makes them, and links to few
      const bool counts = page.parent_path() == root_ && page.extension() == ".html" && !of_a_folder;
      if (counts && reached.count(page) == 0) fail(page, "no page leads here", "");
    }
  }

  fs::path root_;
  std::map<fs::path, std::vector<Tag>> pages_;
  std::map<fs::path, std::set<std::string>> ids_;
  std::map<fs::path, std::vector<std::string>> scripts_;
  std::map<fs::path, std::set<fs::path>> linked_;
  Report report_;
};

// Addresses in url(…) and @import of a style sheet or of a <style> element.
std::vector<std::string> style_targets(std::string_view text) {
  std::vector<std::string> found;
  for (const std::string_view mark : {"url(", "@import"}) {
    for (std::size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + 1)) {
      const std::size_t first = text.find_first_not_of("\"' \t\n", at + mark.size());
      if (first != std::string_view::npos) found.emplace_back(up_to(text, first, "\"') \t\n;"));
    }
  }
  return found;
}

}  // namespace

std::string without_percents(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool coded = text[i] == '%' && i + 2 < text.size() &&
                       std::isxdigit(static_cast<unsigned char>(text[i + 1])) &&
                       std::isxdigit(static_cast<unsigned char>(text[i + 2]));
    out += coded ? static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])) : text[i];
    i += coded ? 2 : 0;
  }
  return out;
}

fs::path existing_folder(const fs::path& folder) {
  if (!fs::is_directory(folder)) throw std::runtime_error(folder.string() + ": no such folder");
  return fs::canonical(folder);
}

std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(file.string() + ": cannot be read");
  std::string text;
  for (char part[1 << 14]; in.read(part, sizeof part), in.gcount() > 0;) {
    text.append(part, static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) throw std::runtime_error(file.string() + ": cannot be read to its end");
  return text;
}

Report check_html(const fs::path& folder) { return Site(folder).check(); }

Report check_network(const fs::path& folder) {
  const fs::path root = existing_folder(folder);
  Report report;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const fs::path& file = entry.path();
    const bool page = file.extension() == ".html" || file.extension() == ".svg";
    if (!page && file.extension() != ".css") continue;
    ++report.pages;
    const std::string text = read_file(file);
    std::vector<std::string> loaded = style_targets(text);
    for (const Tag& tag : page ? tags(text) : std::vector<Tag>{}) {
      if (!is_loaded(tag)) continue;
      for (const std::string& target : targets_of(tag)) loaded.push_back(target);
    }
    report.links += loaded.size();
    for (const std::string& target : loaded) {
      if (is_network(target) && !starts(target, "data:")) {
        report.broken.push_back({file.lexically_relative(root).generic_string(), "needs the network", target});
      }
    }
  }
  sort_by_page(report.broken);
  return report;
}

}  // namespace links
