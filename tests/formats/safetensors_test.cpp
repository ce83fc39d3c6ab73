#include "attn/formats/safetensors.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "attn/core/errors.hpp"
#include "attn/core/files.hpp"
#include "attn/core/random.hpp"
#include "matrices.hpp"
#include "peak_memory.hpp"
#include "scratch.hpp"

using namespace attn;
using tests::complaint;
namespace fs = std::filesystem;

namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;
using Ints = std::vector<std::int32_t>;
using Longs = std::vector<std::int64_t>;
using Bools = std::vector<Bool>;

std::string file(const std::string& header, const std::string& data = "", std::uint64_t length = 0) {
  if (length == 0) length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

/// What an entry of the header says; `name` is the tensor's.
std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets,
                  const std::string& name = "w") {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

/// Why it is refused; empty when it is read.
std::string refusal(const std::string& bytes) {
  try {
    parse_safetensors(bytes, "m.safetensors");
  } catch (const InputError& error) {
    const std::string why = error.what();
    REQUIRE(why.rfind("m.safetensors: ", 0) == 0);
    return why.substr(15);
  }
  return "";
}

/// Why a file with one tensor is refused.
std::string refusal(const std::string& dtype, const std::string& shape, const std::string& offsets,
                    std::size_t bytes) {
  return refusal(file("{" + entry(dtype, shape, offsets) + "}", std::string(bytes, '\0')));
}

/// Equal to the last bit; shapes too.
void check_same(const Safetensors& got, const Safetensors& wanted) {
  CHECK(got.metadata == wanted.metadata);
  REQUIRE(got.tensors.size() == wanted.tensors.size());
  for (const auto& [name, tensor] : wanted.tensors) {
    INFO(name);
    REQUIRE(got.tensors.count(name) == 1);
    const Tensor& other = got.tensors.at(name);
    CHECK(other.shape == tensor.shape);
    REQUIRE(other.dtype() == tensor.dtype());
    std::visit(
        [&](const auto& values) {
          const auto& others = std::get<std::decay_t<decltype(values)>>(other.values);
          REQUIRE(others.size() == values.size());
          CHECK((values.empty() ||
                 std::memcmp(others.data(), values.data(), values.size() * sizeof values[0]) == 0));
        },
        tensor.values);
  }
}

/// Every type, and what is easily forgotten. safetensors_peer.py knows the same by heart.
Safetensors everything() {
  const float infinity = std::numeric_limits<float>::infinity(), tiny = std::ldexp(1.0f, -149);
  return {{{"longs", {{2}, Longs{-1, std::int64_t{1} << 40}}},
           {"number", {{}, Doubles{2.5}}},
           {"nothing", {{0, 3}, Doubles{}}},
           {"floats", {{2, 3}, Floats{0.0f, -0.0f, 1.5f, -1e38f, tiny, infinity}}},
           {"größe \"温度\"\n\\", {{1}, Floats{7}}},
           {"ints", {{3, 1}, Ints{1, -2, 3}}},
           {"bools", {{3}, Bools{Bool::yes, Bool::no, Bool::yes}}}},
          {{"title", "Überschrift\t1"}, {"", "no name"}}};
}

}  // namespace

TEST_CASE("what is written is read back") {
  const tests::Scratch scratch;
  write_safetensors(scratch / "all.safetensors", everything());
  check_same(read_safetensors(scratch / "all.safetensors"), everything());
  check_same(parse_safetensors(safetensors_bytes({}), "empty"), {});
  CHECK_THROWS_AS(read_safetensors(scratch / "none.safetensors"), InputError);
}

