#include "tags.hpp"

#include <algorithm>
#include <cctype>

namespace links {

namespace {

constexpr auto npos = std::string_view::npos;

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string small(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string without_entities(std::string_view text) {
  static const std::pair<std::string_view, char> entities[] = {
      {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}};
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    for (const auto& [entity, letter] : entities) {
      if (text.substr(i, entity.size()) != entity) continue;
      out.back() = letter;
      i += entity.size() - 1;
      break;
    }
  }
  return out;
}

class Reader {
 public:
  explicit Reader(std::string_view html) : html_(html) {}

  std::vector<Tag> read() {
    while ((at_ = html_.find('<', at_)) != npos) {
      if (html_.substr(at_, 4) == "<!--") {
        skip_past("-->");
      } else if (at_ + 1 < html_.size() && std::isalpha(static_cast<unsigned char>(html_[at_ + 1])) != 0) {
        tag();
      } else {
        ++at_;
      }
    }
    return tags_;
  }

 private:
  void skip_past(std::string_view what) {
    const std::size_t found = html_.find(what, at_);
    at_ = found == npos ? html_.size() : found + what.size();
  }

  std::string_view word(std::string_view stops) {
    const std::size_t first = at_;
    while (at_ < html_.size() && !is_space(html_[at_]) && stops.find(html_[at_]) == npos) ++at_;
    return html_.substr(first, at_ - first);
  }

  void skip_space() {
    while (at_ < html_.size() && is_space(html_[at_])) ++at_;
  }

  void tag() {
    ++at_;
    Tag tag{small(word("/>")), {}};
    for (skip_space(); at_ < html_.size() && html_[at_] != '>'; skip_space()) {
      if (html_[at_] == '/') {
        ++at_;
      } else {
        attribute(tag);
      }
    }
    tags_.push_back(tag);
    if (tag.name == "script" || tag.name == "style") skip_past("</" + tag.name);
  }

  void attribute(Tag& tag) {
    const std::string name = small(word("=/>"));
    skip_space();
    if (at_ >= html_.size() || html_[at_] != '=') {
      tag.attributes[name];
      if (name.empty()) ++at_;
      return;
    }
    ++at_;
    skip_space();
    const char quote = at_ < html_.size() ? html_[at_] : '\0';
    if (quote != '"' && quote != '\'') {
      tag.attributes[name] = without_entities(word(">"));
      return;
    }
    const std::size_t end = std::min(html_.find(quote, at_ + 1), html_.size());
    tag.attributes[name] = without_entities(html_.substr(at_ + 1, end - at_ - 1));
    at_ = std::min(end + 1, html_.size());
  }

  std::string_view html_;
  std::size_t at_ = 0;
  std::vector<Tag> tags_;
};

// The addresses of `small.png 1x, large.png 2x`: what follows one, up to the comma, tells when it is taken.
std::vector<std::string> addresses(std::string_view set) {
  constexpr std::string_view space = " \t\n\r\f";
  std::vector<std::string> found;
  for (std::size_t at = 0; (at = set.find_first_not_of(", \t\n\r\f", at)) != npos;) {
    const std::size_t end = std::min(set.find_first_of(space, at), set.size());
    std::string address(set.substr(at, end - at));
    const bool alone = address.back() == ',';
    address.erase(address.find_last_not_of(',') + 1);
    found.push_back(address);
    at = alone ? end : std::min(set.find(',', end), set.size());
  }
  return found;
}

}  // namespace

std::vector<Tag> tags(std::string_view html) { return Reader(html).read(); }

std::vector<std::string> targets_of(const Tag& tag) {
  std::vector<std::string> targets;
  for (const char* name : {"href", "xlink:href", "src", "data", "poster"}) {
    const auto found = tag.attributes.find(name);
    if (found != tag.attributes.end() && !found->second.empty()) targets.push_back(found->second);
  }
  if (const auto set = tag.attributes.find("srcset"); set != tag.attributes.end()) {
    for (const std::string& target : addresses(set->second)) targets.push_back(target);
  }
  return targets;
}

bool is_loaded(const Tag& tag) { return tag.name != "a" && tag.name != "area"; }

}  // namespace links
