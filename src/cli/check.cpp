#include <iostream>

#include "attn/core/errors.hpp"
#include "attn/golden/check.hpp"
#include "cli/commands.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

/// A case is named as in golden/ ("03-scaling/square") or by a folder of the reader's own.
fs::path find_case(const std::string& name, const fs::path& golden) {
  std::error_code none;
  for (const fs::path& folder : {golden / name, fs::path(name)}) {
    if (fs::exists(folder / "case.json", none)) return folder;
  }
  refuse_input("case", "one of those that `attn check --list` shows, or a folder with a case.json", name);
}

}  // namespace

int check_command(const std::string& case_name, const fs::path& folder, const fs::path& golden) {
  const GoldenCase wanted = load_case(find_case(case_name, golden));
  const Report report = check(wanted, load_outputs(wanted, folder));
  print(std::cout, wanted, report);
  return report.passed ? 0 : 1;
}

int list_command(const fs::path& golden) {
  if (!fs::is_directory(golden)) refuse_input("golden", "the folder of the golden cases", golden.string());
  for (const fs::path& folder : list_cases(golden)) {
    const GoldenCase c = load_case(folder);
    std::cout << c.name << "  " << c.formula << "  (" << c.title << ")\n";
  }
  return 0;
}

}  // namespace attn
