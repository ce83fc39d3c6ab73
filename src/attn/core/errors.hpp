/// @file
/// @brief The one form in which everything here complains: what, wanted, got.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

/// Attention, Step by Step: the Transformer, built one idea at a time.
namespace attn {

/// Something from outside (a file, an option, a text) that cannot be used.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A text from outside that does nothing to a terminal.
/// @param text  any
/// @return      the same, each control character as its number in base 16
std::string printable(std::string_view text);

/// Refuses an argument: throws `std::invalid_argument` saying "what: wanted ..., got ...".
/// @param what    the name of the argument, as the caller knows it
/// @param wanted  what would have been accepted
/// @param got     what came instead
/// @throws std::invalid_argument always
[[noreturn]] void refuse(std::string_view what, std::string_view wanted, std::string_view got);

/// Refuses something from outside: throws InputError in the same form as refuse().
/// @param where   the file, option or place
/// @param wanted  what would have been accepted
/// @param got     what came instead
/// @throws InputError always
[[noreturn]] void refuse_input(std::string_view where, std::string_view wanted, std::string_view got);

}  // namespace attn
