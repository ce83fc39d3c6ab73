#include "attn/core/blas.hpp"

#include <filesystem>
#include <string_view>

#include "attn/core/matrix.hpp"
#include "catch.hpp"

using namespace attn;

TEST_CASE("the BLAS library that was loaded is the one that was linked") {
  const BlasInfo info = blas_info();
  INFO("loaded: " << info.file << ", linked: " << ATTN_TEST_BLAS);
  std::error_code none;
  const auto folder = std::filesystem::path(ATTN_TEST_BLAS).parent_path();
  if (!std::filesystem::exists(ATTN_TEST_BLAS, none)) return;  // a framework or a bare name
  CHECK(std::filesystem::canonical(info.file).parent_path() ==
        std::filesystem::canonical(ATTN_TEST_BLAS).parent_path());
  if (folder.filename() == "openblas-openmp") CHECK(info.threading == "openmp");
}

// The names and their instructions are those of OpenBLAS 0.3.21, driver/others/dynamic.c and
// kernel/x86_64/KERNEL.*.
TEST_CASE("OpenBLAS is told to use the processor where it does not by itself") {
  BlasInfo info{"OpenBLAS 0.3.21", "", "openmp", "Prescott", 2};
  CHECK(kernel_advice(info, Vectors::avx512, false, "") ==
        "OpenBLAS 0.3.21 uses its Prescott kernels (SSE), but this processor has AVX-512: products are slower "
        "than they "
        "could be. Set OPENBLAS_CORETYPE=SkylakeX, or install a newer OpenBLAS.");
  CHECK(kernel_advice(info, Vectors::avx2, true, "Prescott") ==
        "OpenBLAS 0.3.21 uses its Prescott kernels (SSE), but this processor has AVX2: products are slower than "
        "they "
        "could be. OPENBLAS_CORETYPE=Prescott asks for them; OPENBLAS_CORETYPE=Zen would use the processor.");
  CHECK(kernel_advice(info, Vectors::sse, false, "").empty());
  CHECK(kernel_advice(info, Vectors::unknown, false, "").empty());
  for (const char* kernel : {"Haswell", "Zen"}) {
    info.kernel = kernel;
    CHECK(kernel_advice(info, Vectors::avx2, false, "").empty());
    CHECK_FALSE(kernel_advice(info, Vectors::avx512, false, "").empty());
  }
  for (const char* kernel : {"SkylakeX", "Cooperlake", "SapphireRapids", "SomethingNew", ""}) {
    info.kernel = kernel;
    CHECK(kernel_advice(info, Vectors::avx512, false, "").empty());
  }
}

TEST_CASE("the kernels that are chosen use the vectors that they are chosen for") {
  for (const bool amd : {false, true}) {
    for (const Vectors vectors : {Vectors::sse, Vectors::avx, Vectors::avx2, Vectors::avx512}) {
      CHECK(kernel_vectors(kernel_for(vectors, amd)) == vectors);
    }
    CHECK(kernel_for(Vectors::unknown, amd).empty());
  }
  CHECK(kernel_for(Vectors::avx2, true) == "Zen");
  CHECK(kernel_for(Vectors::avx2, false) == "Haswell");
}

TEST_CASE("the products of this machine are right") { CHECK(wrong_product() == ""); }