// Made by the Python package safetensors 0.8.0, which was given the checksum that
// tests/formats/safetensors_peer.py computes.
TEST_CASE("files are equal to those of the Python package, byte for byte") {
  const Safetensors small = {{{"w", {{2}, Floats{1, -2}}}, {"on", {{1}, Bools{Bool::yes}}}, {"n", {{}, Longs{3}}}},
                             {}};
  CHECK(safetensors_bytes(small) ==
        file(R"({"__metadata__":{"attn.checksum":"91352754417ad1b3"},"n":{"dtype":"I64","shape":[],)"
             R"("data_offsets":[0,8]},"w":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},"on":{"dtype":"BOOL",)"
             R"("shape":[1],"data_offsets":[16,17]}})",
             std::string("\x03\0\0\0\0\0\0\0\0\0\x80?\0\0\0\xc0\x01", 17)));
  CHECK(safetensors_bytes({}) == file(R"({"__metadata__":{"attn.checksum":"f8bb92c91b3f5cc0"}}   )"));
}

// The test in the package's own source (safetensors/src/tensor.rs, test_serialization).
TEST_CASE("a file from elsewhere, without a checksum and without metadata") {
  const Floats six = {0, 1, 2, 3, 4, 5};
  const std::string data(reinterpret_cast<const char*>(six.data()), 24);
  check_same(parse_safetensors(file("{" + entry("F32", "[1,2,3]", "[0,24]", "attn.0") + "}", data), "t"),
             {{{"attn.0", {{1, 2, 3}, six}}}, {}});
  check_same(parse_safetensors(file("{}      "), "t"), {});
  check_same(parse_safetensors(file(R"({"__metadata__":{"framework":"pt"}}     )"), "t"),
             {{}, {{"framework", "pt"}}});
}

TEST_CASE("Python reads ours, and we read what Python writes", "[.python]") {
  if (std::system("python3 -c '' 2>&1") != 0) {
    std::cout << "SKIPPED: no python3, with which files are exchanged\n";
    return;
  }
  const tests::Scratch scratch;
  write_safetensors(scratch / "ours.safetensors", everything());
  const std::string command =
      "python3 -B '" ATTN_TEST_SOURCE "/tests/formats/safetensors_peer.py' '" + scratch.path().string() + "'";
  REQUIRE(std::system(command.c_str()) == 0);
  for (const std::string name : {"theirs.safetensors", "package.safetensors"}) {
    INFO(name);
    if (name == "package.safetensors" && !std::filesystem::exists(scratch / name)) continue;
    const Safetensors theirs = read_safetensors(scratch / name);
    CHECK(theirs.metadata == std::map<std::string, std::string>{{"made by", "Python"}});
    CHECK(std::get<Doubles>(theirs.tensors.at("größe").values) == Doubles{-0.5});
    CHECK(theirs.tensors.at("nothing").shape == std::vector<std::size_t>{0, std::size_t{1} << 40});
    CHECK(std::get<Bools>(theirs.tensors.at("bools").values) == Bools{Bool::no, Bool::yes});
    for (const std::string half : {"f16", "bf16"}) {
      if (theirs.tensors.count(half) == 0) continue;
      const auto& narrow = std::get<Floats>(theirs.tensors.at(half).values);
      const auto& wide = std::get<Floats>(theirs.tensors.at(half + ".wide").values);
      REQUIRE(narrow.size() == 65536);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < wide.size(); ++i) {
        const bool same = std::memcmp(&narrow[i], &wide[i], 4) == 0;
        wrong += !same && !(std::isnan(narrow[i]) && std::isnan(wide[i]));
      }
      CHECK(wrong == 0);
    }
  }
}

// 0x3555 is the half nearest 1/3, 0x0001 the smallest, 0x7BFF the largest (IEEE 754); bfloat16 is half a float32.
TEST_CASE("numbers of 16 bits become float32") {
  const auto read = [](const std::string& dtype, const std::string& data) {
    const std::string shape = "[" + std::to_string(data.size() / 2) + "]";
    const std::string offsets = "[0," + std::to_string(data.size()) + "]";
    return std::get<Floats>(
        parse_safetensors(file("{" + entry(dtype, shape, offsets) + "}", data), "t").tensors.at("w").values);
  };
  const std::string halves("\x55\x35\x01\x00\xff\x7b\x00\xfc\x00\x80\x00\x3c", 12);
  const Floats wide = read("F16", halves);
  CHECK(wide == Floats{0.333251953125f, std::ldexp(1.0f, -24), 65504.0f, -INFINITY, -0.0f, 1.0f});
  CHECK(std::signbit(wide[4]));
  CHECK(read("BF16", std::string("\x49\x40\x80\xff\x01\x00", 6)) ==
        Floats{3.140625f, -INFINITY, std::ldexp(1.0f, -133)});
}

