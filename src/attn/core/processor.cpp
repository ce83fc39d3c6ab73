#include "attn/core/processor.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <locale>
#include <sstream>

namespace attn {
namespace {

namespace fs = std::filesystem;
constexpr double no_limit = std::numeric_limits<double>::infinity();

/// "150000 100000" is 1.5 processors; "max 100000" and "-1 100000" are no limit.
double quota_of(const std::string& text) {
  double quota = 0.0, period = 0.0;
  std::istringstream numbers(text);
  numbers.imbue(std::locale::classic());
  if (!(numbers >> quota >> period) || quota <= 0.0 || period <= 0.0) return no_limit;
  return quota / period;
}

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// The limit of one control group: one file in version 2, two in version 1.
double quota_in(const fs::path& group) {
  return std::min(quota_of(first_line(group / "cpu.max")), quota_of(first_line(group / "cpu.cfs_quota_us") + " " +
                                                                    first_line(group / "cpu.cfs_period_us")));
}

/// The limit of a control group and of all that contain it.
double quota_up_to(const fs::path& mount, const fs::path& group) {
  double quota = quota_in(mount);
  fs::path at = mount;
  for (const fs::path& part : group.relative_path()) {
    at /= part;
    quota = std::min(quota, quota_in(at));
  }
  return quota;
}

}  // namespace

Vectors processor_vectors() {
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd")) {
    return Vectors::avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Vectors::avx2;
  return __builtin_cpu_supports("avx") ? Vectors::avx : Vectors::sse;
#else
  return Vectors::unknown;
#endif
}

bool is_amd() {
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();
  return __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

std::string name(Vectors vectors) {
  switch (vectors) {
    case Vectors::unknown:
      return "unknown";
    case Vectors::sse:
      return "SSE";
    case Vectors::avx:
      return "AVX";
    case Vectors::avx2:
      return "AVX2";
    case Vectors::avx512:
      return "AVX-512";
  }
  return "unknown";
}

double cpu_quota(const fs::path& root) {
  double quota = no_limit;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/group", or "4:cpu,cpuacct:/group"
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path group = line.substr(second + 1);
    if (controllers == ",,") {
      quota = std::min(quota, quota_up_to(root / "sys/fs/cgroup", group));
    } else if (controllers.find(",cpu,") != std::string::npos) {
      quota = std::min({quota, quota_up_to(root / "sys/fs/cgroup/cpu", group),
                        quota_up_to(root / "sys/fs/cgroup/cpu,cpuacct", group)});
    }
  }
  return quota;
}

std::size_t threads_within(std::size_t processors, double quota) {
  if (!(quota < static_cast<double>(processors))) return std::max<std::size_t>(1, processors);
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(quota)));
}

}  // namespace attn
