// attn train, attn info and attn average as a reader meets them: what they say, what they refuse, and what is left
// after a Ctrl-C, a kill, or a full disk.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "attn/core/files.hpp"
#include "attn/core/random.hpp"
#include "attn/training/checkpoint.hpp"
#include "catch.hpp"
#include "cli/program.hpp"
#include "scratch.hpp"

using namespace attn;
using namespace attn::tests;
namespace fs = std::filesystem;

namespace {

/// A training of a few milliseconds an update.
const std::string quick =
    " --d_model 8 --d_ff 12 --h 2 --longest 5 --pairs 60 --validation_pairs 4 --tokens 64 --dropout 0.1 --warmup "
    "20 ";

/// Starts `attn` with words of its own and does not wait.
pid_t start(std::vector<std::string> words) {
  words.insert(words.begin(), ATTN_TEST_BIN "/attn");
  const pid_t child = fork();
  if (child != 0) return child;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (freopen("/dev/null", "w", stdout) == nullptr || freopen("/dev/null", "w", stderr) == nullptr) _exit(126);
  execv(arguments[0], arguments.data());
  _exit(127);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(' ', at)) != std::string::npos;) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string quoted(const fs::path& path) { return "'" + path.string() + "'"; }

}  // namespace

TEST_CASE("a small training, from its beginning to what is left of it") {
  const Scratch scratch;
  const std::string folder = quoted(scratch / "run");
  const Result trained =
      run("attn train --folder " + folder + quick + "--updates 30 --validate_every 10 --keep 2");
  INFO(trained.err);
  CHECK(trained.status == 0);
  CHECK(has(trained.out, "copy: "));
  CHECK(has(trained.out, "copy: 0.0 % of 4 unseen sentences are exactly right"));
  CHECK(has(trained.out, "\n  letters  exactly right\n        1         0 of 1\n        2         0 of 1\n"));
  CHECK(has(trained.err, "update 30: training loss "));
  CHECK(fs::exists(scratch / "run/model.safetensors"));
  CHECK_FALSE(fs::exists(scratch / "run/update-00000010"));
  CHECK(fs::exists(scratch / "run/update-00000020"));

  const Result info = run("attn info " + folder);
  CHECK(info.status == 0);
  CHECK(has(info.out, "a training after 30 updates"));
  CHECK(has(info.out, "d_model = 8"));
  CHECK(has(info.out, "validation loss"));
  CHECK(has(run("attn info --tensors " + folder + "/model.safetensors").out, "encoder.0.self.W_Q"));
  const Result mean = run("attn average " + quoted(scratch / "mean") + " " + folder + "/update-00000020 " +
                          folder + "/update-00000030");
  CHECK(mean.status == 0);
  CHECK(has(run("attn info " + quoted(scratch / "mean")).out, "average_of: 2"));

  check_refused("attn train --folder " + folder + quick, "wanted a folder without a training");
  CHECK(run("attn train --resume " + folder + " --updates 40 --dropout 0.10").status == 0);  // the same number
  check_refused("attn train --resume " + folder + " --d_model 16",
                "--d_model: wanted 8, as the training began with");
  check_refused("attn train --resume " + folder + " --dropout 0.2",
                "--dropout: wanted 0.1, as the training began with, got 0.2");
  check_refused("attn train --resume " + folder + " --preset small", "--resume: wanted no --preset");
  check_refused("attn train --resume " + folder + "/update-00000030",
                "wanted the newest checkpoint, or another --folder");
  CHECK(run("attn train --resume " + folder + "/update-00000030 --folder " + quoted(scratch / "other")).status ==
        0);
}

