// Includes go down only: from a room to a room below it, from a lesson to an earlier one.
#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "attn/core/files.hpp"
#include "catch.hpp"
#include "scratch.hpp"

namespace fs = std::filesystem;

namespace {

/// Which rooms a room may include besides itself. A room that is not here fails the test: say where it stands.
const std::map<std::string, std::set<std::string>> below = {
    {"core", {}},
    {"formats", {"core"}},
    {"text", {"core", "formats"}},
    {"reference", {"core", "formats"}},
    {"drawing", {"core", "formats"}},
    {"golden", {"core", "formats"}},
    {"engine", {"core", "formats"}},
    {"training", {"core", "formats", "engine"}},
    {"translation", {"core", "formats", "engine"}},
};

/// Only these files may include these libraries.
const std::map<std::string, std::set<std::string>> owners = {
    {"xtensor/", {"core/matrix.hpp"}},
    {"xtensor-blas/", {"core/matrix.cpp"}},
    {"nlohmann/", {"formats/json.cpp", "formats/json.hpp", "formats/safetensors.cpp", "golden/case.cpp"}},
};

std::vector<std::string> includes(const fs::path& file) {
  const std::string text = attn::read_file(file);
  const std::regex line(R"re(#\s*include\s*[<"]([^>"]+)[>"])re");
  std::vector<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), line), end; i != end; ++i) found.push_back((*i)[1]);
  return found;
}

/// The number in the first line of a file of the reference: "Chapter 03"; in a header, in its @brief.
int lesson(const fs::path& file) {
  std::istringstream lines(attn::read_file(file));
  const bool header = file.extension() == ".hpp";  // its first line is "/// @file"
  std::string line;
  std::getline(lines, line);
  if (header) std::getline(lines, line);
  std::smatch match;
  return std::regex_search(line, match, std::regex("Chapter (\\d\\d)")) ? std::stoi(match[1]) : 0;
}

std::string room_of(const std::string& path) { return path.substr(0, path.find('/')); }

/// What is wrong with the includes below a folder `src`, one line each.
std::vector<std::string> faults(const fs::path& src) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(src / "attn")) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".hpp" && extension != ".cpp") continue;
    const std::string file = fs::relative(entry.path(), src / "attn").generic_string();
    const std::string room = room_of(file);
    if (below.count(room) == 0) found.push_back(file + ": a room without a place in tests/includes");
    if (room == "reference" && lesson(entry.path()) == 0)
      found.push_back(file + ": the first line names no chapter");
    for (const std::string& include : includes(entry.path())) {
      for (const auto& [library, allowed] : owners) {
        if (include.rfind(library, 0) == 0 && allowed.count(file) == 0)
          found.push_back(file + ": includes " + include);
      }
      if (include.rfind("attn/", 0) != 0) {
        const bool ours = fs::exists(entry.path().parent_path() / include);
        if (ours) found.push_back(file + ": includes " + include + ", which should be named from attn/ on");
        continue;
      }
      const std::string target = include.substr(5), target_room = room_of(target);
      if (!fs::exists(src / include)) found.push_back(file + ": includes " + include + ", which is not there");
      if (target_room != room && (below.count(room) == 0 || below.at(room).count(target_room) == 0)) {
        found.push_back(file + ": includes " + include + ", which is not below");
      }
      if (room == "reference" && target_room == room && lesson(src / include) > lesson(entry.path())) {
        found.push_back(file + ": includes " + include + ", a later chapter");
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

TEST_CASE("includes go down only") {
  for (const std::string& fault : faults(ATTN_TEST_SOURCE "/src")) FAIL_CHECK(fault);
}

TEST_CASE("an include that goes up, across, or ahead is found") {
  const attn::tests::Scratch scratch;
  const auto write = [&](const std::string& file, const std::string& text) {
    attn::write_file(scratch / ("src/attn/" + file), text);
  };
  write("core/a.hpp", "#include \"attn/formats/b.hpp\"\n");
  write("formats/b.hpp", "#include <xtensor/xtensor.hpp>\n");
  write("drawing/c.hpp", "#include \"attn/reference/one.hpp\"\n");
  write("reference/one.hpp", "/// @file\n/// @brief Chapter 01.\n#include \"attn/reference/two.hpp\"\n");
  write("reference/two.hpp",
        "/// @file\n/// @brief Chapter 02.\n#include \"attn/reference/one.hpp\"\n#include "
        "\"attn/core/none.hpp\"\n#include \"../drawing/c.hpp\"\n");
  write("reference/three.hpp", "#include \"attn/core/a.hpp\"\n");
  write("attic/d.hpp", "\n");
  CHECK(
      faults(scratch / "src") ==
      std::vector<std::string>{"attic/d.hpp: a room without a place in tests/includes",
                               "core/a.hpp: includes attn/formats/b.hpp, which is not below",
                               "drawing/c.hpp: includes attn/reference/one.hpp, which is not below",
                               "formats/b.hpp: includes xtensor/xtensor.hpp",
                               "reference/one.hpp: includes attn/reference/two.hpp, a later chapter",
                               "reference/three.hpp: the first line names no chapter",
                               "reference/two.hpp: includes ../drawing/c.hpp, which should be named from attn/ on",
                               "reference/two.hpp: includes attn/core/none.hpp, which is not there"});
}

// The reference is for reading: the whole of it, up to the full model, in an hour.
TEST_CASE("the sources of the reference stay under 600 lines, without comments and blanks") {
  std::size_t lines = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(ATTN_TEST_SOURCE) / "src/attn/reference")) {
    if (entry.path().extension() != ".cpp" || lesson(entry.path()) > 9) continue;
    std::istringstream text(attn::read_file(entry.path()));
    for (std::string line; std::getline(text, line);) {
      const std::size_t first = line.find_first_not_of(' ');
      if (first != std::string::npos && line.compare(first, 2, "//") != 0) ++lines;
    }
  }
  CHECK(lines > 300);
  CHECK(lines < 600);
}
