#include "attn/core/errors.hpp"

namespace attn {
namespace {

std::string complaint(std::string_view what, std::string_view wanted, std::string_view got) {
  std::string text(what);
  text.append(": wanted ").append(wanted).append(", got ").append(got);
  return text;
}

}  // namespace

void refuse(std::string_view what, std::string_view wanted, std::string_view got) {
  throw std::invalid_argument(complaint(what, wanted, got));
}

void refuse_input(std::string_view where, std::string_view wanted, std::string_view got) {
  throw InputError(complaint(where, wanted, got));
}

}  // namespace attn
