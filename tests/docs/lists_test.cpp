// What is in the tree is in the lists of its pages.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "attn/core/files.hpp"
#include "catch.hpp"

namespace {

namespace fs = std::filesystem;

const fs::path tree = ATTN_TEST_SOURCE;

/// The folders in a folder, but for those that begin otherwise than with a digit where numbered ones are asked
/// for.
std::vector<std::string> folders(const fs::path& folder, bool numbered) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool number = std::isdigit(static_cast<unsigned char>(name[0])) != 0;
    if (entry.is_directory() && (number || !numbered)) names.push_back(name);
  }
  return names;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("every chapter is in both tables of chapters, which say the same") {
  const std::string outside = attn::read_file(tree / "README.md");
  const std::string inside = attn::read_file(tree / "chapters/README.md");
  for (const std::string& name : folders(tree / "chapters", true)) {
    INFO(name);
    const std::string link = "](" + name + "/README.md)";
    REQUIRE(has(inside, link));
    std::istringstream lines(inside);
    std::string row;
    while (std::getline(lines, row) && !has(row, link)) continue;
    row.replace(row.find("]("), 2, "](chapters/");
    CHECK(has(outside, row + "\n"));
  }
}

TEST_CASE("every golden case is in the table of cases") {
  const std::string page = attn::read_file(tree / "golden/README.md");
  for (const std::string& chapter : folders(tree / "golden", true)) {
    for (const std::string& name : folders(tree / "golden" / chapter, false)) {
      INFO(chapter + "/" + name);
      if (!fs::exists(tree / "golden" / chapter / name / "case.json")) continue;  // weights that cases share
      CHECK(has(page, "| `" + chapter + "/" + name + "` |"));
    }
  }
}

TEST_CASE("every room is in the plan of rooms, and in the list of what is where") {
  const std::string plan = attn::read_file(tree / "docs/architecture.md");
  const std::string list = attn::read_file(tree / "README.md");
  for (const std::string& room : folders(tree / "src/attn", false)) {
    INFO(room);
    CHECK(has(plan, room + "/ "));
    CHECK(has(list, room));
  }
}
