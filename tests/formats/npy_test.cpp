#include "attn/formats/npy.hpp"

#include <cstring>

#include "attn/core/errors.hpp"
#include "attn/core/files.hpp"
#include "matrices.hpp"
#include "scratch.hpp"

using namespace attn;
using tests::complaint;

namespace {

std::string bytes_of(const void* data, std::size_t size) { return {static_cast<const char*>(data), size}; }

/// A file as NumPy writes it: magic, version, length of the header, header, data.
std::string npy(std::string header, const std::string& data, char version = 1) {
  header.push_back('\n');
  std::string bytes("\x93NUMPY", 6);
  bytes.append({version, 0, static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)});
  if (version > 1) bytes.append(2, '\0');
  return bytes + header + data;
}

std::string header(const std::string& descr, const std::string& order, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

std::string refusal(const std::string& bytes) {
  try {
    parse_npy(bytes, "t.npy");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

const double six[] = {1, 2, 3, 4, 5, 6};

}  // namespace

TEST_CASE("a matrix in C order, and the same in Fortran order") {
  const std::string data = bytes_of(six, sizeof six);
  const Tensor c = parse_npy(npy(header("<f8", "False", "(2, 3)"), data), "t.npy");
  tests::check_same(to_matrix(c, "c"), {{1, 2, 3}, {4, 5, 6}});
  // numpy.array([[1, 3, 5], [2, 4, 6]], order='F') lies in memory as 1 2 3 4 5 6
  const Tensor f = parse_npy(npy(header("<f8", "True", "(2, 3)"), data), "t.npy");
  tests::check_same(to_matrix(f, "f"), {{1, 3, 5}, {2, 4, 6}});
}

TEST_CASE("three indices in Fortran order") {
  std::int32_t n[12];
  for (int i = 0; i < 12; ++i) n[i] = i;
  const Tensor t = parse_npy(npy(header("<i4", "True", "(2, 3, 2)"), bytes_of(n, sizeof n)), "t.npy");
  // numpy.arange(12).reshape((2, 3, 2), order='F').ravel()
  CHECK(std::get<std::vector<std::int32_t>>(t.values) ==
        std::vector<std::int32_t>{0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11});
}

TEST_CASE("every type, every version, any rank") {
  const float f[] = {1.5f, -2.0f};
  const std::int64_t l[] = {-1, std::int64_t{1} << 40};
  CHECK(std::get<std::vector<float>>(
            parse_npy(npy(header("<f4", "False", "(2,)"), bytes_of(f, 8), 2), "t").values)[1] == -2.0f);
  CHECK(std::get<std::vector<std::int64_t>>(
            parse_npy(npy(header("<i8", "False", "(2, 1)"), bytes_of(l, 16), 3), "t").values)[1] == l[1]);
  CHECK(std::get<std::vector<Bool>>(
            parse_npy(npy(header("|b1", "False", "(2,)"), std::string("\0\1", 2)), "t").values)[1] == Bool::yes);
  const Tensor number = parse_npy(npy(header("<f8", "False", "()"), bytes_of(six, 8)), "t");
  CHECK(number.shape.empty());
  CHECK(std::get<std::vector<double>>(number.values) == std::vector<double>{1});
  const Tensor nothing = parse_npy(npy(header("<f8", "False", "(3, 0)"), ""), "t");
  CHECK(shape_text(nothing.shape) == "(3, 0)");
}

// rcppcnpy issue 21: these four floats, read as two doubles, give 536871039 and 1.412329071e19.
TEST_CASE("the type in the header is believed, not guessed") {
  const float f[] = {1, 24, 59, 465};
  double wrong[2];
  std::memcpy(wrong, f, sizeof wrong);
  CHECK(std::abs(wrong[0] - 536871039) < 1);
  const Tensor t = parse_npy(npy(header("<f4", "False", "(1, 4)"), bytes_of(f, 16)), "t");
  tests::check_same(to_matrix(t, "t"), {{1, 24, 59, 465}});
  CHECK(refusal(npy(header("<f8", "False", "(1, 4)"), bytes_of(f, 16))) ==
        "t.npy: wanted 32 bytes of data for shape (1, 4), got 16");
}

TEST_CASE("what is written is read back, and starts at a multiple of 64") {
  const tests::Scratch scratch;
  const Matrix A = {{1, 2.5}, {-3, 1e300}};
  write_npy(scratch / "a.npy", to_tensor(A));
  tests::check_same(to_matrix(read_npy(scratch / "a.npy"), "a"), A);
  const std::string bytes = read_file(scratch / "a.npy");
  CHECK((bytes.size() - 4 * sizeof(double)) % 64 == 0);
  CHECK(bytes.substr(10, 57) == "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2),");
  write_npy(scratch / "b.npy", {{2}, std::vector<Bool>{Bool::yes, Bool::no}});
  CHECK(read_npy(scratch / "b.npy").dtype() == "bool");
}

TEST_CASE("files that are no .npy files") {
  CHECK(refusal("") == "t.npy: wanted an .npy file, which starts with \\x93NUMPY, got an empty file");
  CHECK(refusal("PK\3\4 something else").find("got other bytes") != std::string::npos);
  CHECK(refusal(std::string("\x93NUMPY", 6)) == "t.npy: wanted a whole header, got 6 bytes");
  std::string four = npy(header("<f8", "False", "(1,)"), bytes_of(six, 8));
  four[6] = 4;
  CHECK(refusal(four) == "t.npy: wanted format version 1.0, 2.0 or 3.0, got 4.0");
  four[6] = 1;
  four[7] = 9;
  CHECK(refusal(four) == "t.npy: wanted format version 1.0, 2.0 or 3.0, got 1.9");
}

TEST_CASE("truncated at every place, it is refused") {
  const std::string whole = npy(header("<f8", "False", "(2, 3)"), bytes_of(six, sizeof six));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    INFO("cut to " << length << " bytes");
    CHECK_FALSE(refusal(whole.substr(0, length)).empty());
  }
  CHECK(refusal(whole + "x") == "t.npy: wanted 48 bytes of data for shape (2, 3), got 49");
}

TEST_CASE("headers that lie about sizes ask for no memory") {
  const std::string huge = "(9223372036854775807, 9223372036854775807)";
  CHECK(refusal(npy(header("<f8", "False", huge), "")) ==
        "t.npy: wanted a shape whose bytes can be counted, got shape (9223372036854775807, 9223372036854775807)");
  CHECK(refusal(npy(header("<f8", "False", "(1000000000000,)"), "12345678")) ==
        "t.npy: wanted 8000000000000 bytes of data for shape (1000000000000,), got 8");
  CHECK(refusal(npy(header("<f8", "False", "(99999999999999999999999,)"), ""))
            .find("a length that fits in 64 bits") != std::string::npos);
  // Nothing times anything is nothing, however large.
  CHECK(
      parse_npy(npy(header("<f8", "False", "(0, 9223372036854775807, 9223372036854775807)"), ""), "t").shape[0] ==
      0);
  std::string long_header = npy(header("<f8", "False", "(1,)"), bytes_of(six, 8));
  long_header[8] = '\xff';
  long_header[9] = '\xff';
  CHECK(refusal(long_header).find("a header of 65535 bytes") != std::string::npos);
}

TEST_CASE("hostile headers are refused with a reason") {
  const std::string data = bytes_of(six, 8);
  const auto says = [&](const std::string& text) { return refusal(npy(text, data)); };
  CHECK(says("").find("wanted '{'") != std::string::npos);
  CHECK(says("{}").find("wanted the keys descr, fortran_order and shape") != std::string::npos);
  CHECK(says("{'descr': '<f8', 'shape': (1,)}").find("the keys") != std::string::npos);
  CHECK(says("{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}").find("'descr' twice") !=
        std::string::npos);
  CHECK(says("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'x': 1}").find("got 'x'") !=
        std::string::npos);
  CHECK(says("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}").find("a quoted string") !=
        std::string::npos);
  CHECK(says(header("<f8", "Perhaps", "(1,)")).find("True or False") != std::string::npos);
  CHECK(says(header("<f8", "False", "(-1,)")).find("a length of 0 or more") != std::string::npos);
  CHECK(says(header("<f8", "False", "(1)")).find("a comma") != std::string::npos);
  CHECK(says(header("<f8", "False", "(1 1,)")).find("wanted") != std::string::npos);
  CHECK(says(header("<f8", "False", "(1,")).find("wanted") != std::string::npos);
  CHECK(says("{'descr': '<f8").find("a closing quote") != std::string::npos);
  CHECK(says(header("<f8", "False", "(1,)") + " rm -rf").find("nothing after the dictionary") !=
        std::string::npos);
  CHECK(says(header(">f8", "False", "(1,)")).find("got '>f8'") != std::string::npos);
  CHECK(says(header("<c16", "False", "(1,)")).find("got '<c16'") != std::string::npos);
  CHECK(says(header("|O", "False", "(1,)")).find("got '|O'") != std::string::npos);
  CHECK(refusal(npy(header("|b1", "False", "(1,)"), "\2")).find("a byte of 2") != std::string::npos);
}

TEST_CASE("a thousand headers with one byte changed: read or refused, never worse") {
  const std::string whole = npy(header("<f8", "False", "(2, 3)"), bytes_of(six, sizeof six));
  for (std::size_t at = 0; at < whole.size() - sizeof six; ++at) {
    for (const char c : {'\0', '\xff', '(', ')', '\'', ',', '9', ' '}) {
      std::string changed = whole;
      changed[at] = c;
      CHECK_NOTHROW(refusal(changed));
    }
  }
}

TEST_CASE("tensors that are no matrices of floating-point numbers are refused by name") {
  CHECK(complaint([] {
          to_matrix({{3}, std::vector<double>(3)}, "X.npy");
        }) == "X.npy: wanted a matrix (rank 2), got shape (3,)");
  CHECK(complaint([] {
          to_matrix({{1, 1}, std::vector<std::int32_t>(1)}, "X.npy");
        }) == "X.npy: wanted float32 or float64, got int32");
}
