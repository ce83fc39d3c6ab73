// The programs as a reader meets them: help, errors, exit codes, what goes where.
#include <algorithm>
#include <cmath>

#include "attn/core/files.hpp"
#include "attn/core/tensor.hpp"
#include "attn/formats/npy.hpp"
#include "catch.hpp"
#include "cli/program.hpp"
#include "scratch.hpp"

using attn::tests::check_refused;
using attn::tests::has;
using attn::tests::Result;
using attn::tests::run;
using attn::tests::Scratch;
namespace fs = std::filesystem;

namespace {

const std::string golden = ATTN_TEST_GOLDEN;

}  // namespace

TEST_CASE("every program explains itself") {
  for (const std::string program :
       {"attn", "attn bench", "attn check", "attn dialects", "attn doctor", "chapter-01", "chapter-02",
        "chapter-03", "chapter-04", "chapter-05", "chapter-06", "chapter-07", "chapter-08", "chapter-09",
        "chapter-10", "attn train", "attn info", "attn average"}) {
    const Result help = run(program + " --help");
    INFO(program);
    CHECK(help.status == 0);
    CHECK(help.err.empty());
    CHECK(help.out.size() > 100);
  }
  CHECK(has(run("chapter-01 --help").out, "--sentence"));
  CHECK(run("attn --version").out == ATTN_TEST_VERSION "\n");
}

TEST_CASE("unknown commands and options are refused") {
  check_refused("attn", "subcommand");
  check_refused("attn frobnicate", "frobnicate");
  check_refused("attn doctor --loud", "--loud");
  check_refused("attn check", "CASE and DIR");
  check_refused("chapter-03 --sentense x", "--sentense");
  check_refused("chapter-03 extra", "extra");
}

TEST_CASE("the dialects, and where two of them part") {
  const Result all = run("attn dialects");
  CHECK(all.status == 0);
  for (const char* name : {"paper", "tensor2tensor", "annotated", "marian", "fairseq", "huggingface"}) {
    CHECK(has(all.out, name));
  }
  const Result two = run("attn dialects paper marian");
  CHECK(two.status == 0);
  CHECK(has(two.out, "decoder starts with  BOS          zeros"));
  CHECK(has(two.out, "encoder.embedding  (7, 16)                   0"));
  CHECK_FALSE(has(two.out, "norm"));  // both norm after
  const Result norms = run("attn dialects paper annotated --source '我 爱 你' --target you");
  CHECK(has(norms.out, "encoder.positions  (3, 16)  0"));
  CHECK(has(norms.out, "only annotated"));
  CHECK(run("attn dialects fairseq fairseq").out == "fairseq is fairseq: nothing differs\n");
  CHECK(run("attn dialects paper marian --seed 2").out != two.out);
  check_refused("attn dialects paper", "two dialects, A and B");
  check_refused("attn dialects --source x", "two dialects, A and B");
  check_refused("attn dialects '' marian", "wanted one of paper");
  check_refused("attn dialects paper marian --seed -1", "--seed");
  check_refused("attn dialects paper nobody", "wanted one of paper, tensor2tensor");
  check_refused("attn dialects paper marian --source ' '", "--source: wanted at least one word, got only blanks");
  check_refused("attn dialects paper marian --target '\xff'", "--target");
  check_refused("attn dialects paper marian --seed x", "seed");
  check_refused("attn dialects paper marian fairseq", "fairseq");
}

TEST_CASE("what a chapter cannot use is refused") {
  check_refused("chapter-06 --sentence 'a | b | c'", "--sentence: wanted at most one bar");
  const Scratch scratch;
  attn::write_npy(scratch / "x.npy", attn::to_tensor(attn::Matrix{{1, 2}, {3, 4}}));
  check_refused("chapter-09 --input '" + (scratch / "x.npy").string() + "'", "--input: wanted --sentence");
}

TEST_CASE("a benchmark that cannot be run is refused before it begins") {
  check_refused("attn bench --tokens 63", "--tokens: wanted whole sentences of 32 tokens, got 63");
  check_refused("attn bench --tokens -5", "--tokens");
  check_refused("attn bench --tokens many", "--tokens");
  check_refused("attn bench --threads 0", "--threads");
  check_refused("attn bench --runs 0", "--runs");
}

TEST_CASE("--trace lists every tensor on the way, and nothing else") {
  const Result trace = run("chapter-03 --trace");
  CHECK(trace.status == 0);
  CHECK(trace.out.find("  tensor         shape\n  Q              (2, 2)\n") == 0);
  CHECK_FALSE(has(trace.out, "=="));
  check_refused("chapter-03 --trace --brief", "excludes");
}

TEST_CASE("doctor says what is here") {
  const Result doctor = run("attn doctor");
  CHECK(doctor.status == 0);
  for (const char* word : {"compiler", "xtensor", "BLAS", "threads", "CUDA device", "Doxygen", "KaTeX"}) {
    CHECK(has(doctor.out, word));
  }
}

