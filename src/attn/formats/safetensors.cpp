#include "attn/formats/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "attn/core/errors.hpp"
#include "attn/core/files.hpp"

namespace attn {
namespace {

using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little,
              "tensors are copied as bytes, so the machine must be little-endian like the files");

constexpr std::size_t most_header = 100'000'000;  // so says the format
constexpr const char* metadata_key = "__metadata__";
constexpr const char* checksum_key = "attn.checksum";

struct Dtype {
  std::string_view name;
  std::size_t size;
};

/// In the order in which tensors are laid out; the last two are read only.
constexpr Dtype dtypes[] = {{"I64", 8}, {"F64", 8}, {"F32", 4}, {"I32", 4}, {"BOOL", 1}, {"F16", 2}, {"BF16", 2}};

const Dtype* find_dtype(std::string_view name) {
  const auto found = std::find_if(std::begin(dtypes), std::end(dtypes), [&](Dtype d) { return d.name == name; });
  return found == std::end(dtypes) ? nullptr : found;
}

std::string_view dtype_of(const Tensor& tensor) {
  constexpr std::string_view names[] = {"F32", "F64", "I32", "I64", "BOOL"};
  return names[tensor.values.index()];
}

/// A tensor as bytes.
struct Entry {
  std::string name;
  std::string_view dtype;
  std::vector<std::size_t> shape;
  std::string_view data;
  std::size_t begin = 0;  ///< where the data are, counted from the end of the header
};

/// How many bytes a shape asks for; no value when they cannot be counted in 64 bits.
std::optional<std::size_t> count_bytes(const std::vector<std::size_t>& shape, std::size_t item_size) {
  if (std::count(shape.begin(), shape.end(), std::size_t{0}) > 0) return 0;
  std::size_t bytes = item_size;
  for (const std::size_t length : shape) {
    if (bytes > std::numeric_limits<std::size_t>::max() / length) return std::nullopt;
    bytes *= length;
  }
  return bytes;
}

// ---- The checksum ----------------------------------------------------------------------------------------

class Sum {
 public:
  /// Each step can be undone when the word is known, or the sum before: one changed word always changes the sum.
  /// The shift brings high bits down, which a product alone only carries up: it would not see two signs change.
  void add(std::uint64_t word) {
    sum_ = (sum_ ^ word) * 0x9E3779B97F4A7C15;
    sum_ ^= sum_ >> 32;
  }

  void add(std::string_view bytes) {
    add(bytes.size());
    for (; bytes.size() >= 8; bytes.remove_prefix(8)) add(word(bytes.data(), 8));
    if (!bytes.empty()) add(word(bytes.data(), bytes.size()));
  }

  std::string digits() const {
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[sum_ >> shift & 15];
    return text;
  }

 private:
  static std::uint64_t word(const char* bytes, std::size_t count) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, count);
    return word;
  }

  std::uint64_t sum_ = 0xCBF29CE484222325;
};

/// Entries come by name.
std::string checksum(const std::map<std::string, std::string>& metadata, const std::vector<Entry>& entries) {
  Sum sum;
  sum.add(metadata.size());
  for (const auto& [key, text] : metadata) sum.add(key), sum.add(text);
  for (const Entry& entry : entries) {
    sum.add(entry.name), sum.add(entry.dtype), sum.add(entry.shape.size());
    for (const std::size_t length : entry.shape) sum.add(length);
    sum.add(entry.data);
  }
  return sum.digits();
}

// ---- Reading ---------------------------------------------------------------------------------------------

/// A piece of JSON for an error: in ASCII, and not too long.
std::string shown(const Json& json) {
  constexpr std::size_t most = 60;
  const std::string text = json.dump(-1, ' ', true);
  return text.size() > most ? text.substr(0, most) + "..." : text;
}

/// Splits a file into its header's text and its data.
struct Parts {
  std::string_view header;
  std::string_view data;
};

