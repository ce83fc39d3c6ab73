#pragma once

#include <map>
#include <string>
#include <string_view>

namespace weave {

/// GitHub's anchor for a heading: small letters, signs dropped, spaces turned into `-`.
std::string slug(std::string_view heading);

/// Hands out the anchors of one page; a heading that comes again gets `-1`, `-2`, …
class Slugs {
 public:
  std::string next(std::string_view heading);

 private:
  std::map<std::string, int> seen_;
};

}  // namespace weave
