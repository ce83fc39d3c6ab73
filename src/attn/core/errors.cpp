#include "attn/core/errors.hpp"

#include <cstdio>

namespace attn {
namespace {

constexpr std::size_t most_shown = 200;  // bytes of what came instead

std::string complaint(std::string_view what, std::string_view wanted, std::string_view got) {
  std::string text(what);
  text.append(": wanted ").append(wanted).append(", got ").append(printable(got.substr(0, most_shown)));
  if (got.size() > most_shown) text.append("... (" + std::to_string(got.size()) + " bytes)");
  return text;
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
