#include "attn/core/files.hpp"

#include "attn/core/errors.hpp"
#include "matrices.hpp"
#include "scratch.hpp"

using namespace attn;
namespace fs = std::filesystem;

TEST_CASE("a file comes back as it was written, and nothing is left beside it") {
  const tests::Scratch scratch;
  const std::string bytes("a\0b\n\xff", 5);
  write_file(scratch / "deep/er/file.bin", bytes);
  CHECK(read_file(scratch / "deep/er/file.bin") == bytes);
  write_file(scratch / "deep/er/file.bin", "new");
  CHECK(read_file(scratch / "deep/er/file.bin") == "new");
  CHECK(std::distance(fs::directory_iterator(scratch / "deep/er"), {}) == 1);
}

TEST_CASE("missing files, folders and unwritable places are refused by name") {
  const tests::Scratch scratch;
  const std::string missing = (scratch / "none.npy").string();
  CHECK_THROWS_AS(read_file(missing), InputError);
  CHECK(tests::complaint([&] { read_file(missing); }) ==
        missing + ": wanted a file that can be read, got No such file or directory");
  CHECK(tests::complaint([&] { read_file(scratch.path()); }) ==
        scratch.path().string() + ": wanted a file, got a folder");
  write_file(scratch / "file", "x");
  CHECK_THROWS_AS(write_file(scratch / "file/below", "y"), InputError);
  CHECK(read_file(scratch / "file") == "x");
}

TEST_CASE("a full disk leaves the old file as it was") {
  if (!fs::exists("/dev/full")) return;
  const tests::Scratch scratch;
  write_file(scratch / "file", "old");
  // The new content is written aside, to file.part: make that the device that is always full.
  fs::create_symlink("/dev/full", scratch / "file.part");
  const std::string why = tests::complaint([&] { write_file(scratch / "file", std::string(1 << 20, 'x')); });
  CHECK(why.find("No space left on device") != std::string::npos);
  CHECK(read_file(scratch / "file") == "old");
}