Parts split(std::string_view bytes, const std::string& file) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length) {
    refuse_input(file, "a safetensors file, which starts with the length of its header in 8 bytes",
                 std::to_string(bytes.size()) + " bytes");
  }
  std::memcpy(&length, bytes.data(), sizeof length);
  bytes.remove_prefix(sizeof length);
  if (length > most_header) {
    refuse_input(file, "a safetensors file with a header of at most " + std::to_string(most_header) + " bytes",
                 std::to_string(length));
  }
  if (length > bytes.size()) {
    refuse_input(file, "a header of " + std::to_string(length) + " bytes", std::to_string(bytes.size()) + " left");
  }
  const Parts parts{bytes.substr(0, length), bytes.substr(length)};
  if (parts.header.substr(0, 1) != "{") {
    refuse_input(file, "a header that starts with {", length == 0 ? "an empty one" : "something else");
  }
  return parts;
}

[[noreturn]] void refuse_json(const std::string& file, std::size_t byte) {
  refuse_input(file + ": header", "JSON in UTF-8", "a fault at byte " + std::to_string(byte));
}

/// Builds the header as the parser reads it. The parser's own ways take the last of two tensors with the same
/// name, and nest as deep as they are told to.
class HeaderBuilder : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderBuilder(const std::string& file) : file_(file) {}

  Json header;

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(value); }
  bool binary(binary_t&) override { return false; }  // JSON has none
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (open_.back()->contains(name)) refuse_input(file_ + ": header", "each name once", shown(name) + " twice");
    key_ = name;
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&, const Json::exception&) override {
    refuse_json(file_, byte);
  }

 private:
  bool put(Json value) {
    place() = std::move(value);
    return true;
  }

  bool open(Json list) {
    constexpr std::size_t deepest = 3;  // {"name": {"shape": [
    if (open_.size() == deepest)
      refuse_input(file_ + ": header", "tensors and metadata", "something nested deeper");
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
    if (open_.empty()) return header;
    return open_.back()->is_array() ? open_.back()->emplace_back() : (*open_.back())[key_];
  }

  const std::string& file_;
  std::string key_;
  std::vector<Json*> open_;
};

Json read_header(std::string_view text, const std::string& file) {
  const std::size_t nul = text.find('\0');  // which the parser takes for the end
  if (nul != std::string_view::npos) refuse_json(file, nul + 1);
  HeaderBuilder builder(file);
  Json::sax_parse(text, &builder);
  return std::move(builder.header);
}

std::map<std::string, std::string> read_metadata(const Json& header, const std::string& file) {
  std::map<std::string, std::string> metadata;
  if (!header.contains(metadata_key)) return metadata;
  const std::string where = file + ": " + metadata_key;
  const Json& all = header.at(metadata_key);
  if (!all.is_object()) refuse_input(where, "texts by name", shown(all));
  for (const auto& [key, text] : all.items()) {
    if (!text.is_string()) refuse_input(where, "a text for " + shown(key), shown(text));
    metadata[key] = text;
  }
  return metadata;
}

/// Whole numbers of 0 or more that fit in 64 bits.
std::vector<std::size_t> read_numbers(const Json& list, const std::string& where) {
  const bool numbers = list.is_array() && std::all_of(list.begin(), list.end(), [](const Json& number) {
                         return number.is_number_unsigned();
                       });
  if (!numbers) refuse_input(where, "a list of whole numbers from 0 to 2^64 - 1", shown(list));
  return list.get<std::vector<std::size_t>>();
}