TEST_CASE("a changed byte is seen, wherever it is") {
  const std::string whole = safetensors_bytes(everything());
  const std::string key = "attn.checksum";  // without it, this is a file from elsewhere
  std::size_t unseen = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    if (at == whole.find(key)) at += key.size();
    for (const int bit : {1, 0x80}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ bit);
      unseen += refusal(damaged).empty();
    }
  }
  CHECK(unseen == 0);
  std::string damaged = whole;
  damaged[whole.size() - 1] ^= 1;
  const std::string why = refusal(damaged);
  CHECK(why.find("wanted the checksum \"") == 0);
  CHECK(why.find(", which it names itself, got \"") != std::string::npos);
  CHECK(why.find("\"; the file is damaged") == why.size() - 22);
  // Two signs at the top of their words: a sum that only multiplies would not see them.
  const std::string two = safetensors_bytes({{{"w", {{2}, Doubles{1, 2}}}}, {}});
  damaged = two;
  damaged[two.size() - 1] ^= static_cast<char>(0x80), damaged[two.size() - 9] ^= static_cast<char>(0x80);
  CHECK(refusal(damaged).find("the file is damaged") != std::string::npos);
  CHECK(refusal(file(R"({"__metadata__":{"attn.checksum":"none"}})")) ==
        "wanted the checksum \"none\", which it names itself, got \"f8bb92c91b3f5cc0\"; the file is damaged");
}

// Read as somebody else's, a file of ours whose key is damaged would not be checked at all.
TEST_CASE("a file of ours without its checksum is refused; one from elsewhere is read") {
  const Safetensors ours = {{{"w", {{2}, Floats{1, 2}}}}, {{"format", "attn model 1"}}};
  const std::string whole = safetensors_bytes(ours);
  CHECK(refusal(whole).empty());
  std::string damaged = whole;
  damaged[whole.find("attn.checksum") + 5] = 'k';
  const std::string why = "wanted metadata attn.checksum, as every file of format attn model 1 has, got none";
  CHECK(refusal(damaged) == why);
  CHECK(refusal(file(R"({"__metadata__":{"format":"attn training 2"}})")) ==
        "wanted metadata attn.checksum, as every file of format attn training 2 has, got none");
  CHECK(refusal(file(R"({"__metadata__":{"format":"pt"}})")).empty());
  CHECK(refusal(file(R"({"__metadata__":{"attn.checksum":""}})")).find("wanted the checksum \"\"") == 0);
  const tests::Scratch scratch;
  write_file(scratch / "m", damaged);
  CHECK(complaint([&] { SafetensorsFile(scratch / "m"); }) == (scratch / "m").string() + ": " + why);
}

