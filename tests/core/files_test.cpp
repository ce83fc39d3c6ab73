#include "attn/core/files.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <set>
#include <thread>

#include "attn/core/errors.hpp"
#include "matrices.hpp"
#include "scratch.hpp"

using namespace attn;
namespace fs = std::filesystem;

namespace {

/// As on a full disk: while this lives, no file grows beyond so many bytes.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*signal_)(int);
};

/// The names in a folder.
std::set<std::string> names(const fs::path& folder) {
  std::set<std::string> all;
  for (const auto& entry : fs::directory_iterator(folder)) all.insert(entry.path().filename().string());
  return all;
}

/// Does something over and over in a process of its own, which is killed after so many milliseconds.
template <typename Act>
void kill_amid(Act act, int milliseconds) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);  // should nobody be there any more to kill it
    try {
      while (true) act();
    } catch (...) {
      _exit(1);
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  kill(child, SIGKILL);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
}

using Names = std::set<std::string>;

}  // namespace

TEST_CASE("a file comes back as it was written, and nothing is left beside it") {
  const tests::Scratch scratch;
  const std::string bytes("a\0b\n\xff", 5);
  write_file(scratch / "deep/er/file.bin", bytes);
  CHECK(read_file(scratch / "deep/er/file.bin") == bytes);
  write_file(scratch / "deep/er/file.bin", "new");
  CHECK(read_file(scratch / "deep/er/file.bin") == "new");
  CHECK(names(scratch / "deep/er") == Names{"file.bin"});
  write_file(scratch / "empty", "");
  CHECK(read_file(scratch / "empty").empty());
}

TEST_CASE("a path of one word is a file where we are") {
  const tests::Scratch scratch;
  const fs::path before = fs::current_path();
  fs::current_path(scratch.path());
  const std::string why = tests::complaint([] {
    write_file("file", "here");
    write_folder("folder", [](const fs::path& aside) { write_file(aside / "file", "here"); });
  });
  fs::current_path(before);
  CHECK(why == "");
  CHECK(names(scratch.path()) == Names{"file", "folder"});
}

TEST_CASE("missing files, folders and unwritable places are refused by name") {
  const tests::Scratch scratch;
  const std::string missing = (scratch / "none.npy").string();
  CHECK_THROWS_AS(read_file(missing), InputError);
  CHECK(tests::complaint([&] { read_file(missing); }) ==
        missing + ": wanted a file that can be read, got No such file or directory");
  CHECK(tests::complaint([&] { read_file(scratch.path()); }) ==
        scratch.path().string() + ": wanted a file, got a folder");
  CHECK(tests::complaint([&] { write_file(scratch.path(), "x"); }) ==
        scratch.path().string() + ": wanted a file, got a folder");
  write_file(scratch / "file", "x");
  CHECK_THROWS_AS(write_file(scratch / "file/below", "y"), InputError);
  CHECK(tests::complaint([&] { write_file(scratch / "file/below", "y"); }) ==
        (scratch / "file/below").string() + ": wanted a place that can be written, got Not a directory");
  CHECK(read_file(scratch / "file") == "x");
  CHECK(tests::complaint([&] {
          write_file(scratch / std::string(300, 'n'), "y");
        }).find("got File name too long") != std::string::npos);
  CHECK(names(scratch.path()) == Names{"file"});
}