TEST_CASE("going on elsewhere from an older checkpoint does not take a later model for its best") {
  const Scratch scratch;
  const std::string folder = quoted(scratch / "run"), other = quoted(scratch / "other");
  REQUIRE(run("attn train --folder " + folder + quick + "--updates 30 --validate_every 10").status == 0);
  const std::string on = "attn train --resume " + folder + "/update-00000010 --folder " + other;
  CHECK(run(on + " --updates 10").status == 0);
  CHECK(has(run("attn info " + other + "/model.safetensors").out, "(updates: 10)"));
  check_refused(on, "other: wanted a folder without a training or a model, got one with");
  // The best model is of an update that is not there any more.
  fs::remove_all(scratch / "run/update-00000030");
  const Result back = run("attn train --resume " + folder + " --updates 20");
  CHECK(back.status == 0);
  CHECK_FALSE(has(back.out, "inf"));
  REQUIRE(run("attn train --resume " + folder + " --updates 30").status == 0);
  // A checkpoint under another name.
  fs::create_directories(scratch / "named");
  fs::copy(scratch / "run/update-00000030", scratch / "named/mine", fs::copy_options::recursive);
  CHECK(run("attn train --resume " + quoted(scratch / "named/mine") + " --updates 40").status == 0);
  // A checkpoint that was carried off alone.
  fs::create_directories(scratch / "alone");
  fs::copy(scratch / "run/update-00000030", scratch / "alone/update-00000030", fs::copy_options::recursive);
  CHECK(run("attn train --resume " + quoted(scratch / "alone")).status == 0);
  CHECK(fs::exists(scratch / "alone/model.safetensors"));
}

TEST_CASE("what is in the way is not taken for a checkpoint, and nothing is overwritten") {
  const Scratch scratch;
  fs::create_directories(scratch / "run/update-00000010");
  check_refused("attn train --folder " + quoted(scratch / "run") + quick + "--updates 10 --validate_every 10",
                "update-00000010: wanted a place where nothing is yet");
  const std::string other = quoted(scratch / "other");
  REQUIRE(run("attn train --folder " + other + quick + "--updates 2 --validate_every 1").status == 0);
  // OUT was forgotten.
  check_refused("attn average " + other + "/update-00000001/model.safetensors " + other + "/update-00000002",
                "wanted the name of a new file, got something that is there");
  CHECK(run("attn info " + other + "/update-00000001").status == 0);
  CHECK(run("attn info " + other + " >&-").status == 2);
}

