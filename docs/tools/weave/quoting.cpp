#include "quoting.hpp"

#include <algorithm>
#include <map>

namespace weave {

namespace fs = std::filesystem;

namespace {

// The name in `// [name]`, empty if the line is no such mark.
std::string mark_name(const std::string& line) {
  const std::string bare = trimmed(line);
  const bool is_mark = bare.size() > 5 && bare.rfind("// [", 0) == 0 && bare.back() == ']';
  const std::string name = is_mark ? bare.substr(4, bare.size() - 5) : "";
  return name.find_first_of(" ]") == std::string::npos ? name : "";
}

// The name in `== name: words ==`, empty if the line is no such heading.
std::string section_name(const std::string& line) {
  const auto colon = line.find(':');
  if (line.rfind("== ", 0) != 0 || colon == std::string::npos) return "";
  const std::string name = line.substr(3, colon - 3);
  return name.find(' ') == std::string::npos ? name : "";
}

Lines read_existing(const fs::path& file) {
  if (!fs::exists(file)) throw PageError(file.string() + ": no such file");
  return read_lines(file);
}

void move_to_margin(Lines& lines) {
  std::size_t margin = std::string::npos;
  for (const std::string& line : lines) {
    if (!trimmed(line).empty()) margin = std::min(margin, indent_of(line));
  }
  for (std::string& line : lines) line.erase(0, std::min(margin, line.size()));
}

void trim_blank_ends(Lines& lines) {
  const auto has_words = [](const std::string& line) { return !trimmed(line).empty(); };
  lines.erase(std::find_if(lines.rbegin(), lines.rend(), has_words).base(), lines.end());
  lines.erase(lines.begin(), std::find_if(lines.begin(), lines.end(), has_words));
}

}  // namespace

Lines code_region(const fs::path& source, const std::string& name) {
  const Lines lines = read_existing(source);
  std::map<std::string, int> times;
  for (const std::string& line : lines) ++times[mark_name(line)];

  Lines region;
  std::string marks;
  int count = 0, number = 0;
  for (const std::string& line : lines) {
    ++number;
    const std::string mark = mark_name(line);
    const bool of_a_region = !mark.empty() && times[mark] == 2;
    if (mark == name) marks += (count++ == 0 ? "line " : ", ") + std::to_string(number);
    if (!of_a_region && count == 1) region.push_back(line);
  }
  if (count == 0) throw PageError(source.string() + ": no region [" + name + "]");
  if (count != 2) {
    throw PageError(source.string() + ": region [" + name + "] stands between two marks \"// [" + name +
                    "]\", the file has " + std::to_string(count) + " (" + marks + ")");
  }
  move_to_margin(region);
  trim_blank_ends(region);
  return region;
}

Lines output_section(const fs::path& transcript, const std::string& name) {
  Lines section;
  int count = 0;
  const fs::path recorded = transcript.parent_path() / "measured.txt";
  for (const fs::path& file : {transcript, recorded}) {
    if (file == recorded && !fs::exists(recorded)) continue;
    bool inside = false;
    for (const std::string& line : read_existing(file)) {
      const std::string heading = section_name(line);
      if (!heading.empty()) {
        inside = heading == name;
        count += inside ? 1 : 0;
      } else if (inside) {
        section.push_back(line);
      }
    }
  }
  if (count == 0) throw PageError(transcript.string() + ": no section \"== " + name + ": … ==\"");
  if (count > 1)
    throw PageError(transcript.string() + ": section " + name + " is there " + std::to_string(count) + " times");
  trim_blank_ends(section);
  return section;
}

}  // namespace weave