// A rename would take the device away from everybody, and root may.
TEST_CASE("a pipe or a device stays what it is") {
  const tests::Scratch scratch;
  REQUIRE(mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  CHECK(tests::complaint([&] { write_file(scratch / "pipe", "x"); }) ==
        (scratch / "pipe").string() + ": wanted a file, got a device");
  CHECK(fs::is_fifo(scratch / "pipe"));
}

TEST_CASE("a full disk leaves the old file as it was") {
  const tests::Scratch scratch;
  write_file(scratch / "file", "old");
  const std::string why = [&] {
    const FullDisk full(100000);
    return tests::complaint([&] { write_file(scratch / "file", std::string(1 << 20, 'x')); });
  }();
  CHECK(why == (scratch / "file").string() + ": wanted a place that can be written, got File too large");
  CHECK(read_file(scratch / "file") == "old");
  CHECK(names(scratch.path()) == Names{"file"});
}

TEST_CASE("a kill leaves the old file or the new one, whole") {
  const tests::Scratch scratch;
  const std::string a(3000000, 'a'), b(3000000, 'b');
  write_file(scratch / "file", a);
  for (int milliseconds = 1; milliseconds < 40; milliseconds += 3) {
    kill_amid(
        [&] {
          write_file(scratch / "file", b);
          write_file(scratch / "file", a);
        },
        milliseconds);
    const std::string found = read_file(scratch / "file");
    CHECK((found == a || found == b));
  }
  write_file(scratch / "file", "what a kill left beside it does no harm");
  CHECK(read_file(scratch / "file").size() == 39);
}

TEST_CASE("many may write to one path: each file is whole, and the last one stays") {
  const tests::Scratch scratch;
  const std::string a(200000, 'a'), b(300000, 'b');
  write_file(scratch / "file", a);
  std::atomic<int> at_work = 2, failed = 0;
  const auto writer = [&](const std::string& bytes) {
    for (int i = 0; i < 20; ++i) failed += tests::complaint([&] { write_file(scratch / "file", bytes); }) != "";
    --at_work;
  };
  std::thread one(writer, a), other(writer, b);
  int torn = 0;
  while (at_work > 0) {
    const std::string found = read_file(scratch / "file");
    torn += found != a && found != b;
  }
  one.join(), other.join();
  CHECK(torn == 0);
  CHECK(failed == 0);
  CHECK(names(scratch.path()) == Names{"file"});
}

TEST_CASE("a folder appears at once, with all that is in it") {
  const tests::Scratch scratch;
  write_folder(scratch / "runs/one", [&](const fs::path& aside) {
    CHECK(fs::is_empty(aside));
    write_file(aside / "weights", "w");
    write_file(aside / "deep/er", "d");
    CHECK(names(scratch / "runs") == Names{"one.part"});
  });
  CHECK(names(scratch / "runs") == Names{"one"});
  CHECK(names(scratch / "runs/one") == Names{"weights", "deep"});
  CHECK(read_file(scratch / "runs/one/deep/er") == "d");
  // The path of a folder may end with a slash.
  write_folder(scratch / "runs/two/", [](const fs::path& aside) { write_file(aside / "weights", "w"); });
  CHECK(names(scratch / "runs") == Names{"one", "two"});
}

TEST_CASE("what a kill left of a folder is cleared away") {
  const tests::Scratch scratch;
  write_file(scratch / "run.part/old", "half a fi");
  write_folder(scratch / "run", [](const fs::path& aside) { write_file(aside / "new", "n"); });
  CHECK(names(scratch.path()) == Names{"run"});
  CHECK(names(scratch / "run") == Names{"new"});
}

TEST_CASE("a folder that is there already is refused and stays") {
  const tests::Scratch scratch;
  write_file(scratch / "run/file", "old");
  bool called = false;
  CHECK(tests::complaint([&] { write_folder(scratch / "run", [&](const fs::path&) { called = true; }); }) ==
        (scratch / "run").string() + ": wanted a place where nothing is yet, got something that is there");
  CHECK_FALSE(called);
  CHECK(read_file(scratch / "run/file") == "old");
  CHECK(names(scratch.path()) == Names{"run"});
}

TEST_CASE("a folder that cannot be finished leaves nothing, and says why") {
  const tests::Scratch scratch;
  CHECK(tests::complaint([&] {
          write_folder(scratch / "run", [](const fs::path& aside) {
            write_file(aside / "file", "x");
            throw std::runtime_error("no more ideas");
          });
        }) == "no more ideas");
  CHECK(names(scratch.path()).empty());
  const std::string why = [&] {
    const FullDisk full(1000);
    return tests::complaint([&] {
      write_folder(scratch / "run",
                   [](const fs::path& aside) { write_file(aside / "f", std::string(2000, 'x')); });
    });
  }();
  CHECK(why.find("File too large") != std::string::npos);
  CHECK(names(scratch.path()).empty());
  write_file(scratch / "file", "x");
  CHECK_THROWS_AS(write_folder(scratch / "file/run", [](const fs::path&) {}), InputError);
  CHECK(names(scratch.path()) == Names{"file"});
}

TEST_CASE("a kill amid the writing leaves the whole of a folder or nothing") {
  const tests::Scratch scratch;
  const std::string bytes(300000, 'x');
  const auto fill = [&](const fs::path& aside) {
    for (const char* name : {"a", "b", "c"}) write_file(aside / name, bytes);
  };
  for (int milliseconds = 1; milliseconds < 60; milliseconds += 4) {
    kill_amid(
        [&] {
          if (fs::exists(scratch / "run")) remove_folder(scratch / "run");
          write_folder(scratch / "run", fill);
        },
        milliseconds);
    if (!fs::exists(scratch / "run")) continue;
    CHECK(names(scratch / "run") == Names{"a", "b", "c"});
    for (const char* name : {"a", "b", "c"}) CHECK(read_file(scratch / "run" / name) == bytes);
  }
}

TEST_CASE("a kill amid the removing leaves the whole of a folder or nothing") {
  const tests::Scratch scratch;
  constexpr int files = 2000;  // so many that a kill hits their removal
  for (int milliseconds = 1; milliseconds < 16; milliseconds += 3) {
    fs::create_directories(scratch / "run");
    for (int i = 0; i < files; ++i) std::ofstream(scratch / ("run/" + std::to_string(i))) << "x";
    kill_amid(
        [&] {
          if (fs::exists(scratch / "run")) remove_folder(scratch / "run");
        },
        milliseconds);
    if (fs::exists(scratch / "run")) CHECK(names(scratch / "run").size() == files);
  }
}

TEST_CASE("a folder is removed, with what a kill left of it before") {
  const tests::Scratch scratch;
  write_file(scratch / "run/deep/file", "x");
  write_file(scratch / "run.part/file", "x");
  write_file(scratch / "other/file", "x");
  remove_folder(scratch / "run/");
  CHECK(names(scratch.path()) == Names{"other"});
  CHECK(tests::complaint([&] { remove_folder(scratch / "run"); }) ==
        (scratch / "run").string() + ": wanted a folder that can be removed, got No such file or directory");
  CHECK(tests::complaint([&] { remove_folder(scratch / "other/file"); }) ==
        (scratch / "other/file").string() + ": wanted a folder that can be removed, got Not a directory");
  CHECK(names(scratch / "other") == Names{"file"});
}
