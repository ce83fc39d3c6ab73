#include "attn/formats/file_kind.hpp"

#include <algorithm>

#include "attn/core/utf8.hpp"

namespace attn {
namespace {

using namespace std::literals;

const std::string save_file = "in Python, safetensors.torch.save_file() writes one from what torch.load() reads";
const std::string save_numpy = "in Python, safetensors.numpy.save_file() writes one from what numpy.load() reads";

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::size_t two_bytes(std::string_view text, std::size_t at) {
  if (text.size() < at + 2) return 0;
  return static_cast<unsigned char>(text[at]) | static_cast<std::size_t>(static_cast<unsigned char>(text[at + 1]))
                                                    << 8;
}

/// By the name of the first file in it.
FileKind archive_kind(std::string_view start) {
  constexpr std::size_t length_at = 26, name_at = 30;
  const std::string_view name = start.size() < name_at ? "" : start.substr(name_at, two_bytes(start, length_at));
  if (name.ends_with(".npy")) return {"NumPy arrays in a zip archive (.npz)", save_numpy};
  if (name.ends_with("/data.pkl") || name.ends_with("/constants.pkl") || name.ends_with("/version")) {
    return {"a PyTorch archive (.pt, .pth or .bin)", save_file};
  }
  return {"a zip archive", "unpack it first"};
}

/// A number of 32 bits, then a name with its length before it.
bool is_ctranslate2(std::string_view start) {
  constexpr std::size_t length_at = 4, name_at = 6;
  return start.size() > name_at && start[0] != 0 && starts_with(start.substr(1), "\0\0\0"sv) &&
         starts_with(start.substr(name_at), "Transformer") && two_bytes(start, length_at) < 100;
}

/// UTF-8 without control characters; the last letter may be cut.
bool is_text(std::string_view start) {
  constexpr std::size_t longest = 4;  // bytes of a letter
  for (std::size_t at = 0; at < start.size();) {
    const std::optional<Letter> letter = decode_utf8(start, at);
    if (!letter) return at > 0 && start.size() - at < longest;
    if (letter->code < ' ' && !has("\t\n\r", start.substr(at, 1))) return false;
    at += letter->length;
  }
  return true;
}

FileKind text_kind(std::string_view text) {
  if (starts_with(text, "\xEF\xBB\xBF")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\r\n")));
  if (starts_with(text, "version https://git-lfs.github.com/")) {
    return {"a pointer of Git LFS to the file", "git lfs pull brings it"};
  }
  if (has(text, "<svg")) return {"an SVG picture", ""};
  if (starts_with(text, "<!DOCTYPE html") || starts_with(text, "<!doctype html") || starts_with(text, "<html")) {
    return {"an HTML page", "what was downloaded may be a page about the file"};
  }
  if (starts_with(text, "<")) return {"XML", ""};
  if (starts_with(text, "{") || starts_with(text, "[")) return {"JSON", ""};
  return {"a text", ""};
}

}  // namespace

std::optional<FileKind> file_kind(std::string_view start) {
  if (start.empty()) return FileKind{"an empty file", ""};
  if (starts_with(start, "PK\3\4")) return archive_kind(start);
  if (starts_with(start, "\x93NUMPY")) return FileKind{"a NumPy array (.npy)", save_numpy};
  if (starts_with(start, "\x89HDF\r\n\x1A\n")) return FileKind{"an HDF5 file", ""};
  if (starts_with(start, "GGUF")) return FileKind{"a GGUF file, as llama.cpp has them", ""};
  if (starts_with(start, "\x1F\x8B")) return FileKind{"a gzip file", "unpack it first, with gunzip"};
  if (starts_with(start, "BZh")) return FileKind{"a bzip2 file", "unpack it first, with bunzip2"};
  if (starts_with(start,
                  "\xFD"
                  "7zXZ"))
    return FileKind{"an xz file", "unpack it first, with unxz"};
  if (starts_with(start, "\x28\xB5\x2F\xFD")) return FileKind{"a Zstandard file", "unpack it first, with unzstd"};
  if (start.size() > 262 && start.substr(257, 5) == "ustar") return FileKind{"a tar archive", "unpack it first"};
  if (start.size() > 2 && start[0] == '\x80' && start[1] >= 2 && start[1] <= 5) {
    return FileKind{"a Python pickle, as PyTorch before 1.6 writes too", save_file};
  }
  if (is_ctranslate2(start)) return FileKind{"a model.bin of CTranslate2", ""};
  if (is_text(start)) return text_kind(start);
  return std::nullopt;
}

}  // namespace attn
