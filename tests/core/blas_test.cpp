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
