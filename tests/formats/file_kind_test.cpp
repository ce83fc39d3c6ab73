#include "attn/formats/file_kind.hpp"

#include "attn/formats/safetensors.hpp"
#include "catch.hpp"

using namespace attn;
using namespace std::literals;

namespace {

std::string kind(const std::string& start) {
  const auto found = file_kind(start);
  return found ? found->name : "";
}

/// The start of a zip archive whose first file has this name (PKWARE's APPNOTE, section 4.3.7).
std::string zip(const std::string& name) {
  return "PK\3\4"s + std::string(22, '\0') + static_cast<char>(name.size()) + "\0\0\0"s + name + "\x80\2}q\0"s;
}

}  // namespace

// The first bytes are those that the formats' own descriptions give, and file(1) knows.
TEST_CASE("files of other formats are recognised by how they begin") {
  CHECK(kind("") == "an empty file");
  CHECK(kind(zip("archive/data.pkl")) == "a PyTorch archive (.pt, .pth or .bin)");
  CHECK(kind(zip("arr_0.npy")) == "NumPy arrays in a zip archive (.npz)");
  CHECK(kind(zip("readme.txt")) == "a zip archive");
  CHECK(kind("PK\3\4") == "a zip archive");
  CHECK(kind("\x93NUMPY\1\0v\0{'descr'"s) == "a NumPy array (.npy)");
  CHECK(kind("\x1F\x8B\x08\0"s) == "a gzip file");
  CHECK(kind("\x89HDF\r\n\x1A\n") == "an HDF5 file");
  CHECK(kind("GGUF\3\0\0\0"s) == "a GGUF file, as llama.cpp has them");
  CHECK(kind("\x80\2\x8A\nl\xFC\x9C"s) == "a Python pickle, as PyTorch before 1.6 writes too");
  CHECK(kind("\x80\4\x95\0\0"s) == "a Python pickle, as PyTorch before 1.6 writes too");
  CHECK(kind("\2\0\0\0\x10\0TransformerBase\0"s) == "a model.bin of CTranslate2");
  CHECK(kind("\6\0\0\0\x10\0TransformerSpec\0"s) == "a model.bin of CTranslate2");
  CHECK(kind("<?xml version=\"1.0\"?>\n<svg xmlns=\"\">") == "an SVG picture");
  CHECK(kind("<?xml version=\"1.0\"?>\n<a/>") == "XML");
  CHECK(kind("\xEF\xBB\xBF\n{\"a\": 1}") == "JSON");
  CHECK(kind("version https://git-lfs.github.com/spec/v1\n") == "a pointer of Git LFS to the file");
  CHECK(kind("größer\n") == "a text");
  CHECK(kind(std::string("温度").substr(0, 5)) == "a text");  // cut in the middle of a letter
  CHECK(kind(std::string(257, '\0') + "ustar\0"s) == "a tar archive");
  CHECK(kind("BZh91AY&SY") == "a bzip2 file");
  CHECK(kind("\xFD"
             "7zXZ\0"s) == "an xz file");
  CHECK(kind("\x28\xB5\x2F\xFD") == "a Zstandard file");
}

TEST_CASE("a safetensors file, and what may be anything, are not recognised") {
  CHECK(kind(safetensors_bytes({})).empty());
  CHECK(kind("{\0\0\0\0\0\0\0{\"a\""s).empty());  // a header of 123 bytes
  CHECK(kind("\1\2\3").empty());
  CHECK(kind("\x80\x2C").empty());
}
