#pragma once

#include <string>
#include <string_view>

namespace weave {

/// The text as a JavaScript string with its quotes.
std::string script_string(std::string_view text);

}  // namespace weave
