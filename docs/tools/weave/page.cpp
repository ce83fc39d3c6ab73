#include "page.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

#include "blocks.hpp"
#include "inline.hpp"

namespace weave {

namespace fs = std::filesystem;

namespace {

fs::path normal(const fs::path& path) { return fs::absolute(path).lexically_normal(); }

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

bool is_chapter_folder(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name.size() > 3 && is_digit(name[0]) && is_digit(name[1]) && name[2] == '-' &&
         folder.parent_path().filename() == "chapters";
}

// "README.zh-CN.md" -> "README"
std::string first_stem(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.substr(0, name.find('.'));
}

}  // namespace

std::string page_id(const fs::path& page) {
  const fs::path file = normal(page), folder = file.parent_path();
  if (file.extension() != ".md") return "";
  const std::string stem = first_stem(file);
  if (folder.filename() == "docs") return stem == "main" ? "index" : stem;
  if (stem != "README") return "";
  if (is_chapter_folder(folder)) return "ch" + folder.filename().string().substr(0, 2);
  if (folder.filename() == "chapters" || folder.filename() == "golden") return folder.filename().string();
  return fs::is_directory(folder / "chapters") ? "index" : "";
}

std::string page_url(const std::string& id) { return id + ".html"; }

std::string anchor_id(const std::string& id, const std::string& slug) { return id + "-" + slug; }

bool is_chapter(const fs::path& page) {
  return first_stem(page) == "README" && is_chapter_folder(normal(page).parent_path());
}

std::string title_of(const fs::path& page) {
  for (const Prose& part : prose(read_lines(page))) {
    if (part.level == 1) return trimmed(part.text);
  }
  throw PageError(page.string() + ": has no title (a line that begins with \"# \")");
}

std::string short_title(const std::string& title) { return title.substr(0, title.find(':')); }

Neighbours neighbours(const fs::path& chapter) {
  const fs::path here = normal(chapter).parent_path();
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(here.parent_path())) {
    if (is_chapter_folder(entry.path()) && fs::exists(entry.path() / chapter.filename())) {
      folders.push_back(entry.path());
    }
  }
  std::sort(folders.begin(), folders.end());
  const auto at = std::find(folders.begin(), folders.end(), here);
  Neighbours found;
  if (at == folders.end()) return found;
  if (at != folders.begin()) found.before = *(at - 1) / chapter.filename();
  if (at + 1 != folders.end()) found.after = *(at + 1) / chapter.filename();
  return found;
}

fs::path resolve(const fs::path& page, const std::string& target) {
  const fs::path path = normal(page.parent_path() / target.substr(0, target.find('#')));
  return fs::is_directory(path) && fs::exists(path / "README.md") ? (path / "README.md").lexically_normal() : path;
}

}  // namespace weave
