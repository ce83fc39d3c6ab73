#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace links {

/// An opening tag of an HTML or SVG file, names in small letters, values with their entities resolved.
struct Tag {
  std::string name;
  std::map<std::string, std::string> attributes;
};

/// The opening tags of a page; comments and what stands in scripts and styles are left out.
std::vector<Tag> tags(std::string_view html);

/// What the tag makes the browser load or open: the values of `href`, `xlink:href`, `src`, `data` and `poster`,
/// and each address of `srcset`.
std::vector<std::string> targets_of(const Tag& tag);

/// Whether the browser loads the target by itself: all but `a` and `area`.
bool is_loaded(const Tag& tag);

}  // namespace links
