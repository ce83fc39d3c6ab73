#include "attn/core/errors.hpp"

#include <cstdio>

namespace attn {
namespace {

std::string shortened(std::string_view text, std::size_t most) {
  const std::string start = printable(text.substr(0, most));
  return text.size() > most ? start + "... (" + std::to_string(text.size()) + " bytes)" : start;
}

/// A place and what is wanted there may come from outside too: a path, a name in a file.
std::string complaint(std::string_view what, std::string_view wanted, std::string_view got) {
  constexpr std::size_t most = 1000, most_of_got = 200;  // bytes
  return shortened(what, most) + ": wanted " + shortened(wanted, most) + ", got " + shortened(got, most_of_got);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string clean;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F) {
      clean += c;
      continue;
    }
    char code[8];
    std::snprintf(code, sizeof code, "\\x%02X", static_cast<unsigned>(byte));
    clean += code;
  }
  return clean;
}

void refuse(std::string_view what, std::string_view wanted, std::string_view got) {
  throw std::invalid_argument(complaint(what, wanted, got));
}

void refuse_input(std::string_view where, std::string_view wanted, std::string_view got) {
  throw InputError(complaint(where, wanted, got));
}

}  // namespace attn