Entry read_entry(const std::string& name, const Json& json, std::string_view data, const std::string& where) {
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets")) {
    refuse_input(where, "dtype, shape and data_offsets", shown(json));
  }
  const Json& type = json.at("dtype");
  const Dtype* dtype = type.is_string() ? find_dtype(type.get_ref<const std::string&>()) : nullptr;
  if (dtype == nullptr) refuse_input(where, "dtype F32, F64, I32, I64, BOOL, F16 or BF16", shown(type));
  Entry entry{name, dtype->name, read_numbers(json.at("shape"), where + ": shape"), {}};
  const std::vector<std::size_t> offsets = read_numbers(json.at("data_offsets"), where + ": data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data.size()) {
    refuse_input(where, "data_offsets [begin, end] within " + std::to_string(data.size()) + " bytes of data",
                 shown(json.at("data_offsets")));
  }
  entry.begin = offsets[0];
  entry.data = data.substr(offsets[0], offsets[1] - offsets[0]);
  const std::optional<std::size_t> bytes = count_bytes(entry.shape, dtype->size);
  if (bytes != entry.data.size()) {
    const std::string shape = std::string(dtype->name) + " of shape " + shown(json.at("shape"));
    refuse_input(
        where,
        bytes ? std::to_string(*bytes) + " bytes of data for " + shape : "a shape whose bytes can be counted",
        bytes ? std::to_string(entry.data.size()) : shape);
  }
  return entry;
}

/// The data of the tensors must lie one after the other, from the end of the header to the end of the file.
void check_layout(std::vector<Entry> entries, std::size_t size, const std::string& file) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.data.size()) < std::pair(b.begin, b.data.size());
  });
  std::size_t end = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != end) {
      refuse_input(file + ": tensor " + shown(entry.name),
                   "data from byte " + std::to_string(end) + " on, where those before end",
                   std::to_string(entry.begin));
    }
    end += entry.data.size();
  }
  if (end != size) refuse_input(file, "nothing after the last tensor", std::to_string(size - end) + " bytes");
}

float from_f16(std::uint16_t half) {
  const std::uint32_t sign = half >> 15, exponent = half >> 10 & 31, fraction = half & 1023;
  if (exponent == 0) {
    const float tiny = std::ldexp(static_cast<float>(fraction), -24);
    return sign == 1 ? -tiny : tiny;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 127 - 15;
  return std::bit_cast<float>(sign << 31 | wide << 23 | fraction << 13);
}

/// The first half of a float32.
float from_bf16(std::uint16_t half) { return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16); }

template <typename T>
std::vector<T> read_values(std::string_view data) {
  std::vector<T> values(data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), data.data(), data.size());
  return values;
}

std::vector<float> widen(std::string_view data, float (*from)(std::uint16_t)) {
  const std::vector<std::uint16_t> halves = read_values<std::uint16_t>(data);
  std::vector<float> values(halves.size());
  std::transform(halves.begin(), halves.end(), values.begin(), from);
  return values;
}

Tensor::Values read_tensor(const Entry& entry, const std::string& file) {
  if (entry.dtype == "F32") return read_values<float>(entry.data);
  if (entry.dtype == "F64") return read_values<double>(entry.data);
  if (entry.dtype == "I32") return read_values<std::int32_t>(entry.data);
  if (entry.dtype == "I64") return read_values<std::int64_t>(entry.data);
  if (entry.dtype == "F16") return widen(entry.data, from_f16);
  if (entry.dtype == "BF16") return widen(entry.data, from_bf16);
  for (const char c : entry.data) {
    const int byte = static_cast<unsigned char>(c);
    if (byte > 1) {
      refuse_input(file + ": tensor " + shown(entry.name), "bools, bytes of 0 or 1",
                   "a byte of " + std::to_string(byte));
    }
  }
  return read_values<Bool>(entry.data);
}

// ---- Writing ---------------------------------------------------------------------------------------------

/// In quotation marks, as JSON has it.
std::string quoted(const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    refuse("a name or a text of a safetensors file", "UTF-8",
           Json(text).dump(-1, ' ', true, Json::error_handler_t::replace));
  }
}

