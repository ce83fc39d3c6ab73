#include "attn/formats/npy.hpp"

#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <optional>

#include "attn/core/errors.hpp"
#include "attn/core/files.hpp"

namespace attn {
namespace {

static_assert(std::endian::native == std::endian::little,
              "arrays are copied as bytes, so the machine must be "
              "little-endian like the files");

constexpr std::string_view magic("\x93NUMPY", 6);
constexpr std::string_view blanks = " \t\n\v\f\r";

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::size_t> shape;
};

/// Reads the header, a Python dictionary of exactly three entries such as
/// {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Header read() {
    Header header;
    std::map<std::string, int> seen;
    demand('{');
    while (!accept('}')) {
      const std::string key = quoted();
      if (++seen[key] > 1) refuse_header("each key once", "'" + key + "' twice");
      demand(':');
      if (key == "descr") {
        header.descr = quoted();
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
      } else if (key == "shape") {
        header.shape = tuple();
      } else {
        refuse_header("the keys descr, fortran_order and shape", "'" + key + "'");
      }
      if (!accept(',')) {
        demand('}');
        break;
      }
    }
    skip_blanks();
    if (at_ != text_.size()) refuse_header("nothing after the dictionary", quote(text_.substr(at_, 10)));
    if (seen.size() != 3) refuse_header("the keys descr, fortran_order and shape", std::to_string(seen.size()));
    return header;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && blanks.find(text_[at_]) != std::string_view::npos) ++at_;
  }

  bool accept(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void demand(char c) {
    if (!accept(c)) refuse_header(std::string("'") + c + "'", rest());
  }

  std::string quoted() {
    skip_blanks();
    const char mark = at_ < text_.size() ? text_[at_] : '\0';
    if (mark != '\'' && mark != '"') refuse_header("a quoted string", rest());
    const std::size_t end = text_.find(mark, at_ + 1);
    if (end == std::string_view::npos) refuse_header("a closing quote", rest());
    const std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }

  bool boolean() {
    skip_blanks();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return word == "True";
      }
    }
    refuse_header("True or False", rest());
  }

  std::vector<std::size_t> tuple() {
    std::vector<std::size_t> shape;
    demand('(');
    while (!accept(')')) {
      shape.push_back(number());
      if (!accept(',')) {
        if (shape.size() == 1) refuse_header("a comma after the only length of the shape", rest());
        demand(')');
        break;
      }
    }
    return shape;
  }

  std::size_t number() {
    skip_blanks();
    const std::size_t start = at_;
    std::size_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      const auto digit = static_cast<std::size_t>(text_[at_] - '0');
      if (value > (std::numeric_limits<std::size_t>::max() - digit) / 10) {
        refuse_header("a length that fits in 64 bits", quote(text_.substr(start, 30)));
      }
      value = 10 * value + digit;
    }
    if (at_ == start) refuse_header("a length of 0 or more", rest());
    return value;
  }

  std::string rest() const { return at_ < text_.size() ? quote(text_.substr(at_, 10)) : "the end of the header"; }

  static std::string quote(std::string_view text) {
    std::string printable;
    for (const char c : text) printable += c >= ' ' && c <= '~' ? c : '?';
    return "\"" + printable + "\"";
  }

  [[noreturn]] void refuse_header(const std::string& wanted, const std::string& got) const {
    refuse_input(name_ + ": header", wanted, got);
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

/// Splits a file into its header's text and its data.
struct Parts {
  std::string_view header;
  std::string_view data;
};

Parts split(std::string_view bytes, const std::string& name) {
  const std::string size = std::to_string(bytes.size()) + " bytes";
  if (bytes.substr(0, magic.size()) != magic) {
    refuse_input(name, "an .npy file, which starts with \\x93NUMPY",
                 bytes.empty() ? "an empty file" : "other bytes");
  }
  if (bytes.size() < 10) refuse_input(name, "a whole header", size);
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3 || bytes[7] != 0) {
    refuse_input(name, "format version 1.0, 2.0 or 3.0",
                 std::to_string(version) + "." + std::to_string(static_cast<unsigned char>(bytes[7])));
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (bytes.size() < 8 + length_bytes) refuse_input(name, "a whole header", size);
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    length |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[8 + i])) << (8 * i);
  }
  const std::string_view rest = bytes.substr(8 + length_bytes);
  if (length > rest.size()) {
    refuse_input(name, "a header of " + std::to_string(length) + " bytes", std::to_string(rest.size()) + " left");
  }
  return {rest.substr(0, length), rest.substr(length)};
}