TEST_CASE("check: right, wrong, known mistake, missing") {
  const Result right = run("attn check 03-scaling/square '" + golden + "/03-scaling/square'");
  CHECK(right.status == 0);
  CHECK(has(right.out, "Passed"));
  const Result wrong =
      run("attn check 03-scaling/square '" + golden + "/03-scaling/square/mistakes/softmax-over-queries'");
  CHECK(wrong.status == 1);
  CHECK(has(wrong.out, "known mistake: softmax-over-queries"));
  CHECK(wrong.err.empty());
  check_refused("attn check 03-scaling/round .", "case: wanted one of those that `attn check --list` shows");
  const Scratch scratch;
  check_refused("attn check 03-scaling/square '" + (scratch / "none").string() + "'", "none: wanted a folder");
  check_refused("attn check 03-scaling/square " + std::string(5000, 'x'), "wanted a folder");
  check_refused("attn check --list extra", "extra");
  const Result list = run("attn check --list");
  CHECK(list.status == 0);
  CHECK(has(list.out, "01-similarity/large"));
}

TEST_CASE("a chapter's own tensors pass its golden case") {
  const Scratch scratch;
  const std::string folder = (scratch / "my tensors").string();
  REQUIRE(run("chapter-01 --input '" + golden + "/01-similarity/distinct/X.npy' --save '" + folder + "'").status ==
          0);
  CHECK(run("attn check 01-similarity/distinct '" + folder + "'").status == 0);
  CHECK(fs::exists(fs::path(folder) / "weights.svg"));
}

TEST_CASE("sentences in any language; broken ones and empty ones are refused") {
  for (const std::string chapter : {"chapter-01", "chapter-02", "chapter-03"}) {
    INFO(chapter);
    const Result result = run(chapter + " --sentence '早上好 Grüße мир'");
    CHECK(result.status == 0);
    CHECK(has(result.out, "早"));
    CHECK(has(result.out, "мир"));
    check_refused(chapter + " --sentence ''", "--sentence: wanted at least one word");
    check_refused(chapter + " --sentence '  '", "--sentence: wanted at least one word");
    check_refused(chapter + " --sentence \"$(printf 'ab\\377')\"", "UTF-8, got byte 0xFF at position 2");
    check_refused(chapter + " --sentence \"$(seq 1 41)\"", "at most 40 tokens");
    check_refused(chapter + " --sentence a --input b", "--sentence");
  }
}

TEST_CASE("matrices from files; what is none is refused with the file's name") {
  const Scratch scratch;
  attn::write_npy(scratch / "three.npy", {{2, 1, 1}, std::vector<double>(2)});
  attn::write_npy(scratch / "whole.npy", {{2, 1}, std::vector<std::int64_t>(2)});
  attn::write_npy(scratch / "empty.npy", {{0, 3}, std::vector<double>()});
  attn::write_npy(scratch / "float.npy", {{2, 1}, std::vector<float>{1, 2}});
  attn::write_file(scratch / "text.npy", "not an array");
  const auto input = [&](const std::string& file) {
    return "chapter-02 --input '" + (scratch / file).string() + "'";
  };
  check_refused(input("three.npy"), "three.npy: wanted a matrix (rank 2), got shape (2, 1, 1)");
  check_refused(input("whole.npy"), "whole.npy: wanted float32 or float64, got int64");
  check_refused(input("empty.npy"), "empty.npy: wanted at least one row");
  check_refused(input("text.npy"), "text.npy: wanted an .npy file");
  check_refused(input("none.npy"), "none.npy: wanted a file that can be read");
  attn::write_npy(scratch / "nan.npy", {{1, 2}, std::vector<double>{1, NAN}});
  attn::write_npy(scratch / "huge.npy", {{2, 1}, std::vector<double>{1e200, 0}});
  attn::write_npy(scratch / "wide.npy", {{1, 2049}, std::vector<double>(2049)});
  check_refused(input("nan.npy"), "wanted numbers of at most 1e100 in size, got nan in row 0, column 1");
  check_refused(input("huge.npy"), "in row 0, column 0");
  check_refused(input("wide.npy"), "wanted at most 2048 columns, got 2049");
  check_refused("chapter-02 --input ''", "wanted a file that can be read");
  check_refused("chapter-02 --save ''", "--save: wanted a folder, got an empty name");
  check_refused("chapter-02 --brief --input '" + (scratch / "none.npy").string() + "'", "none.npy");
  CHECK(run(input("float.npy")).status == 0);
}

TEST_CASE("an output that cannot be written is an error") {
  const Scratch scratch;
  attn::write_file(scratch / "file", "x");
  const Result blocked = run("chapter-01 --save '" + (scratch / "file").string() + "'");
  CHECK(blocked.status == 2);
  CHECK(has(blocked.err, "wanted a place that can be written"));
  if (fs::exists("/dev/full")) {
    for (const char* command : {"attn dialects", "attn doctor", "attn check --list"}) {
      const Result said = run(std::string(command) + " > /dev/full");
      CHECK(said.status == 2);
      CHECK(has(said.err, "standard output: wanted a place that can be written"));
    }
    const Result full = run("chapter-01 > /dev/full");
    CHECK(full.status == 2);
    CHECK(has(full.err, "standard output: wanted a place that can be written"));
  }
}

TEST_CASE("--brief is one line") {
  const Result brief = run("chapter-03 --brief");
  CHECK(brief.status == 0);
  CHECK(std::count(brief.out.begin(), brief.out.end(), '\n') == 1);
  CHECK(brief.out.rfind("03 Scaling: ", 0) == 0);
}
