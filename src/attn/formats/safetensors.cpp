#include "attn/formats/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "attn/core/errors.hpp"
#include "attn/core/files.hpp"
#include "attn/formats/json.hpp"

namespace attn {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tensors are copied as bytes, so the machine must be little-endian like the files");

constexpr std::size_t most_header = 100'000'000;  // so says the format
constexpr const char* metadata_key = "__metadata__";
constexpr const char* checksum_key = "attn.checksum";
constexpr const char* our_formats = "attn ";  // so their names begin
constexpr std::size_t prefix = sizeof(std::uint64_t);

struct Dtype {
  std::string_view name;
  std::size_t bits;
  std::string_view becomes = "";  ///< the type of a Tensor that is read from it; empty where none is
};

/// In the order in which tensors are laid out; F16 and BF16 are read only. Then all others that the format has.
constexpr Dtype dtypes[] = {{"I64", 64, "int64"},
                            {"F64", 64, "float64"},
                            {"F32", 32, "float32"},
                            {"I32", 32, "int32"},
                            {"BOOL", 8, "bool"},
                            {"F16", 16, "float32"},
                            {"BF16", 16, "float32"},
                            {"U64", 64},
                            {"C64", 64},
                            {"U32", 32},
                            {"U16", 16},
                            {"I16", 16},
                            {"U8", 8},
                            {"I8", 8},
                            {"F8_E4M3", 8},
                            {"F8_E5M2", 8},
                            {"F8_E8M0", 8},
                            {"F8_E4M3FNUZ", 8},
                            {"F8_E5M2FNUZ", 8},
                            {"F6_E2M3", 6},
                            {"F6_E3M2", 6},
                            {"F4", 4}};

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

/// How many bytes a shape asks for; no value when they are not whole, or their bits cannot be counted in 64 bits.
std::optional<std::size_t> count_bytes(const std::vector<std::size_t>& shape, std::size_t item_bits) {
  if (std::count(shape.begin(), shape.end(), std::size_t{0}) > 0) return 0;
  std::size_t bits = item_bits;
  for (const std::size_t length : shape) {
    if (bits > std::numeric_limits<std::size_t>::max() / length) return std::nullopt;
    bits *= length;
  }
  return bits % 8 == 0 ? std::optional(bits / 8) : std::nullopt;
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

/// Which types of tensors a reader takes.
enum class Types { readable, all };

const std::string wanted_types = "dtype F32, F64, I32, I64, BOOL, F16 or BF16";

/// The length of the header, which the first 8 bytes say.
std::size_t header_length(std::string_view start, std::uint64_t size, const std::string& file) {
  std::uint64_t length = 0;
  if (size < prefix) {
    refuse_input(file, "a safetensors file, which starts with the length of its header in 8 bytes",
                 std::to_string(size) + " bytes");
  }
  std::memcpy(&length, start.data(), prefix);
  if (length > most_header) {
    refuse_input(file, "a safetensors file with a header of at most " + std::to_string(most_header) + " bytes",
                 std::to_string(length));
  }
  if (length > size - prefix) {
    refuse_input(file, "a header of " + std::to_string(length) + " bytes",
                 std::to_string(size - prefix) + " left");
  }
  return length;
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

void expect_size(const SafetensorsEntry& entry, const Dtype& dtype, const std::string& where) {
  const std::optional<std::size_t> bytes = count_bytes(entry.shape, dtype.bits);
  if (bytes == entry.end - entry.begin) return;
  const std::string shape = entry.dtype + " of shape " + shown(entry.shape);
  if (!bytes) refuse_input(where, "a shape whose bytes can be counted", shape);
  refuse_input(where, std::to_string(*bytes) + " bytes of data for " + shape,
               std::to_string(entry.end - entry.begin));
}

SafetensorsEntry read_entry(const Json& json, std::uint64_t size, Types types, const std::string& where) {
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets")) {
    refuse_input(where, "dtype, shape and data_offsets", shown(json));
  }
  const Json& type = json.at("dtype");
  const Dtype* dtype = type.is_string() ? find_dtype(type.get_ref<const std::string&>()) : nullptr;
  const bool readable = dtype != nullptr && !dtype->becomes.empty();
  if (types == Types::readable && !readable) refuse_input(where, wanted_types, shown(type));
  if (!type.is_string()) refuse_input(where, "dtype to be a text", shown(type));
  SafetensorsEntry entry{type, read_numbers(json.at("shape"), where + ": shape"), 0, 0};
  const std::vector<std::size_t> offsets = read_numbers(json.at("data_offsets"), where + ": data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > size) {
    refuse_input(where, "data_offsets [begin, end] within " + std::to_string(size) + " bytes of data",
                 shown(json.at("data_offsets")));
  }
  entry.begin = offsets[0];
  entry.end = offsets[1];
  if (dtype != nullptr) expect_size(entry, *dtype, where);
  return entry;
}

/// The data of the tensors must lie one after the other, from the end of the header to the end of the file.
void check_layout(const std::map<std::string, SafetensorsEntry>& tensors, std::uint64_t size,
                  const std::string& file) {
  using Named = std::pair<const std::string, SafetensorsEntry>;
  std::vector<const Named*> order;
  for (const Named& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const Named* a, const Named* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  std::uint64_t end = 0;
  for (const Named* tensor : order) {
    if (tensor->second.begin != end) {
      refuse_input(file + ": tensor " + shown(tensor->first),
                   "data from byte " + std::to_string(end) + " on, where those before end",
                   std::to_string(tensor->second.begin));
    }
    end = tensor->second.end;
  }
  if (end != size) refuse_input(file, "nothing after the last tensor", std::to_string(size - end) + " bytes");
}

/// Refuses a file of one of our own formats that has no checksum: we always write one, so the file is damaged.
void expect_checksum_of_ours(const SafetensorsHeader& header, const std::string& file) {
  const auto format = header.metadata.find("format");
  if (header.checksum || format == header.metadata.end() || format->second.rfind(our_formats, 0) != 0) return;
  refuse_input(file,
               std::string("metadata ") + checksum_key + ", as every file of format " + format->second + " has",
               "none");
}

/// The header's text, with the size of the data behind it.
SafetensorsHeader parse_header(std::string_view text, std::uint64_t size, Types types, const std::string& file) {
  if (text.substr(0, 1) != "{") {
    refuse_input(file, "a header that starts with {", text.empty() ? "an empty one" : "something else");
  }
  constexpr std::size_t deepest = 3;  // {"name": {"shape": [
  const Json json = read_json(text, file + ": header", "tensors and metadata", deepest);
  SafetensorsHeader header{{}, read_metadata(json, file), std::nullopt};
  for (const auto& [name, entry] : json.items()) {
    if (name == metadata_key) continue;
    header.tensors[name] = read_entry(entry, size, types, file + ": tensor " + shown(name));
  }
  check_layout(header.tensors, size, file);
  if (const auto sum = header.metadata.extract(checksum_key); !sum.empty()) header.checksum = sum.mapped();
  expect_checksum_of_ours(header, file);
  return header;
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

Tensor::Values read_data(std::string_view dtype, std::string_view data, const std::string& where) {
  if (dtype == "F32") return read_values<float>(data);
  if (dtype == "F64") return read_values<double>(data);
  if (dtype == "I32") return read_values<std::int32_t>(data);
  if (dtype == "I64") return read_values<std::int64_t>(data);
  if (dtype == "F16") return widen(data, from_f16);
  if (dtype == "BF16") return widen(data, from_bf16);
  for (const char c : data) {
    const int byte = static_cast<unsigned char>(c);
    if (byte > 1) refuse_input(where, "bools, bytes of 0 or 1", "a byte of " + std::to_string(byte));
  }
  return read_values<Bool>(data);
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
  const std::size_t bits = find_dtype(entry.dtype)->bits;
  const std::size_t count = std::visit([](const auto& values) { return values.size(); }, tensor.values);
  if (count_bytes(tensor.shape, bits) != count * bits / 8) {
    refuse("the values of tensor " + quoted(name), "as many as the shape " + shape_text(tensor.shape) + " says",
           std::to_string(count));
  }
  std::visit(
      [&](const auto& values) {
        entry.data = {reinterpret_cast<const char*>(values.data()), count * bits / 8};
      },
      tensor.values);
  return entry;
}

/// Large types first, so that each tensor starts at a multiple of its own size; then by name.
void lay_out(std::vector<Entry>& entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(find_dtype(a.dtype), std::string_view(a.name)) <
           std::pair(find_dtype(b.dtype), std::string_view(b.name));
  });
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
  const std::size_t length = header_length(bytes, bytes.size(), name);
  const std::string_view data = bytes.substr(prefix + length);
  const SafetensorsHeader header = parse_header(bytes.substr(prefix, length), data.size(), Types::readable, name);
  std::vector<Entry> entries;  // by name
  for (const auto& [tensor, entry] : header.tensors) {
    entries.push_back({tensor, entry.dtype, entry.shape, data.substr(entry.begin, entry.end - entry.begin)});
  }
  if (header.checksum) {
    const std::string got = checksum(header.metadata, entries);
    if (got != header.checksum) {
      refuse_input(name, "the checksum " + shown(*header.checksum) + ", which it names itself",
                   '"' + got + "\"; the file is damaged");
    }
  }
  Safetensors file{{}, header.metadata};
  for (const Entry& entry : entries) {
    const std::string where = name + ": tensor " + shown(entry.name);
    file.tensors[entry.name] = {entry.shape, read_data(entry.dtype, entry.data, where)};
  }
  return file;
}

std::string_view type_when_read(std::string_view dtype) {
  const Dtype* found = find_dtype(dtype);
  return found == nullptr ? "" : found->becomes;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : name_(path.string()) {
  std::error_code none;
  std::uint64_t size = 0;
  if (std::filesystem::is_regular_file(path, none)) {
    errno = 0;
    in_ = std::make_unique<std::ifstream>(path, std::ios::binary);
    if (!*in_) refuse_input(name_, "a file that can be read", std::strerror(errno));
    size = std::filesystem::file_size(path);
  } else {  // a pipe can be read once only
    std::string bytes = read_file(path);
    size = bytes.size();
    in_ = std::make_unique<std::istringstream>(std::move(bytes));
  }
  const std::string start = read(0, std::min<std::uint64_t>(size, prefix));
  const std::size_t length = header_length(start, size, name_);
  data_ = prefix + length;
  header_ = parse_header(read(prefix, length), size - data_, Types::all, name_);
}

std::string SafetensorsFile::read(std::uint64_t from, std::size_t count) {
  std::string bytes(count, '\0');
  in_->clear();
  in_->seekg(static_cast<std::streamoff>(from));
  in_->read(bytes.data(), static_cast<std::streamsize>(count));
  if (static_cast<std::size_t>(in_->gcount()) != count) {
    refuse_input(name_, std::to_string(count) + " bytes from byte " + std::to_string(from) + " on",
                 "the end of the file, or a disk that cannot be read");
  }
  return bytes;
}

Tensor::Values SafetensorsFile::values(const std::string& tensor, std::uint64_t from, std::uint64_t most) {
  const SafetensorsEntry& entry = header_.tensors.at(tensor);
  const std::string where = name_ + ": tensor " + shown(tensor);
  if (type_when_read(entry.dtype).empty()) refuse_input(where, wanted_types, shown(entry.dtype));
  const std::size_t size = find_dtype(entry.dtype)->bits / 8;
  const std::uint64_t all = (entry.end - entry.begin) / size;
  const std::uint64_t first = std::min(from, all), count = std::min(most, all - first);
  return read_data(entry.dtype, read(data_ + entry.begin + first * size, count * size), where);
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
