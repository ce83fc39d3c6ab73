#include "attn/core/files.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "attn/core/errors.hpp"

namespace attn {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::error_code none;
  if (fs::is_directory(path, none)) refuse_input(path.string(), "a file", "a folder");
  const auto refuse_it = [&] { refuse_input(path.string(), "a file that can be read", std::strerror(errno)); };
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse_it();
  std::string bytes;
  std::array<char, 65536> buffer{};
  while (in.read(buffer.data(), buffer.size()) || in.gcount() > 0) {
    bytes.append(buffer.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) refuse_it();
  return bytes;
}

void write_file(const fs::path& path, std::string_view bytes) {
  const fs::path aside = path.string() + ".part";
  try {
    if (path.has_parent_path()) fs::create_directories(path.parent_path());
    errno = 0;
    std::ofstream out(aside, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) {
      const std::string reason = std::strerror(errno);
      std::error_code ignored;
      fs::remove(aside, ignored);
      refuse_input(path.string(), "a place that can be written", reason);
    }
    fs::rename(aside, path);
  } catch (const fs::filesystem_error& error) {
    std::error_code ignored;
    fs::remove(aside, ignored);
    refuse_input(path.string(), "a place that can be written", error.code().message());
  }
}

}  // namespace attn
