// The programs of the build, run as a reader runs them.
#pragma once

#include <string>

namespace attn::tests {

/// What a program said, and how it ended.
struct Result {
  int status = 0;
  std::string out;
  std::string err;
};

/// Runs a program of the build: "attn check ...". The words before it go in front: "cd /tmp;".
Result run(const std::string& command, const std::string& before = "");

/// Whether a text has a part.
bool has(const std::string& text, const std::string& part);

/// What is refused is told on standard error, with nothing on standard output, and status 2.
void check_refused(const std::string& command, const std::string& part);

}  // namespace attn::tests
