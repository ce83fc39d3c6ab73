#include <dlfcn.h>
#include <omp.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>

#include "attn/core/blas.hpp"
#include "attn/core/table.hpp"
#include "cli/commands.hpp"
#include "setup.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

/// Where a program is, as a shell would find it; empty when it is nowhere.
std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path file = fs::path(folder) / name;
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) return file.string();
  }
  return "";
}

/// What to install for a thing, from the table of packages, as "Debian: x; Fedora: y; Homebrew: z".
std::string package_for(const std::string& what) {
  std::istringstream lines{std::string(setup::packages)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name, debian, fedora, homebrew;
    if (!(fields >> name >> debian >> fedora >> homebrew) || name != what) continue;
    std::string text = "Debian, Ubuntu: " + debian;
    if (fedora != "-") text += "; Fedora: " + fedora;
    if (homebrew != "-") text += "; Homebrew: " + homebrew;
    return text;
  }
  return "";
}

std::string found_or(const std::string& found, const std::string& what) {
  return found.empty() ? "not found; install " + package_for(what) : found;
}

std::string folder_or(std::string_view folder, const std::string& what) {
  return found_or(fs::is_directory(folder) ? std::string(folder) : "", what);
}

std::string blas_line(const BlasInfo& blas) {
  std::string line = blas.library;
  if (!blas.kernel.empty()) line += ", " + blas.kernel + " kernels";
  line += ", threads by " + blas.threading;
  if (blas.threads > 0) line += " (" + std::to_string(blas.threads) + ")";
  return line + ", " + blas.file;
}

std::string processor_line() {
  const Vectors vectors = processor_vectors();
  std::string line = vectors == Vectors::unknown ? "" : name(vectors) + ", ";
  const int visible = omp_get_num_procs(), threads = omp_get_max_threads();
  line += std::to_string(visible) + (visible == 1 ? " processor, " : " processors, ") + std::to_string(threads) +
          (threads == 1 ? " thread" : " threads");
  const double quota = cpu_quota();
  return std::isfinite(quota) ? line + ", time for " + fixed(quota, 2) + " processors by control group" : line;
}

/// Asks the driver, if there is one, through its own library; nothing here is linked with CUDA.
std::string cuda_device() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return "none (no NVIDIA driver on this machine); everything runs on the CPU";
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  const auto device_name = reinterpret_cast<int (*)(char*, int, int)>(dlsym(driver, "cuDeviceGetName"));
  int devices = 0;
  if (init == nullptr || count == nullptr || device_name == nullptr || init(0) != 0 || count(&devices) != 0 ||
      devices == 0) {
    return "none (there is a driver, but it offers no device); everything runs on the CPU";
  }
  std::array<char, 256> name{};
  device_name(name.data(), static_cast<int>(name.size()) - 1, 0);
  return std::to_string(devices) + " x " + name.data();
}

}  // namespace

int doctor_command() {
  const BlasInfo blas = blas_info();
  const auto line = [](const std::string& what, const std::string& says) {
    std::cout << "  " << what << std::string(18 - what.size(), ' ') << says << '\n';
  };
  std::cout << "attn " << setup::version << '\n';
  line("compiler", std::string(setup::compiler) + ", " + ATTN_BUILD_TYPE);
  line("xtensor", std::string(setup::xtensor));
  line("processor", processor_line());
  line("BLAS", blas_line(blas));
  const std::string wrong = wrong_product(), advice = kernel_advice();
  line("products", wrong.empty() ? "right" : "WRONG: " + wrong);
  line("CUDA toolkit", setup::cuda_toolkit.empty() ? "not found; needed only for the GPU chapters"
                                                   : std::string(setup::cuda_toolkit));
  line("CUDA device", cuda_device());
  line("Doxygen", found_or(find_program("doxygen"), "doxygen"));
  line("KaTeX", folder_or(setup::katex, "katex"));
  line("Doxygen Awesome", folder_or(setup::doxygen_awesome, "doxygen-awesome"));
  line("Duktape", found_or(find_program("duk"), "duktape"));
  if (blas.threading == "pthread") {
    std::cout << "\nThis BLAS runs threads of its own, which will fight with OpenMP's. Better: "
              << package_for("blas") << ".\n";
  }
  if (!advice.empty()) std::cout << '\n' << advice << '\n';
  if (wrong.empty()) return 0;
  std::cout
      << "\nThese kernels compute wrong products. Set OPENBLAS_CORETYPE to another processor family, or install "
         "another version of the library.\n";
  return 1;
}

}  // namespace attn
