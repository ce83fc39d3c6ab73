#include "attn/formats/json.hpp"

#include <nlohmann/json.hpp>
#include <vector>

#include "attn/core/errors.hpp"

namespace attn {
namespace {

[[noreturn]] void refuse_json(const std::string& where, std::size_t byte) {
  refuse_input(where, "JSON in UTF-8", "a fault at byte " + std::to_string(byte));
}

/// Builds the value as the parser reads it. The parser's own ways take the last of two values with the same name,
/// and nest as deep as they are told to.
class Builder : public nlohmann::json_sax<Json> {
 public:
  Builder(const std::string& where, const std::string& holds, std::size_t deepest)
      : where_(where), holds_(holds), deepest_(deepest) {}

  Json value;

  bool null() override { return put(nullptr); }
  bool boolean(bool boolean) override { return put(boolean); }
  bool number_integer(number_integer_t number) override { return put(number); }
  bool number_unsigned(number_unsigned_t number) override { return put(number); }
  bool number_float(number_float_t number, const string_t&) override { return put(number); }
  bool string(string_t& text) override { return put(text); }
  bool binary(binary_t&) override { return false; }  // JSON has none
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (open_.back()->contains(name)) refuse_input(where_, "each name once", shown(name) + " twice");
    key_ = name;
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&, const Json::exception&) override {
    refuse_json(where_, byte);
  }

 private:
  bool put(Json json) {
    place() = std::move(json);
    return true;
  }

  bool open(Json list) {
    if (open_.size() == deepest_) refuse_input(where_, holds_, "something nested deeper");
    Json& here = place();
    here = std::move(list);
    open_.push_back(&here);
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  /// Where the next value belongs.
  Json& place() {
    if (open_.empty()) return value;
    return open_.back()->is_array() ? open_.back()->emplace_back() : (*open_.back())[key_];
  }

  const std::string& where_;
  const std::string& holds_;
  std::size_t deepest_;
  std::string key_;
  std::vector<Json*> open_;
};

}  // namespace

Json read_json(std::string_view text, const std::string& where, const std::string& holds, std::size_t deepest) {
  const std::size_t nul = text.find('\0');  // which the parser takes for the end
  if (nul != std::string_view::npos) refuse_json(where, nul + 1);
  Builder builder(where, holds, deepest);
  Json::sax_parse(text, &builder);
  return std::move(builder.value);
}

std::string shown(const Json& json) {
  constexpr std::size_t most = 60;
  const std::string text = json.dump(-1, ' ', true);
  return text.size() > most ? text.substr(0, most) + "..." : text;
}

}  // namespace attn
