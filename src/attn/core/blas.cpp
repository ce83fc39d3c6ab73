#include "attn/core/blas.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <vector>

#include "attn/core/errors.hpp"

// The interface of CBLAS, whose numbers are the same in every library; the headers of two of them clash.
extern "C" {
void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float* a,
                 int lda, const float* b, int ldb, float beta, float* c, int ldc);
void cblas_dgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, double alpha, const double* a,
                 int lda, const double* b, int ldb, double beta, double* c, int ldc);
}

namespace attn {
namespace {

/// OpenBLAS has functions that tell about it and other libraries have not, so they are looked up at run time.
template <typename Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

constexpr const char* kernel_variable = "OPENBLAS_CORETYPE";

/// OpenMP, if the BLAS library brings it along: this room is not compiled with it.
struct OpenMP {
  int (*max_threads)() = find<int()>("omp_get_max_threads");
  int (*thread_limit)() = find<int()>("omp_get_thread_limit");
  int (*max_active_levels)() = find<int()>("omp_get_max_active_levels");
  void (*set_threads)(int) = find<void(int)>("omp_set_num_threads");
  void (*set_dynamic)(int) = find<void(int)>("omp_set_dynamic");

  bool is_there() const {
    return max_threads != nullptr && thread_limit != nullptr && max_active_levels != nullptr &&
           set_threads != nullptr && set_dynamic != nullptr;
  }
};

/// While this lives, OpenBLAS computes on one thread.
class OneThread {
 public:
  OneThread() {
    if (openmp_.is_there()) before_ = openmp_.max_threads(), openmp_.set_threads(1);
  }
  ~OneThread() {
    if (openmp_.is_there()) openmp_.set_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  OpenMP openmp_;
  int before_ = 1;
};

constexpr const char* trial_variable = "ATTN_KERNEL_TRIAL";

#ifdef __linux__
/// Tries kernels in a new process of the same program, and returns whether their products are right. It is a new
/// process because an old kernel may crash on a new processor.
bool computes_right_products(const std::string& program, const std::string& kernel) {
  std::vector<std::string> variables = {std::string(kernel_variable) + "=" + kernel,
                                        std::string(trial_variable) + "=" + std::to_string(getpid())};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::string(*entry).rfind(std::string(kernel_variable) + "=", 0) != 0) variables.emplace_back(*entry);
  }
  std::vector<char*> environment_of_child;
  for (std::string& variable : variables) environment_of_child.push_back(variable.data());
  environment_of_child.push_back(nullptr);
  std::string name = program;
  char* arguments[] = {name.data(), nullptr};
  posix_spawn_file_actions_t silent;
  if (posix_spawn_file_actions_init(&silent) != 0) return false;
  posix_spawn_file_actions_addopen(&silent, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&silent, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const bool started =
      posix_spawn(&child, program.c_str(), &silent, nullptr, arguments, environment_of_child.data()) == 0;
  posix_spawn_file_actions_destroy(&silent);
  int status = 0;
  while (started && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return started && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
#endif

// ---- Products, compared with plain loops ------------------------------------------------------------------

void gemm(bool transpose_a, bool transpose_b, int m, int n, int k, const float* a, int lda, const float* b,
          int ldb, float* c) {
  cblas_sgemm(101, transpose_a ? 112 : 111, transpose_b ? 112 : 111, m, n, k, 1.0f, a, lda, b, ldb, 1.0f, c, n);
}

void gemm(bool transpose_a, bool transpose_b, int m, int n, int k, const double* a, int lda, const double* b,
          int ldb, double* c) {
  cblas_dgemm(101, transpose_a ? 112 : 111, transpose_b ? 112 : 111, m, n, k, 1.0, a, lda, b, ldb, 1.0, c, n);
}

/// Numbers from -1 to 1 without a pattern.
template <class T>
std::vector<T> scattered(std::size_t count, std::size_t seed) {
  std::vector<T> numbers(count);
  std::size_t state = seed;
  for (T& number : numbers) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    number = static_cast<T>(static_cast<double>(state >> 40) / 8388608.0 - 1.0);
  }
  return numbers;
}

/// The largest distance of C + op(A) op(B) from the same sum in plain loops.
template <class T>
double error_of_product(bool transpose_a, bool transpose_b, std::size_t m, std::size_t n, std::size_t k) {
  const std::vector<T> a = scattered<T>(m * k, 1), b = scattered<T>(k * n, 2);
  std::vector<T> c = scattered<T>(m * n, 3);
  std::vector<double> wanted(c.begin(), c.end());
  const std::size_t a_row = transpose_a ? 1 : k, a_column = transpose_a ? m : 1;
  const std::size_t b_row = transpose_b ? 1 : n, b_column = transpose_b ? k : 1;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t l = 0; l < k; ++l) {
      const double factor = a[i * a_row + l * a_column];
      for (std::size_t j = 0; j < n; ++j) wanted[i * n + j] += factor * b[l * b_row + j * b_column];
    }
  }
  const auto whole = [](std::size_t x) { return static_cast<int>(x); };
  gemm(transpose_a, transpose_b, whole(m), whole(n), whole(k), a.data(), whole(transpose_a ? m : k), b.data(),
       whole(transpose_b ? k : n), c.data());
  double worst = 0.0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    const double error = std::abs(static_cast<double>(c[i]) - wanted[i]);
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  return worst;
}

template <class T>
std::string wrong_product_of(const char* function, double allowed) {
  // Whole blocks of the kernels and their ends: few and many rows, one panel of k and several.
  constexpr std::array<std::array<std::size_t, 3>, 4> shapes = {
      {{33, 49, 67}, {5, 3, 130}, {96, 64, 32}, {18, 35, 700}}};
  for (const auto& [m, n, k] : shapes) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        const double error = error_of_product<T>(transpose_a, transpose_b, m, n, k);
        if (error <= allowed * std::sqrt(static_cast<double>(k))) continue;
        std::ostringstream text;
        text.imbue(std::locale::classic());
        text << function << " of " << m << " x " << k << (transpose_a ? " (transposed)" : "") << " times " << k
             << " x " << n << (transpose_b ? " (transposed)" : "") << " is off by " << error;
        return text.str();
      }
    }
  }
  return "";
}

}  // namespace

