// The programs choose the kernels of OpenBLAS where it does not know the processor, and refuse wrong ones.
#include "attn/core/blas.hpp"
#include "catch.hpp"
#include "cli/program.hpp"
#include "scratch.hpp"

using attn::tests::has;
using attn::tests::Result;
using attn::tests::run;

namespace {

const std::string lies = "LD_PRELOAD='" ATTN_TEST_LIES "' ";
const std::string best = attn::kernel_for(attn::processor_vectors(), attn::is_amd());

bool applies() {
  return attn::processor_vectors() > attn::Vectors::sse && has(attn::blas_info().library, "OpenBLAS");
}

}  // namespace

TEST_CASE("a processor that OpenBLAS does not know gets its best kernels all the same") {
  if (!applies()) return;
  const Result doctor = run("attn doctor", "unset OPENBLAS_CORETYPE; " + lies);
  INFO(doctor.out << doctor.err);
  CHECK(doctor.status == 0);
  CHECK(has(doctor.out, best + " kernels"));
  CHECK_FALSE(has(doctor.out, "slower than they could be"));
  CHECK(run("chapter-01 --brief", "unset OPENBLAS_CORETYPE; " + lies).status == 0);
}

TEST_CASE("where the best kernels compute wrong products, the next best are taken") {
  if (!applies()) return;
  const Result doctor =
      run("attn doctor", "unset OPENBLAS_CORETYPE; ATTN_TEST_WRONG_PRODUCTS=" + best + " " + lies);
  INFO(doctor.out << doctor.err);
  CHECK(doctor.status == 0);
  CHECK_FALSE(has(doctor.out, best + " kernels,"));
  CHECK(has(doctor.out, "products          right"));
  // None are right: OpenBLAS's own choice stays, and is refused.
  const Result none = run("attn doctor", "unset OPENBLAS_CORETYPE; ATTN_TEST_WRONG_PRODUCTS=all " + lies);
  CHECK(none.status == 1);
  CHECK(has(none.out, "Prescott kernels"));
}

TEST_CASE("what the user has chosen stays, and is told of") {
  if (!applies()) return;
  const Result doctor = run("attn doctor", "OPENBLAS_CORETYPE=Prescott ");
  CHECK(doctor.status == 0);
  CHECK(has(doctor.out, "Prescott kernels"));
  CHECK(has(doctor.out, "OPENBLAS_CORETYPE=" + best + " would use the processor"));
  const attn::tests::Scratch scratch;
  const Result train =
      run("attn train --updates 1 --folder '" + (scratch / "x").string() + "'", "OPENBLAS_CORETYPE=Prescott ");
  CHECK(train.status == 0);
  CHECK(has(train.err, "OPENBLAS_CORETYPE=" + best + " would use the processor"));
}

TEST_CASE("kernels that the processor cannot run are refused") {
  if (!applies() || attn::processor_vectors() == attn::Vectors::avx512) return;
  for (const char* command : {"attn doctor", "chapter-01"}) {
    const Result refused = run(command, "OPENBLAS_CORETYPE=SkylakeX ");
    INFO(refused.err);
    CHECK(refused.status == 2);
    CHECK(has(refused.err, "OPENBLAS_CORETYPE=SkylakeX: wanted kernels for "));
  }
}

TEST_CASE("kernels that compute wrong products are found, and nothing is trained with them") {
  if (!applies()) return;
  const std::string wrong = "OPENBLAS_CORETYPE=" + best + " ATTN_TEST_WRONG_PRODUCTS=all " + lies;
  const Result doctor = run("attn doctor", wrong);
  CHECK(doctor.status == 1);
  CHECK(has(doctor.out, "WRONG: sgemm of"));
  for (const char* command : {"attn train --updates 1", "attn bench --tokens 32"}) {
    const Result refused = run(command, wrong);
    CHECK(refused.status == 2);
    CHECK(has(refused.err, "wanted right products"));
  }
}

// OpenBLAS waits for threads that OpenMP does not give it.
TEST_CASE("a program ends, and computes the same, however few threads OpenMP gives") {
  const std::string wanted = run("chapter-09").out;
  for (const char* limit :
       {"OMP_THREAD_LIMIT=1", "OMP_MAX_ACTIVE_LEVELS=0", "OMP_DYNAMIC=true", "OMP_NUM_THREADS=64",
        "OMP_THREAD_LIMIT=1 OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=8 OMP_THREAD_LIMIT=3"}) {
    INFO(limit);
    CHECK(run("attn doctor", std::string(limit) + " timeout 60 ").status == 0);
    CHECK(run("chapter-09", std::string(limit) + " timeout 60 ").out == wanted);
  }
}

TEST_CASE("without the memory that OpenBLAS needs, a program says so and does not hang") {
  if (!applies()) return;
  const attn::tests::Scratch scratch;
  for (const char* kilobytes : {"100000", "150000", "400000", "500000"}) {
    const Result version = run("attn --version", std::string("ulimit -v ") + kilobytes + "; timeout 60 ");
    const Result train = run("attn train --folder '" + (scratch / "x").string() + "'",
                             std::string("ulimit -v ") + kilobytes + "; timeout 60 ");
    INFO(kilobytes << ": " << version.err << train.err);
    CHECK((version.status == 0 || (version.status == 2 && has(version.err, "memory for OpenBLAS: wanted"))));
    CHECK(train.status == 2);
  }
  CHECK(has(run("attn --version", "ulimit -v 150000; timeout 60 ").err, "memory for OpenBLAS: wanted"));
  for (const char* threads :
       {"OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=2", "OMP_NUM_THREADS=' 8'", "OMP_NUM_THREADS=+8",
        "OMP_NUM_THREADS=8,2", "OPENBLAS_NUM_THREADS=8 OMP_NUM_THREADS=1"}) {
    INFO(threads);
    const Result doctor = run("attn doctor", std::string("ulimit -v 380000; ") + threads + " timeout 60 ");
    CHECK(doctor.status == 2);
    CHECK(has(doctor.err, "memory for OpenBLAS: wanted"));
  }
}
