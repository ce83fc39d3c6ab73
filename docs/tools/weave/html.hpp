#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace weave {

/// The text with `& < > "` written as HTML wants them.
std::string html_text(std::string_view text);

/// A paragraph as HTML: code, emphasis and formulas keep their looks, links become plain words.
std::string html_inline(std::string_view paragraph);

/// Where the built documentation keeps a picture: `pictures/FOLDER/FILE`.
std::string picture_url(const std::filesystem::path& page, const std::string& target);

/// Whether a link or a picture lies outside the project.
bool is_remote(std::string_view target);

}  // namespace weave