TEST_CASE("a header is read by itself, with types of which no numbers are read") {
  const tests::Scratch scratch;
  const auto open = [&](const std::string& entries, std::size_t bytes) {
    write_file(scratch / "m", file("{" + entries + "}", std::string(bytes, '\1')));
    return complaint([&] { SafetensorsFile(scratch / "m"); });
  };
  // Bits of each type as the package's source has them (safetensors/src/tensor.rs, Dtype::bitsize).
  const std::pair<const char*, std::size_t> bits[] = {
      {"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},   {"I8", 8},    {"F8_E5M2", 8},
      {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16}, {"BF16", 16}, {"I32", 32},
      {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},    {"I64", 64}, {"U64", 64}};
  for (const auto& [dtype, size] : bits) {
    INFO(dtype);
    const std::string right = std::to_string(size);  // bytes of 8 numbers
    CHECK(open(entry(dtype, "[4,2]", "[0," + right + "]"), size).empty());
    const SafetensorsFile read(scratch / "m");
    CHECK(read.header().tensors.at("w").dtype == dtype);
    CHECK(read.header().tensors.at("w").shape == std::vector<std::size_t>{4, 2});
    CHECK(open(entry(dtype, "[4,2]", "[0," + std::to_string(size + 1) + "]"), size + 1)
              .find("wanted " + right + " bytes of data for " + dtype + " of shape [4,2], got ") !=
          std::string::npos);
  }
  CHECK(open(entry("F4", "[3]", "[0,2]"), 2).find("wanted a shape whose bytes can be counted") !=
        std::string::npos);
  CHECK(open(entry("NEW", "[3]", "[0,2]"), 2).empty());
  CHECK(open(entry("NEW", "[3]", "[0,2]"), 3).find("nothing after the last tensor") != std::string::npos);
  CHECK(open(entry("NEW", "[3]", "[1,3]"), 3).find("wanted data from byte 0 on") != std::string::npos);
  CHECK(open(R"("w":{"dtype":7,"shape":[3],"data_offsets":[0,2]})", 2).find("wanted dtype to be a text, got 7") !=
        std::string::npos);
}

TEST_CASE("numbers are read piece by piece, past the fourth gigabyte, in little memory") {
  const tests::Scratch scratch;
  const fs::path path = scratch / "huge.safetensors";
  constexpr std::uint64_t huge = 6'000'000'000;
  const std::string start = file("{" + entry("F32", "[1500000000]", "[0,6000000000]", "z") + "," +
                                 entry("F16", "[4]", "[6000000000,6000000008]", "half") + "," +
                                 entry("U8", "[1]", "[6000000008,6000000009]", "byte") + "}");
  write_file(path, start);
  fs::resize_file(path, start.size() + huge);
  std::ofstream(path, std::ios::binary | std::ios::app) << std::string("\0\x3c\0\x40\0\x42\0\x44\7", 9);
  const long before = tests::peak_megabytes(RUSAGE_SELF);
  SafetensorsFile read(path);
  CHECK(std::get<Floats>(read.values("half", 0, 100)) == Floats{1, 2, 3, 4});
  CHECK(std::get<Floats>(read.values("half", 1, 2)) == Floats{2, 3});
  CHECK(std::get<Floats>(read.values("half", 4, 2)).empty());
  CHECK(std::get<Floats>(read.values("half", std::uint64_t{1} << 63, 2)).empty());
  CHECK(std::get<Floats>(read.values("z", 1499999999, 2)) == Floats{0});
  CHECK(complaint([&] { read.values("byte", 0, 1); }) ==
        path.string() + ": tensor \"byte\": wanted dtype F32, F64, I32, I64, BOOL, F16 or BF16, got \"U8\"");
  CHECK(tests::peak_megabytes(RUSAGE_SELF) - before < 64);
  fs::resize_file(path, 100);
  CHECK(complaint([&] { read.values("half", 0, 4); }).find("wanted 8 bytes from byte ") != std::string::npos);
}

TEST_CASE("what cannot be written is refused by name") {
  const auto why = [](const Safetensors& bad) { return complaint([&] { safetensors_bytes(bad); }); };
  CHECK_THROWS_AS(safetensors_bytes({{{"w", {{2}, Floats{1}}}}, {}}), std::invalid_argument);
  CHECK(why({{{"w", {{2, 3}, Floats{1}}}}, {}}) ==
        "the values of tensor \"w\": wanted as many as the shape (2, 3) says, got 1");
  CHECK(why({{{"w", {{std::size_t{1} << 63, 4}, Floats{}}}}, {}}).find("as many as the shape") !=
        std::string::npos);
  CHECK(why({{{"__metadata__", {{}, Floats{1}}}}, {}}) ==
        "the name of a tensor: wanted another name, got __metadata__");
  CHECK(why({{}, {{"attn.checksum", "mine"}}}) ==
        "the metadata: wanted no attn.checksum, which is added here, got mine");
  const std::string utf8 = "a name or a text of a safetensors file: wanted UTF-8, got \"a\\ufffd\"";
  CHECK(why({{{"a\xff", {{}, Floats{1}}}}, {}}) == utf8);
  CHECK(why({{}, {{"a\xff", ""}}}) == utf8);
  CHECK(why({{}, {{"", "a\xff"}}}) == utf8);
  CHECK(why({{}, {{"long", std::string(100000000, 'x')}}}).find("at most 100000000 bytes") != std::string::npos);
}

TEST_CASE("what is no safetensors file is refused") {
  CHECK(refusal("") ==
        "wanted a safetensors file, which starts with the length of its header in 8 bytes, got 0 bytes");
  CHECK(refusal("1234567").find("got 7 bytes") != std::string::npos);
  CHECK(refusal("PK\3\4 a zip file, as torch.save makes it") ==
        "wanted a safetensors file with a header of at most 100000000 bytes, got 8800140462016121680");
  CHECK(refusal(file("{}", "", 100000001)).find("at most 100000000 bytes, got 100000001") != std::string::npos);
  CHECK(refusal(file("{}", "", 100000000)) == "wanted a header of 100000000 bytes, got 2 left");
  CHECK(refusal(file("")) == "wanted a header that starts with {, got an empty one");
  CHECK(refusal(file("[]")) == "wanted a header that starts with {, got something else");
  CHECK(refusal(file(" {}")) == "wanted a header that starts with {, got something else");
}

TEST_CASE("a header that is no JSON is refused, with the byte") {
  CHECK(refusal(file("{\"a\"}")) == "header: wanted JSON in UTF-8, got a fault at byte 5");
  CHECK(refusal(file("{} x")) == "header: wanted JSON in UTF-8, got a fault at byte 4");
  CHECK(refusal(file("{\"\xff\":{}}")) == "header: wanted JSON in UTF-8, got a fault at byte 3");
  CHECK(refusal(file("{\"\\ud800\":{}}")).find("a fault at byte") != std::string::npos);
  CHECK(refusal(file(std::string("{}\0\0", 4))) == "header: wanted JSON in UTF-8, got a fault at byte 3");
  CHECK(refusal(file("{\"w\":1e999}")).find("a fault at byte") != std::string::npos);
}

TEST_CASE("names that come twice are refused") {
  const std::string w = entry("F32", "[1]", "[0,4]");
  CHECK(refusal(file("{" + w + "," + w + "}", "1234")) == "header: wanted each name once, got \"w\" twice");
  CHECK(refusal(file("{" + w + "," + entry("F32", "[1]", "[4,8]", "\\u0077") + "}", "12345678")) ==
        "header: wanted each name once, got \"w\" twice");
  CHECK(refusal(file(R"({"w":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "1234")) ==
        "header: wanted each name once, got \"dtype\" twice");
  CHECK(refusal(file(R"({"__metadata__":{"a":"1","a":"1"}})")) ==
        "header: wanted each name once, got \"a\" twice");
  CHECK(refusal(file("{" + w + "," + entry("F32", "[1]", "[4,8]", "v") + "}", "12345678")).empty());
}

TEST_CASE("deep nesting is refused before it is built") {
  const std::string deep(10000000, '[');
  CHECK(refusal(file("{\"a\":" + deep)) == "header: wanted tensors and metadata, got something nested deeper");
  CHECK(refusal(file(R"({"a":{"b":[{}]}})")) ==
        "header: wanted tensors and metadata, got something nested deeper");
}

// The parser's own way, a callback, looks at all tensors again after each one: this would take minutes.
TEST_CASE("a hundred thousand tensors are read") {
  Safetensors many;
  for (int i = 0; i < 100000; ++i) many.tensors[std::to_string(i)] = {{}, Bools{Bool::yes}};
  const std::string bytes = safetensors_bytes(many);
  CHECK(parse_safetensors(bytes, "many").tensors.size() == 100000);
}

TEST_CASE("a header of the wrong form is refused, by the name of the tensor") {
  const std::string wanted = "tensor \"w\": wanted dtype, shape and data_offsets, got ";
  CHECK(refusal(file(R"({"w":[1]})")) == wanted + "[1]");
  CHECK(refusal(file(R"({"w":null})")) == wanted + "null");
  CHECK(refusal(file(R"({"w":{"dtype":"F32","shape":[1]}})")) == wanted + R"({"dtype":"F32","shape":[1]})");
  CHECK(refusal(file(R"({"w":{"dtype":"F32","shape":[1],"offsets":[0,4]}})", "1234")).find(wanted) == 0);
  CHECK(refusal(file(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}})", "1234")).find(wanted) ==
        0);
  CHECK(refusal("F32", "3", "[0,4]", 4) ==
        "tensor \"w\": shape: wanted a list of whole numbers from 0 to 2^64 - 1, got 3");
  for (const std::string length : {"-1", "1.0", "1e0", "\"1\"", "null", "18446744073709551616"}) {
    INFO(length);
    CHECK(refusal("F32", "[" + length + "]", "[0,4]", 4).find("shape: wanted a list of whole numbers") !=
          std::string::npos);
    CHECK(refusal("F32", "[1]", "[0," + length + "]", 4).find("data_offsets: wanted a list of whole numbers") !=
          std::string::npos);
  }
  // An escape sequence must not reach the terminal, nor a megabyte.
  CHECK(refusal(file(R"({"\u001b[31m":1})")).find("tensor \"\\u001b[31m\": wanted") == 0);
  CHECK(refusal(file("{\"" + std::string(1000000, 'n') + "\":1}")).size() < 200);
}

TEST_CASE("metadata that are no texts are refused") {
  CHECK(refusal(file(R"({"__metadata__":"x"})")) == "__metadata__: wanted texts by name, got \"x\"");
  CHECK(refusal(file(R"({"__metadata__":null})")) == "__metadata__: wanted texts by name, got null");
  CHECK(refusal(file(R"({"__metadata__":{"step":1}})")) == "__metadata__: wanted a text for \"step\", got 1");
}

TEST_CASE("other types are refused by name") {
  for (const std::string dtype : {"U8", "I8", "I16", "U16", "U32", "U64", "F8_E4M3", "f32", ""}) {
    CHECK(refusal(dtype, "[1]", "[0,1]", 1) ==
          "tensor \"w\": wanted dtype F32, F64, I32, I64, BOOL, F16 or BF16, got \"" + dtype + "\"");
  }
  CHECK(refusal(file(R"({"w":{"dtype":1,"shape":[1],"data_offsets":[0,1]}})", "1")).find("BF16, got 1") !=
        std::string::npos);
  CHECK(refusal(file("{" + entry("BOOL", "[2]", "[0,2]") + "}", "\1\7")) ==
        "tensor \"w\": wanted bools, bytes of 0 or 1, got a byte of 7");
}

TEST_CASE("shapes that do not fit the data are refused, and ask for no memory") {
  CHECK(refusal("F32", "[2,3]", "[0,20]", 20) ==
        "tensor \"w\": wanted 24 bytes of data for F32 of shape [2,3], got 20");
  CHECK(refusal("F64", "[1000000000000]", "[0,8]", 8).find("wanted 8000000000000 bytes of data") !=
        std::string::npos);
  CHECK(refusal("F32", "[4294967296,4294967296]", "[0,0]", 0) ==
        "tensor \"w\": wanted a shape whose bytes can be counted, got F32 of shape [4294967296,4294967296]");
  CHECK(refusal("F32", "[4611686018427387904]", "[0,0]", 0).find("can be counted") != std::string::npos);
  CHECK(refusal("F32", "[18446744073709551615,0,18446744073709551615]", "[0,0]", 0).empty());
}

TEST_CASE("data with holes, overlaps, or something after them are refused") {
  const std::string wanted = "tensor \"w\": wanted data_offsets [begin, end] within 4 bytes of data, got ";
  CHECK(refusal("F32", "[1]", "[0]", 4) == wanted + "[0]");
  CHECK(refusal("F32", "[1]", "[0,4,8]", 4) == wanted + "[0,4,8]");
  CHECK(refusal("F32", "[1]", "[4,0]", 4) == wanted + "[4,0]");
  CHECK(refusal("F32", "[1]", "[4,8]", 4) == wanted + "[4,8]");
  CHECK(refusal("F32", "[0]", "[9,9]", 4) == wanted + "[9,9]");
  CHECK(refusal("F32", "[1]", "[18446744073709551612,18446744073709551615]", 4).find(wanted) == 0);
  const auto two = [](const std::string& v, const std::string& w, const std::string& shape_w, std::size_t bytes) {
    return refusal(
        file("{" + entry("F32", shape_w, w) + "," + entry("F32", "[1]", v, "v") + "}", std::string(bytes, '\0')));
  };
  CHECK(two("[0,4]", "[4,8]", "[1]", 8).empty());
  CHECK(two("[4,8]", "[0,4]", "[1]", 8).empty());
  CHECK(two("[0,4]", "[0,0]", "[0]", 4).empty());
  CHECK(two("[0,4]", "[0,4]", "[1]", 4) ==
        "tensor \"w\": wanted data from byte 4 on, where those before end, got 0");
  CHECK(two("[0,4]", "[2,6]", "[1]", 8) ==
        "tensor \"w\": wanted data from byte 4 on, where those before end, got 2");
  CHECK(two("[0,4]", "[5,9]", "[1]", 9) ==
        "tensor \"w\": wanted data from byte 4 on, where those before end, got 5");
  CHECK(two("[0,4]", "[2,2]", "[0]", 4) ==
        "tensor \"w\": wanted data from byte 4 on, where those before end, got 2");
  CHECK(refusal("F32", "[1]", "[1,5]", 5) ==
        "tensor \"w\": wanted data from byte 0 on, where those before end, got 1");
  CHECK(refusal("F32", "[1]", "[0,4]", 5) == "wanted nothing after the last tensor, got 1 bytes");
  CHECK(refusal(file("{}", "x")) == "wanted nothing after the last tensor, got 1 bytes");
}

TEST_CASE("a safetensors file cut at any place is refused") {
  const std::string whole = safetensors_bytes(everything());
  std::size_t read = 0;
  for (std::size_t length = 0; length < whole.size(); ++length) read += refusal(whole.substr(0, length)).empty();
  CHECK(read == 0);
}

// What is read can also be written and read again.
TEST_CASE("thousands of damaged files: read or refused, never worse") {
  constexpr std::uint64_t seed = 20170612;
  Random random(seed);
  const auto below = [&](std::size_t n) { return random.bits() % n; };
  const std::string pieces[] = {
      "{",     "}",     "[",      "]",     ",",         ":",
      "\"",    "\\u0",  "-1",     "1e999", "0",         "18446744073709551616",
      "null",  "[0,0]", "\"w\":", "{}",    "\"shape\"", "\"__metadata__\":{\"a\":\"b\"},",
      "\"F16", "\xff"};
  const std::string header = R"({"__metadata__":{"a":"b"},)" + entry("F32", "[2,1]", "[0,8]") + "," +
                             entry("BOOL", "[3]", "[8,11]", "b") + "," + entry("I64", "[0]", "[8,8]", "n") + "}";
  std::size_t good = 0, bad = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = header;
    for (std::size_t changes = below(4); changes > 0 && !damaged.empty(); --changes) {
      const std::size_t at = below(damaged.size());
      const std::size_t kind = below(4);
      if (kind == 0) damaged[at] = static_cast<char>(below(160));
      if (kind == 1) damaged.erase(at, 1 + below(12));
      if (kind == 2) damaged.insert(at, pieces[below(std::size(pieces))]);
      if (kind == 3) damaged.insert(at, damaged.substr(below(damaged.size()), below(40)));
    }
    std::string bytes = file(damaged, std::string("\0\0\x80?\0\0\0@\1\0\1", 11));
    if (below(8) == 0) bytes[below(8)] = static_cast<char>(below(256));
    if (below(8) == 0) bytes.resize(below(bytes.size() + 8));
    INFO("seed " << seed << ", round " << round << ": " << bytes);
    Safetensors read;
    try {
      read = parse_safetensors(bytes, "m");
      ++good;
    } catch (const InputError&) {
      ++bad;
      continue;
    }
    check_same(parse_safetensors(safetensors_bytes(read), "again"), read);
  }
  CHECK(good > 100);
  CHECK(bad > 10000);
}