Entry make_entry(const std::string& name, const Tensor& tensor) {
  if (name == metadata_key) refuse("the name of a tensor", "another name", name);
  Entry entry{name, dtype_of(tensor), tensor.shape, {}};
  const std::size_t size = find_dtype(entry.dtype)->size;
  const std::size_t count = std::visit([](const auto& values) { return values.size(); }, tensor.values);
  if (count_bytes(tensor.shape, size) != count * size) {
    refuse("the values of tensor " + quoted(name), "as many as the shape " + shape_text(tensor.shape) + " says",
           std::to_string(count));
  }
  std::visit(
      [&](const auto& values) {
        entry.data = {reinterpret_cast<const char*>(values.data()), count * size};
      },
      tensor.values);
  return entry;
}

/// Large types first, so that each tensor starts at a multiple of its own size; then by name.
void lay_out(std::vector<Entry>& entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return find_dtype(a.dtype) < find_dtype(b.dtype); });
  std::size_t begin = 0;
  for (Entry& entry : entries) {
    entry.begin = begin;
    begin += entry.data.size();
  }
}

std::string write_header(const std::map<std::string, std::string>& metadata, const std::vector<Entry>& entries) {
  std::string texts;
  for (const auto& [key, text] : metadata) texts += (texts.empty() ? "" : ",") + quoted(key) + ":" + quoted(text);
  std::string header = "{" + quoted(metadata_key) + ":{" + texts + "}";
  for (const Entry& entry : entries) {
    const std::vector<std::size_t> offsets = {entry.begin, entry.begin + entry.data.size()};
    header += "," + quoted(entry.name) + ":{\"dtype\":\"" + std::string(entry.dtype) +
              "\",\"shape\":" + Json(entry.shape).dump() + ",\"data_offsets\":" + Json(offsets).dump() + "}";
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  if (header.size() > most_header) {
    refuse("the names and texts of a safetensors file", "at most " + std::to_string(most_header) + " bytes",
           std::to_string(header.size()));
  }
  return header;
}

}  // namespace

Safetensors parse_safetensors(std::string_view bytes, const std::string& name) {
  const Parts parts = split(bytes, name);
  const Json header = read_header(parts.header, name);
  Safetensors file{{}, read_metadata(header, name)};
  std::vector<Entry> entries;  // by name, as Json keeps them
  for (const auto& [tensor, json] : header.items()) {
    if (tensor == metadata_key) continue;
    entries.push_back(read_entry(tensor, json, parts.data, name + ": tensor " + shown(tensor)));
  }
  check_layout(entries, parts.data.size(), name);
  if (const auto sum = file.metadata.extract(checksum_key); !sum.empty()) {
    const std::string got = checksum(file.metadata, entries);
    if (got != sum.mapped()) {
      refuse_input(name, "the checksum " + shown(sum.mapped()) + ", which it names itself",
                   '"' + got + "\"; the file is damaged");
    }
  }
  for (const Entry& entry : entries) file.tensors[entry.name] = {entry.shape, read_tensor(entry, name)};
  return file;
}

Safetensors read_safetensors(const std::filesystem::path& path) {
  return parse_safetensors(read_file(path), path.string());
}

std::string safetensors_bytes(const Safetensors& file) {
  if (file.metadata.count(checksum_key) > 0) {
    refuse("the metadata", std::string("no ") + checksum_key + ", which is added here",
           file.metadata.at(checksum_key));
  }
  std::vector<Entry> entries;
  for (const auto& [name, tensor] : file.tensors) entries.push_back(make_entry(name, tensor));
  std::map<std::string, std::string> metadata = file.metadata;
  metadata[checksum_key] = checksum(file.metadata, entries);
  lay_out(entries);
  const std::string header = write_header(metadata, entries);
  const std::uint64_t length = header.size();
  std::string bytes;
  bytes.reserve(sizeof length + header.size() +
                (entries.empty() ? 0 : entries.back().begin + entries.back().data.size()));
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length).append(header);
  for (const Entry& entry : entries) bytes.append(entry.data);
  return bytes;
}

void write_safetensors(const std::filesystem::path& path, const Safetensors& file) {
  write_file(path, safetensors_bytes(file));
}

}  // namespace attn
