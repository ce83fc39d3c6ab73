/// @file
/// @brief Numbers as text and back, the same in every locale. A host program may set any locale, and what printf,
/// strtod and streams do follows it; files, pictures and error messages must not.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// A number as text, as printf writes it in the C locale.
/// @param value      any
/// @param format     general, fixed or scientific: `%g`, `%f` or `%e`
/// @param precision  how many digits: significant ones for general, after the point otherwise; at least 0
/// @return           such as "0.1", "0.1000" or "1.0e-01"; "nan" and "inf" where it is none, with their signs
std::string to_text(double value, std::chars_format format, int precision);

/// Reads a decimal number with a point, such as "0.1", "+2" or "1e-6".
/// @param text  all of it must be the number: no blanks, no hexadecimal digits
/// @return      the number; nothing if the text is something else, or beyond what a double holds, such as "1e999"
std::optional<double> parse_number(std::string_view text);

/// Reads a whole number of at least 0 in decimal digits.
/// @param text  all of it must be digits
/// @return      the number; nothing if the text is something else, or the number does not fit into 64 bits
std::optional<std::uint64_t> parse_whole(std::string_view text);

}  // namespace attn
