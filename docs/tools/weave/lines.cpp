#include "lines.hpp"

#include <fstream>

namespace weave {

Lines read_lines(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in || std::filesystem::is_directory(file)) throw FileError(file.string() + ": cannot be read");
  Lines lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  if (in.bad()) throw FileError(file.string() + ": cannot be read to its end");
  return lines;
}

void write_lines(const std::filesystem::path& file, const Lines& lines) {
  const std::filesystem::path part = file.string() + ".part";
  std::ofstream out(part);
  for (const std::string& line : lines) out << line << '\n';
  out.close();
  if (!out) throw FileError(part.string() + ": cannot be written");
  std::error_code failed;
  std::filesystem::rename(part, file, failed);
  if (failed) throw FileError(file.string() + ": cannot be replaced: " + failed.message());
}

Lines split(std::string_view text) {
  Lines lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (std::size_t at = text.find(from); at != std::string_view::npos; at = text.find(from)) {
    out += text.substr(0, at);
    out += to;
    text.remove_prefix(at + from.size());
  }
  return out += text;
}

std::string joined(const Lines& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) text += (i == 0 ? "" : "\n") + lines[i];
  return text;
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

std::size_t indent_of(std::string_view line) {
  const auto first = line.find_first_not_of(" \t");
  return first == std::string_view::npos ? line.size() : first;
}

}  // namespace weave
