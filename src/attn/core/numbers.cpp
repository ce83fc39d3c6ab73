#include "attn/core/numbers.hpp"

#include <limits>
#include <system_error>

namespace attn {
namespace {

template <typename Number>
std::optional<Number> parse_all(std::string_view text) {
  Number number{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string to_text(double value, std::chars_format format, int precision) {
  constexpr std::size_t longest = std::numeric_limits<double>::max_exponent10 + 10;  // sign, point, exponent
  std::string text(longest + static_cast<std::size_t>(precision), '\0');
  text.resize(static_cast<std::size_t>(
      std::to_chars(text.data(), text.data() + text.size(), value, format, precision).ptr - text.data()));
  return text;
}

std::optional<double> parse_number(std::string_view text) {
  // std::from_chars reads "inf" and "nan", too, and no plus.
  if (text.find_first_not_of("0123456789.eE+-") != std::string_view::npos) return std::nullopt;
  const bool plus = text.substr(0, 1) == "+" && text.substr(1, 1) != "-";
  return parse_all<double>(text.substr(plus ? 1 : 0));
}

std::optional<std::uint64_t> parse_whole(std::string_view text) { return parse_all<std::uint64_t>(text); }

}  // namespace attn