/// How many values the shape asks for; no value when their bytes cannot be counted in 64 bits.
std::optional<std::size_t> count(const std::vector<std::size_t>& shape, std::size_t item_size) {
  for (const std::size_t length : shape) {
    if (length == 0) return 0;
  }
  std::size_t total = 1;
  for (const std::size_t length : shape) {
    if (total > std::numeric_limits<std::size_t>::max() / item_size / length) return std::nullopt;
    total *= length;
  }
  return total;
}

/// From the first index fastest to the last index fastest.
template <typename T>
std::vector<T> to_c_order(const std::vector<T>& values, const std::vector<std::size_t>& shape) {
  std::vector<std::size_t> strides(shape.size(), 1);
  for (std::size_t i = 1; i < shape.size(); ++i) strides[i] = strides[i - 1] * shape[i - 1];
  std::vector<T> out;
  out.reserve(values.size());
  std::vector<std::size_t> index(shape.size(), 0);
  for (std::size_t n = 0; n < values.size(); ++n) {
    std::size_t from = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) from += index[i] * strides[i];
    out.push_back(values[from]);
    for (std::size_t i = shape.size(); i-- > 0 && ++index[i] == shape[i];) index[i] = 0;
  }
  return out;
}

template <typename T>
Tensor read_values(const Header& header, std::string_view data, const std::string& name) {
  const std::optional<std::size_t> values = count(header.shape, sizeof(T));
  const std::string shape = "shape " + shape_text(header.shape);
  if (!values || data.size() != *values * sizeof(T)) {
    refuse_input(name,
                 values ? std::to_string(*values * sizeof(T)) + " bytes of data for " + shape
                        : "a shape whose bytes can be counted",
                 values ? std::to_string(data.size()) : shape);
  }
  std::vector<T> flat(*values);
  if (!flat.empty()) std::memcpy(flat.data(), data.data(), data.size());
  if constexpr (std::is_same_v<T, Bool>) {
    for (const Bool b : flat) {
      const int byte = static_cast<int>(b);
      if (byte > 1) refuse_input(name, "bools, bytes of 0 or 1", "a byte of " + std::to_string(byte));
    }
  }
  return {header.shape, header.fortran_order ? to_c_order(flat, header.shape) : std::move(flat)};
}

std::string_view descr_of(const Tensor& tensor) {
  constexpr std::string_view descrs[] = {"<f4", "<f8", "<i4", "<i8", "|b1"};
  return descrs[tensor.values.index()];
}

}  // namespace

Tensor parse_npy(std::string_view bytes, const std::string& name) {
  const Parts parts = split(bytes, name);
  const Header header = HeaderReader(parts.header, name).read();
  if (header.descr == "<f4") return read_values<float>(header, parts.data, name);
  if (header.descr == "<f8") return read_values<double>(header, parts.data, name);
  if (header.descr == "<i4") return read_values<std::int32_t>(header, parts.data, name);
  if (header.descr == "<i8") return read_values<std::int64_t>(header, parts.data, name);
  if (header.descr == "|b1") return read_values<Bool>(header, parts.data, name);
  refuse_input(name, "type <f4, <f8, <i4, <i8 or |b1", "'" + header.descr + "'");
}

Tensor read_npy(const std::filesystem::path& path) { return parse_npy(read_file(path), path.string()); }

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  std::string header = "{'descr': '" + std::string(descr_of(tensor)) +
                       "', 'fortran_order': False, 'shape': " + shape_text(tensor.shape) + ", }";
  // The data starts at a multiple of 64 bytes, and the header ends with a newline.
  header.append(63 - (magic.size() + 4 + header.size()) % 64, ' ').push_back('\n');
  std::string bytes(magic);
  bytes.append({1, 0, static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)});
  bytes.append(header);
  std::visit(
      [&](const auto& values) {
        if (!values.empty()) {
          bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
        }
      },
      tensor.values);
  write_file(path, bytes);
}

}  // namespace attn
