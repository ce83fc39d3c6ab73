#include "slug.hpp"

#include "inline.hpp"
#include "letters.hpp"
#include "lines.hpp"

namespace weave {

std::string slug(std::string_view heading) {
  const std::string words = trimmed(plain(heading));
  std::string anchor;
  for (std::size_t i = 0; i < words.size();) {
    const Letter letter = letter_at(words, i);
    i += letter.bytes;
    if (is_word(letter.code)) anchor += utf8(lower(letter.code));
    if (letter.code == ' ' || letter.code == '-') anchor += '-';
  }
  return anchor;
}

std::string Slugs::next(std::string_view heading) {
  const std::string anchor = slug(heading);
  const int times = seen_[anchor]++;
  return times == 0 ? anchor : anchor + "-" + std::to_string(times);
}

}  // namespace weave
