/// @file
/// @brief JSON from outside: the one place where it is read.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace attn {

/// A value of JSON.
using Json = nlohmann::json;

/// Reads JSON whose nesting is bounded, so that whatever copies or prints it, one call a level, does not run out
/// of stack.
/// @param text     the whole text
/// @param where    what to call it when it is refused
/// @param holds    what it is meant to hold, for the refusal of what is nested deeper
/// @param deepest  how many objects and lists may lie in each other
/// @return         the value
/// @throws InputError when it is no JSON in UTF-8, is nested deeper, or has an object with the same name twice
Json read_json(std::string_view text, const std::string& where, const std::string& holds, std::size_t deepest);

/// A piece of JSON for an error.
/// @param json  from read_json()
/// @return      in ASCII, and not too long
std::string shown(const Json& json);

}  // namespace attn