BlasInfo blas_info() {
  BlasInfo info{"unknown", "unknown", "unknown", "", 0};
  Dl_info where{};
  if (dladdr(reinterpret_cast<void*>(&cblas_dgemm), &where) != 0) info.file = where.dli_fname;
  if (auto* config = find<char*()>("openblas_get_config")) {
    std::istringstream words(config());
    std::string name;
    std::string version;
    words >> name >> version;
    info.library = name + " " + version;
  }
  if (auto* parallel = find<int()>("openblas_get_parallel")) {
    const int kind = parallel();
    info.threading = kind == 0 ? "none" : kind == 1 ? "pthread" : kind == 2 ? "openmp" : "unknown";
  }
  if (auto* kernel = find<char*()>("openblas_get_corename")) info.kernel = kernel();
  if (auto* threads = find<int()>("openblas_get_num_threads")) info.threads = threads();
  return info;
}

void leave_threads_to_callers() {
  if (blas_info().threading != "pthread") return;
  if (auto* set_threads = find<void(int)>("openblas_set_num_threads")) set_threads(1);
}

Vectors kernel_vectors(const std::string& kernel) {
  struct Family {
    Vectors vectors;
    std::vector<const char*> kernels;
  };
  static const std::vector<Family> families = {
      {Vectors::sse,
       {"Prescott", "Core2", "Penryn", "Dunnington", "Nehalem", "Atom", "Nano", "Opteron", "Opteron_SSE3",
        "Barcelona", "Bobcat"}},
      {Vectors::avx, {"Sandybridge", "Bulldozer", "Piledriver", "Steamroller", "Excavator"}},
      {Vectors::avx2, {"Haswell", "Zen"}},
      {Vectors::avx512, {"SkylakeX", "Cooperlake", "SapphireRapids"}}};
  for (const Family& family : families) {
    for (const char* known : family.kernels) {
      if (kernel == known) return family.vectors;
    }
  }
  return Vectors::unknown;
}

std::string kernel_for(Vectors vectors, bool amd) {
  switch (vectors) {
    case Vectors::unknown:
      return "";
    case Vectors::sse:
      return "Nehalem";
    case Vectors::avx:
      return "Sandybridge";
    case Vectors::avx2:
      return amd ? "Zen" : "Haswell";
    case Vectors::avx512:
      return "SkylakeX";
  }
  return "";
}

std::string kernel_advice(const BlasInfo& info, Vectors processor, bool amd, const std::string& chosen) {
  const Vectors used = kernel_vectors(info.kernel);
  if (used == Vectors::unknown || processor == Vectors::unknown || used >= processor) return "";
  const std::string best = kernel_for(processor, amd);
  const std::string what = info.library + " uses its " + info.kernel + " kernels (" + name(used) +
                           "), but this processor has " + name(processor) +
                           ": products are slower than they could be. ";
  if (chosen.empty()) return what + "Set OPENBLAS_CORETYPE=" + best + ", or install a newer OpenBLAS.";
  return what + "OPENBLAS_CORETYPE=" + chosen + " asks for them; OPENBLAS_CORETYPE=" + best +
         " would use the processor.";
}

std::string kernel_advice() {
  return kernel_advice(blas_info(), processor_vectors(), is_amd(), environment(kernel_variable));
}

std::string wrong_product() {
  const OneThread here;
  const std::string wrong = wrong_product_of<float>("sgemm", 1e-5);
  return wrong.empty() ? wrong_product_of<double>("dgemm", 1e-13) : wrong;
}

void use_available_threads() {
  const OpenMP openmp;
  if (!openmp.is_there()) return;
  const bool one = openmp.max_active_levels() < 1;
  auto threads = static_cast<std::size_t>(one ? 1 : std::min(openmp.max_threads(), openmp.thread_limit()));
  if (environment("OMP_NUM_THREADS").empty()) threads = threads_within(threads, cpu_quota());
  openmp.set_dynamic(0);
  openmp.set_threads(static_cast<int>(std::max<std::size_t>(1, threads)));
}

void use_best_kernels(char** argv) {
  const Vectors processor = processor_vectors(), used = kernel_vectors(blas_info().kernel);
  if (processor != Vectors::unknown && used > processor) {
    refuse_input(std::string(kernel_variable) + "=" + environment(kernel_variable),
                 "kernels for " + name(processor) + ", which this processor has", "kernels for " + name(used));
  }
#ifdef __linux__
  if (environment(trial_variable) == std::to_string(getppid())) {
    alarm(30);  // kernels that do not come to an end are not right either
    _exit(wrong_product().empty() ? 0 : 1);
  }
  if (!environment(kernel_variable).empty() || kernel_advice().empty()) return;
  std::error_code none;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", none).string();
  for (Vectors vectors = processor; !none && vectors > used; vectors = Vectors(static_cast<int>(vectors) - 1)) {
    const std::string kernel = kernel_for(vectors, is_amd());
    if (!computes_right_products(self, kernel) || setenv(kernel_variable, kernel.c_str(), 1) != 0) continue;
    execv(self.c_str(), argv);  // does not return, and the variable keeps the new process from doing the same
    unsetenv(kernel_variable);
  }
#else
  (void)argv;
#endif
}

}  // namespace attn