TEST_CASE("two trainings do not share a folder") {
  const Scratch scratch;
  const fs::path folder = scratch / "run";
  std::vector<std::string> words = split("train" + quick + "--updates 1000000 --validate_every 5 --folder");
  words.push_back(folder.string());
  const pid_t child = start(words);
  while (training::checkpoints(folder).empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  check_refused("attn train --folder " + quoted(folder) + quick, "wanted a folder that nobody trains into");
  check_refused("attn train --resume " + quoted(folder), "wanted a folder that nobody trains into");
  kill(child, SIGTERM);
  CHECK(wait_for(child) == 130);
}

TEST_CASE("early stopping waits as long as it was told to") {
  const Scratch scratch;
  // A rate of 0: nothing ever gets better.
  const Result result = run("attn train --folder " + quoted(scratch / "run") + quick +
                            "--rate_scale 0 --patience 3 --updates 1000 --validate_every 5");
  CHECK(result.status == 0);
  CHECK(has(result.err, "update 20: "));
  CHECK_FALSE(has(result.err, "update 25: "));
  CHECK(has(result.err, "no better"));
}

TEST_CASE(
    "settings come from a preset, then a file, then options; wrong ones are refused before anything starts") {
  const Scratch scratch;
  const fs::path file = scratch / "settings.txt";
  const std::string to = " --folder " + quoted(scratch / "run") + " ";
  write_file(
      file,
      "\xEF\xBB\xBF# mine\r\npreset = tiny\nd_model = 8  # narrow\nh=2\n\npairs = 50\nvalidation_pairs = 3\n"
      "longest = 4\nupdates = 4\n");
  CHECK(run("attn train --config " + quoted(file) + to + "--updates 2").status == 0);
  const Result info = run("attn info " + quoted(scratch / "run"));
  CHECK(has(info.out, "d_model = 8"));
  CHECK(has(info.out, "updates = 2"));
  CHECK(has(info.out, "warmup = 400"));

  const auto refused = [&](const std::string& text, const std::string& why) {
    write_file(file, text);
    check_refused("attn train --config " + quoted(file) + " --folder " + quoted(scratch / "new"), why);
    CHECK_FALSE(fs::exists(scratch / "new"));
  };
  refused("d_model 8\n", "settings.txt:1: wanted name = value, got d_model 8");
  refused("h = 2\n\nh = 4\n", "settings.txt:3: wanted each setting once, got h again");
  refused("# mine\nhats = 2\n", "settings.txt:2: wanted a setting that there is, got hats");
  refused("h = 2\nd_model = wide\n",
          "settings.txt:2: d_model: wanted a whole number from 1 to 16777216, got wide");
  refused("\npreset = huge\n", "settings.txt:2: preset: wanted one of tiny, small, base, big, got huge");
  refused("task = \x1B[2J" + std::string(1000, 'x') + "\n", "got \\x1B[2Jxxx");
  refused("h = 3\n", "d_model: wanted a multiple of h = 3, got 32");
  check_refused("attn train --config " + quoted(scratch / "none"), "wanted a file that can be read");
  check_refused("attn train --config /dev/zero", "/dev/zero: wanted a file, or a stream of at most 256 MiB");
  check_refused(
      "attn train --longest 1 --letters 9 --pairs 5 --validation_pairs 5 --folder " + quoted(scratch / "new"),
      "validation_pairs: wanted at most 2, a fifth of the sentences of each length, got 5");
  check_refused("attn train --preset huge", "preset: wanted one of tiny, small, base, big, got huge");
  check_refused("attn train --dropout 1", "dropout: wanted a number of at least 0 and less than 1, got 1");
  check_refused("attn train --depth 3", "--depth");
  check_refused("attn train --resume ''", "--resume: wanted a text, got an empty one");
  check_refused("attn train --folder ''", "--folder: wanted a text, got an empty one");
  check_refused("attn train --folder= --updates=1", "--folder: wanted a text, got --updates=1");
  check_refused("attn train --adam_epsilon 1e-46", "adam_epsilon: wanted a number that a float can hold");
  check_refused("attn train --letters 1 --longest 3 --pairs 2147483647 --folder " + quoted(scratch / "new"),
                "validation_pairs: wanted at most 0, a fifth of the sentences of each length, got 200");
  check_refused("attn train --config " + std::string(300, 'x'), "wanted a file that can be read");
  check_refused("attn train --folder /dev/null/x", "/dev/null/x: wanted a folder that can be written");
  check_refused("attn train --resume " + quoted(scratch / "none"), "wanted a run with a checkpoint");
  check_refused("attn info " + quoted(scratch / "none"), "wanted a file that can be read");
  check_refused("attn info " + std::string(300, 'x'), "wanted a path that can be used, got ");
  check_refused("attn info " + quoted(scratch.path()), "wanted a run with a checkpoint, a checkpoint, or a file");
  write_file(scratch / "text", "this is no model, but it is long enough to have a header");
  check_refused("attn info " + quoted(scratch / "text"), "text: wanted ");
}

TEST_CASE("Ctrl-C ends after the update, saves, and says how to go on: with the same bits as without it") {
  const Scratch scratch;
  const std::string options = quick + "--updates 400 --validate_every 100 ";
  REQUIRE(run("attn train --folder " + quoted(scratch / "whole") + options).status == 0);
  const fs::path folder = scratch / "broken";
  std::vector<std::string> words = split("train" + options + "--folder");
  words.push_back(folder.string());
  pid_t child = start(words);
  while (training::checkpoints(folder).empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill(child, SIGINT);
  CHECK(wait_for(child) == 130);
  child = start({"train", "--resume", folder.string()});
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  kill(child, SIGTERM);
  wait_for(child);
  const Result rest = run("attn train --resume " + quoted(folder));
  CHECK(rest.status == 0);
  for (const char* file : {"model.safetensors", "update-00000400/training.safetensors"}) {
    INFO(file);
    CHECK(read_file(folder / file) == read_file(scratch / "whole" / file));
  }
}

TEST_CASE("a hundred kills lose nothing: what is there loads, and the same bits follow") {
  const Scratch scratch;
  const fs::path folder = scratch / "killed";
  const std::string options = quick + "--updates 1000000 --validate_every 2 --keep 2 ";
  Random random(20);
  int resumed = 0;
  for (int kills = 0; kills < 100; ++kills) {
    const std::vector<fs::path> there = training::checkpoints(folder);
    std::vector<std::string> words = {"train", "--resume", folder.string()};
    if (there.empty()) {
      fs::remove_all(folder);  // killed before the first checkpoint: it begins anew
      words = split("train" + options + "--folder");
      words.push_back(folder.string());
    } else {
      for (const fs::path& path : there) CHECK_NOTHROW(training::read_checkpoint(path));
      CHECK_NOTHROW(read_model(folder / "model.safetensors"));
      ++resumed;
    }
    const pid_t child = start(words);
    std::this_thread::sleep_for(std::chrono::milliseconds(40 + random.bits() % 100));
    kill(child, SIGKILL);
    CHECK(wait_for(child) == 128 + SIGKILL);
  }
  CHECK(resumed > 50);
  const std::vector<fs::path> there = training::checkpoints(folder);
  REQUIRE_FALSE(there.empty());
  const auto updates = training::read_checkpoint(there.back()).progress.updates;
  INFO(resumed << " times gone on, " << updates << " updates");
  const std::string whole = "attn train --folder " + quoted(scratch / "whole") + quick +
                            "--validate_every 2 --updates " + std::to_string(updates);
  REQUIRE(run(whole).status == 0);
  const fs::path last = scratch / "whole" / there.back().filename();
  CHECK(read_file(there.back() / "model.safetensors") == read_file(last / "model.safetensors"));
}

// The thread sanitizer itself does not survive so small a limit.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ATTN_NO_SMALL_LIMITS
#endif
#endif
#if !defined(ATTN_NO_SMALL_LIMITS)

TEST_CASE("a disk that is full costs the newest checkpoint, not those before it") {
  const Scratch scratch;
  const std::string folder = quoted(scratch / "run");
  REQUIRE(run("attn train --folder " + folder + quick + "--updates 10 --validate_every 10").status == 0);
  const std::string before = read_file(scratch / "run/update-00000010/training.safetensors");
  // No file may have more than 8 blocks.
  const Result full = run("attn train --resume " + folder + " --updates 20", "ulimit -f 8; ");
  INFO(full.err);
  CHECK(full.status == 2);
  CHECK(has(full.err, "wanted a place that can be written"));
  CHECK(read_file(scratch / "run/update-00000010/training.safetensors") == before);
  const Result rest = run("attn train --resume " + folder + " --updates 20");
  CHECK(rest.status == 0);
  for (const auto& entry : fs::directory_iterator(scratch / "run")) CHECK(entry.path().extension() != ".part");
}

#endif

TEST_CASE("a training that runs away stops at its update, with the last good checkpoint") {
  const Scratch scratch;
  const auto away = [&](const std::string& name, const std::string& options) {
    const Result result = run("attn train --folder " + quoted(scratch / name) + quick + options);
    CHECK(result.status == 1);
    CHECK(result.out.empty());
    return result.err;
  };
  const std::string first = away("a", "--rate_scale 1e30 --updates 300 --validate_every 300");
  CHECK(has(first, "attn: update 2: wanted a finite loss, got "));
  CHECK(has(first, "There is no checkpoint yet"));
  const std::string measured = away("b", "--rate_scale 1e30 --updates 1 --validate_every 1");
  CHECK(has(measured, "attn: validation after update 1: wanted a finite loss, got "));
  CHECK(training::checkpoints(scratch / "b").empty());
  // Here it takes some updates until the numbers are too large for a float.
  const std::string later =
      away("c", "--pre_norm yes --average 0 --rate_scale 1e5 --updates 2000 --validate_every 1");
  CHECK(has(later, "The last good checkpoint is "));
  CHECK(has(later, ", the best model "));
}
