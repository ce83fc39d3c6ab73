#include "attn/core/files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "attn/core/errors.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

// ---- The system's calls, with exceptions -----------------------------------------------------------------

[[noreturn]] void fail() { throw std::system_error(errno, std::generic_category()); }

/// Calls again what a signal interrupted.
template <typename Call>
auto insist(Call call) {
  while (true) {
    const auto result = call();
    if (result >= 0) return result;
    if (errno != EINTR) fail();
  }
}

/// Turns what the system says into one clear error.
template <typename Act>
void or_refuse(const fs::path& path, std::string_view wanted, Act act) {
  try {
    act();
  } catch (const std::system_error& error) {
    refuse_input(path.string(), wanted, error.code().message());
  }
}

/// Brings an open file, or the names in an open folder, to the disk.
void sync(int file) {
#ifdef F_FULLFSYNC  // On macOS, fsync stops at the memory of the drive.
  if (fcntl(file, F_FULLFSYNC) == 0) return;
#endif
  insist([&] { return fsync(file); });
}

/// Opens, syncs and closes.
void sync(const fs::path& path) {
  const bool folder = fs::is_directory(path);
  const int file = insist([&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  std::error_code failure;
  try {
    sync(file);
  } catch (const std::system_error& error) {
    failure = error.code();
  }
  close(file);
  const bool never_can = folder && failure == std::errc::invalid_argument;  // so say some file systems
  if (failure && !never_can) throw std::system_error(failure);
}

// ---- What stands beside a path ---------------------------------------------------------------------------

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

/// Where a folder is while it is not whole. "name/" is the folder "name".
fs::path part_of(const fs::path& path) {
  return (path.has_filename() ? path : path.parent_path()).string() + ".part";
}

/// Makes a folder and all above it; each is synced into the one that holds it.
void make_all(const fs::path& folder) {
  if (folder.empty() || fs::is_directory(folder)) return;
  if (fs::exists(folder)) throw std::system_error(ENOTDIR, std::generic_category());
  make_all(folder.parent_path());
  fs::create_directory(folder);
  sync(folder_of(folder));
}

/// A new file that is to become another. It goes away again unless it was put in place.
class Aside {
 public:
  /// O_EXCL gives each of several writers a file of its own.
  explicit Aside(const fs::path& path) : path_(path) {
    for (int n = 0; file_ < 0; ++n) {
      name_ = path.string() + (n == 0 ? "" : "." + std::to_string(n)) + ".part";
      file_ = open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (file_ < 0 && errno != EEXIST && errno != EINTR) fail();
    }
  }
  ~Aside() {
    if (file_ >= 0) close(file_);
    if (!placed_) unlink(name_.c_str());
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  void write(std::string_view bytes) const {
    constexpr std::size_t most = std::size_t{1} << 30;  // Linux takes no more than 2 GiB in one call, macOS less
    while (!bytes.empty()) {
      const auto count = insist([&] { return ::write(file_, bytes.data(), std::min(bytes.size(), most)); });
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  void put_in_place() {
    sync(file_);
    // Some disks tell only now that they are full. After an interrupted close the file is closed all the same.
    if (close(std::exchange(file_, -1)) < 0 && errno != EINTR) fail();
    fs::rename(name_, path_);
    placed_ = true;
    sync(folder_of(path_));
  }

 private:
  fs::path path_;
  std::string name_;
  int file_ = -1;
  bool placed_ = false;
};

/// Brings a folder to the disk, with all that is in it.
void sync_all(const fs::path& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::file_status status = entry.symlink_status();
    if (fs::is_regular_file(status) || fs::is_directory(status)) sync(entry.path());
  }
  sync(folder);
}

/// Another current folder, until this ends.
class Visit {
 public:
  explicit Visit(int folder) {
#ifdef O_PATH  // A folder that one may pass through, but not list, can be opened so only.
    before_ = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
#else
    before_ = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
#endif
    if (fchdir(folder) == 0) return;
    const int error = errno;
    close(before_);
    throw std::system_error(error, std::generic_category());
  }
  /// Where the former current folder cannot be opened, no relative name led anywhere from it.
  ~Visit() {
    [[maybe_unused]] const int ignored = fchdir(before_);
    close(before_);
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  int before_ = -1;
};

constexpr std::string_view writable = "a place that can be written",
                           writable_folder = "a folder that can be written";
constexpr std::size_t most_of_a_stream = std::size_t{256}
                                         << 20;  // bytes of a pipe or a device, which may never end

}  // namespace

std::string read_file(const fs::path& path) {
  std::error_code none;
  if (fs::is_directory(path, none)) refuse_input(path.string(), "a file", "a folder");
  const auto refuse_it = [&] { refuse_input(path.string(), "a file that can be read", std::strerror(errno)); };
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse_it();
  std::string bytes;
  if (const std::uintmax_t size = fs::file_size(path, none); !none) bytes.reserve(size);
  std::array<char, 65536> buffer{};
  while (in.read(buffer.data(), buffer.size()) || in.gcount() > 0) {
    bytes.append(buffer.data(), static_cast<std::size_t>(in.gcount()));
    if (bytes.size() > most_of_a_stream && !fs::is_regular_file(path, none)) {
      refuse_input(path.string(), "a file, or a stream of at most 256 MiB", "a stream with more");
    }
  }
  if (in.bad()) refuse_it();
  return bytes;
}

void write_file(const fs::path& path, std::string_view bytes) {
  std::error_code none;
  const fs::file_status old = fs::status(path, none);
  // A rename would put a file in the place of /dev/null.
  if (fs::exists(old) && !fs::is_regular_file(old)) {
    refuse_input(path.string(), "a file", fs::is_directory(old) ? "a folder" : "a device");
  }
  or_refuse(path, writable, [&] {
    make_all(path.parent_path());
    Aside aside(path);
    aside.write(bytes);
    aside.put_in_place();
  });
}

void make_folders(const fs::path& folder) {
  or_refuse(folder, writable_folder, [&] { make_all(folder); });
}

void write_folder(const fs::path& path, const std::function<void(const fs::path& aside)>& write) {
  const fs::path aside = part_of(path);
  or_refuse(path, writable, [&] {
    if (fs::exists(path)) refuse_input(path.string(), "a place where nothing is yet", "something that is there");
    fs::remove_all(aside);
  });
  try {
    or_refuse(path, writable, [&] { make_all(aside); });
    write(aside);
    or_refuse(path, writable, [&] {
      sync_all(aside);
      fs::rename(aside, path);
      sync(folder_of(aside));
    });
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(aside, ignored);
    throw;
  }
}

void remove_folder(const fs::path& path) {
  or_refuse(path, "a folder that can be removed", [&] {
    if (!fs::is_directory(path))
      throw std::system_error(fs::exists(path) ? ENOTDIR : ENOENT, std::generic_category());
    const fs::path aside = part_of(path);
    fs::remove_all(aside);
    fs::rename(path, aside);
    try {
      sync(folder_of(aside));
    } catch (const std::system_error&) {  // A power cut could bring the old name back: nothing may be gone then.
      fs::rename(aside, path);
      throw;
    }
    fs::remove_all(aside);
  });
}

OpenFile::~OpenFile() {
  if (number >= 0) close(number);
}

OwnFolder::OwnFolder(const fs::path& path) : path_(path) {
  make_folders(path);
  or_refuse(path, writable_folder, [&] {
    folder_.number = insist([&] { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  });
  or_refuse(path / ".lock", "a file that can be written", [&] {
    const int flags = O_CREAT | O_RDWR | O_CLOEXEC;
    lock_.number = insist([&] { return openat(folder_.number, ".lock", flags, 0644); });
    try {
      insist([&] { return flock(lock_.number, LOCK_EX | LOCK_NB); });
    } catch (const std::system_error& error) {
      if (error.code() != std::errc::operation_would_block) throw;
      refuse_input(path.string(), "a folder that no other program writes to", "one that another has locked");
    }
  });
}

fs::path OwnFolder::path() const {
  struct stat ours {
  }, there{};
  fs::path now = path_;
  or_refuse(path_, "a folder that can be read", [&] {
    insist([&] { return fstat(folder_.number, &ours); });
    const bool found = stat(path_.c_str(), &there) == 0;
    if (found && ours.st_dev == there.st_dev && ours.st_ino == there.st_ino) return;
    const Visit visit(folder_.number);
    std::error_code removed;
    now = fs::current_path(removed);
    if (removed) refuse_input(path_.string(), "the folder that this program has locked", "none: it was removed");
  });
  return now;
}

void OwnFolder::inside(const std::function<void()>& act) const {
  const fs::path name = path();
  std::optional<Visit> visit;
  or_refuse(name, "a folder that can be entered", [&] { visit.emplace(folder_.number); });
  try {
    act();
  } catch (const InputError& error) {
    throw InputError((name / "").string() + error.what());
  }
}

}  // namespace attn
