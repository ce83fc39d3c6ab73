#include "attn/core/files.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdarg>
#include <fstream>
#include <set>
#include <thread>

#include "attn/core/errors.hpp"
#include "matrices.hpp"
#include "nobody.hpp"
#include "scratch.hpp"

using namespace attn;
namespace fs = std::filesystem;

namespace {

/// A disk that fails when it is told to, and remembers what it was asked for.
struct Disk {
  int failing_sync = 0;             ///< which fsync() fails, counted from now; 0: none
  int interrupted = 0;              ///< how many openat() of a file to be made a signal interrupts
  bool watched = false;             ///< whether it remembers
  std::vector<std::string> synced;  ///< what was synced
};
Disk disk;

}  // namespace

#if defined(__linux__)

// These take the place of the C library's in this program.
extern "C" int fsync(int file) {
  if (disk.watched) {
    disk.synced.push_back(fs::read_symlink("/proc/self/fd/" + std::to_string(file)).string());
  }
  if (disk.failing_sync > 0 && --disk.failing_sync == 0) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fsync, file));
}

extern "C" int openat(int folder, const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list more;
    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
    if (disk.interrupted > 0) {
      --disk.interrupted;
      errno = EINTR;
      return -1;
    }
  }
  return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}

#endif

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

TEST_CASE("folders are made with all above them; a file in the way is named") {
  const tests::Scratch scratch;
  make_folders(scratch / "a/b/c");
  make_folders(scratch / "a/b/");
  CHECK(fs::is_directory(scratch / "a/b/c"));
  write_file(scratch / "file", "x");
  for (const char* name : {"file", "file/below", "file/far/below"}) {
    CHECK(tests::complaint([&] { make_folders(scratch / name); }) ==
          (scratch / name).string() + ": wanted a folder that can be written, got Not a directory");
  }
}

TEST_CASE("in a forbidden place the reason is named") {
  const tests::Scratch scratch;
  fs::create_directories(scratch / "closed");
  fs::permissions(scratch / "closed", fs::perms(0555));
  fs::permissions(scratch.path(), fs::perms(0755));
  const tests::Nobody nobody;
  const std::string forbidden = "got Permission denied", folder = (scratch / "closed").string();
  CHECK(tests::complaint([&] { make_folders(folder + "/run"); }) ==
        folder + "/run: wanted a folder that can be written, " + forbidden);
  CHECK(tests::complaint([&] { OwnFolder own(folder + "/run"); }) ==
        folder + "/run: wanted a folder that can be written, " + forbidden);
  CHECK(tests::complaint([&] { OwnFolder own{folder}; }) ==
        folder + "/.lock: wanted a file that can be written, " + forbidden);
}

TEST_CASE("a folder is locked once, and is free again afterwards") {
  const tests::Scratch scratch;
  const fs::path folder = scratch / "runs/one";
  {
    const OwnFolder own(folder);
    CHECK(own.path() == folder);
    CHECK(tests::complaint([&] { OwnFolder other(folder); }) ==
          folder.string() + ": wanted a folder that no other program writes to, got one that another has locked");
    fs::rename(folder, scratch / "renamed");
    CHECK_THROWS_AS(OwnFolder(scratch / "renamed"), InputError);
    const OwnFolder new_one(folder);  // another folder by the former name
  }
  const OwnFolder again(folder), renamed(scratch / "renamed");
  fs::create_directories(scratch / "odd/.lock");
  CHECK(tests::complaint([&] { OwnFolder odd(scratch / "odd"); }) ==
        (scratch / "odd/.lock").string() + ": wanted a file that can be written, got Is a directory");
}

TEST_CASE("what is written inside a locked folder stays in it, whatever becomes of its name") {
  const tests::Scratch scratch;
  const fs::path before = fs::current_path(), folder = scratch / "run";
  const OwnFolder own(folder);
  own.inside([] { write_file("first", "1"); });
  CHECK(fs::current_path() == before);
  own.inside([&] {
    write_folder("second", [&](const fs::path& aside) {
      fs::rename(folder, scratch / "renamed");
      write_file(aside / "file", "2");
    });
  });
  CHECK(names(scratch.path()) == Names{"renamed"});
  CHECK(own.path() == fs::canonical(scratch / "renamed"));
  write_file(folder / "mine", "another folder has taken its name");
  own.inside([] { write_file("third", "3"); });
  CHECK(names(folder) == Names{"mine"});
  CHECK(names(scratch / "renamed") == Names{".lock", "first", "second", "third"});
  CHECK(names(scratch / "renamed/second") == Names{"file"});
  const std::string now = own.path().string();
  CHECK(tests::complaint([&] { own.inside([] { write_file("second", "x"); }); }) ==
        now + "/second: wanted a file, got a folder");
  CHECK(fs::current_path() == before);
  fs::remove_all(scratch / "renamed");
  const std::string removed =
      folder.string() + ": wanted the folder that this program has locked, got none: it was removed";
  CHECK(tests::complaint([&] { own.path(); }) == removed);
  CHECK(tests::complaint([&] { own.inside([] { write_file("fourth", "4"); }); }) == removed);
  CHECK(names(scratch.path()) == Names{"run"});
}

#if defined(__linux__)

TEST_CASE("a new folder is synced into the one that holds it") {
  const tests::Scratch scratch;
  const std::string root = fs::canonical(scratch.path()).string();
  disk.watched = true;
  make_folders(scratch / "a/b");
  const std::vector<std::string> made = std::exchange(disk.synced, {});
  const OwnFolder own(scratch / "run");
  disk.watched = false;
  CHECK(made == std::vector<std::string>{root, root + "/a"});
  CHECK(std::exchange(disk.synced, {}) == std::vector<std::string>{root});
}

TEST_CASE("a disk that fails at any sync leaves nothing half-written or half-removed beside a folder") {
  const tests::Scratch scratch;
  const auto fill = [](const fs::path& aside) {
    for (const char* name : {"a", "b"}) write_file(aside / name, "x");
  };
  const auto failing = [&](int sync, const auto& act) {
    disk.failing_sync = sync;
    const std::string why = tests::complaint(act);
    const bool failed = std::exchange(disk.failing_sync, 0) == 0;
    CHECK(failed == (why.find("got Input/output error") != std::string::npos));
    for (const std::string& name : names(scratch.path())) CHECK(name == "run");
    if (fs::exists(scratch / "run")) CHECK(names(scratch / "run") == Names{"a", "b"});
    return failed;
  };
  int failures = 0;
  while (failing(failures + 1, [&] { write_folder(scratch / "run", fill); })) {
    ++failures;
    if (fs::exists(scratch / "run")) remove_folder(scratch / "run");
  }
  CHECK(failures >= 6);  // the folder made, two files and their names, the folder filled, renamed
  REQUIRE(failing(1, [&] { remove_folder(scratch / "run"); }));
  CHECK(fs::exists(scratch / "run"));  // what may come back after a power cut is whole
  CHECK_FALSE(failing(2, [&] { remove_folder(scratch / "run"); }));
}

TEST_CASE("a signal amid the locking of a folder does no harm") {
  const tests::Scratch scratch;
  disk.interrupted = 2;
  CHECK(tests::complaint([&] { OwnFolder own(scratch / "run"); }) == "");
  CHECK(std::exchange(disk.interrupted, 0) == 0);
}

#endif
