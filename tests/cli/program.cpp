#include "cli/program.hpp"

#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "attn/core/files.hpp"
#include "catch.hpp"
#include "scratch.hpp"

namespace attn::tests {

Result run(const std::string& command, const std::string& before) {
  const Scratch scratch;
  const std::string err = (scratch / "err").string();
  FILE* pipe = popen((before + "'" ATTN_TEST_BIN "'/" + command + " 2>'" + err + "'").c_str(), "r");
  REQUIRE(pipe != nullptr);
  Result result;
  std::array<char, 4096> buffer{};
  for (std::size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) result.out.append(buffer.data(), n);
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.err = read_file(err);
  return result;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void check_refused(const std::string& command, const std::string& part) {
  const Result result = run(command);
  INFO(command << "\n" << result.out << result.err);
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  CHECK(has(result.err, part));
}

}  // namespace attn::tests
