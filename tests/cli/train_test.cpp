// attn train, attn info and attn average as a reader meets them: what they say, what they refuse, and what is left
// after a Ctrl-C, a kill, or a full disk.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "attn/core/files.hpp"
#include "attn/core/random.hpp"
#include "attn/formats/safetensors.hpp"
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

/// Starts `attn` with words of its own, ignoring a signal if that is not 0, and does not wait. What it says goes
/// nowhere, but its result to an open file if there is one.
pid_t start(std::vector<std::string> words, int ignored = 0, int out = -1) {
  words.insert(words.begin(), ATTN_TEST_BIN "/attn");
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(200);  // should it hang, or the test be gone
  if (ignored != 0) signal(ignored, SIG_IGN);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (freopen("/dev/null", "w", stdout) == nullptr || freopen("/dev/null", "w", stderr) == nullptr) _exit(126);
  if (out >= 0 && dup2(out, STDOUT_FILENO) < 0) _exit(126);
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

bool is_running(pid_t child) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

fs::path newest(const fs::path& folder) {
  const std::vector<fs::path> all = training::checkpoints(folder);
  return all.empty() ? fs::path() : all.back();
}

/// Waits until a training has written another checkpoint, or has ended.
void wait_for_checkpoint(pid_t child, const fs::path& folder) {
  const fs::path before = newest(folder);
  while (newest(folder) == before && is_running(child)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// A training that goes on until it is stopped.
std::vector<std::string> endless(const fs::path& folder, int validate_every = 5) {
  std::vector<std::string> words = split("train" + quick + "--updates 1000000 --validate_every " +
                                         std::to_string(validate_every) + " --folder");
  words.push_back(folder.string());
  return words;
}

void copy_folder(const fs::path& from, const fs::path& to) {
  fs::create_directories(to.parent_path());
  fs::copy(from, to, fs::copy_options::recursive);
}

void damage(const fs::path& file) { fs::resize_file(file, fs::file_size(file) - 1); }

void check_same_file(const fs::path& a, const fs::path& b) {
  INFO(a << " and " << b);
  CHECK(read_file(a) == read_file(b));
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
                "update-00000010: wanted a checkpoint, or nothing of that name");
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
  const pid_t child = start(endless(folder));
  wait_for_checkpoint(child, folder);
  check_refused("attn train --folder " + quoted(folder) + quick,
                "wanted a folder that no other program writes to");
  check_refused("attn train --resume " + quoted(folder), "wanted a folder that no other program writes to");
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
  check_refused("attn train --folder /dev/null/x",
                "/dev/null/x: wanted a folder that can be written, got Not a directory");
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
  const fs::path folder = scratch / "killed", model = "model.safetensors";
  const std::string options = quick + "--updates 1000000 --validate_every 2 --keep 2 ";
  Random random(20);
  int resumed = 0;
  for (int kills = 0; kills < 100; ++kills) {
    const std::vector<fs::path> there = training::checkpoints(folder);
    std::vector<std::string> words = {"train", "--resume", folder.string()};
    if (there.empty()) {  // killed before the first checkpoint: it begins anew
      words = split("train" + options + "--folder");
      words.push_back(folder.string());
    } else {
      for (const fs::path& path : there) CHECK_NOTHROW(training::read_checkpoint(path));
      if (fs::exists(folder / model)) CHECK_NOTHROW(read_model(folder / model));
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
  const auto updates = training::read_checkpoint(there.back()).progress.updates + 2;
  INFO(resumed << " times gone on, " << updates << " updates");
  const std::string to_the_end = " --updates " + std::to_string(updates);
  REQUIRE(run("attn train --resume " + quoted(folder) + to_the_end).status == 0);
  REQUIRE(
      run("attn train --folder " + quoted(scratch / "whole") + quick + "--validate_every 2" + to_the_end).status ==
      0);
  check_same_file(folder / model, scratch / "whole" / model);
  const fs::path last = training::checkpoint_name(updates);
  check_same_file(folder / last / model, scratch / "whole" / last / model);
}

// The order of what is written: the checkpoint, then the best model, then old checkpoints are removed.
TEST_CASE("a kill between any two files leaves a folder in which the training goes on, or begins anew") {
  const Scratch scratch;
  const std::string options = quick + "--validate_every 10 --keep 9 --updates ";
  const fs::path whole = scratch / "whole", first = scratch / "first", model = "model.safetensors";
  const fs::path ten = "update-00000010", twenty = "update-00000020", thirty = "update-00000030";
  REQUIRE(run("attn train --folder " + quoted(whole) + options + "30").status == 0);
  REQUIRE(run("attn train --folder " + quoted(first) + options + "10").status == 0);
  const std::vector<training::Measured> history = training::read_checkpoint(whole / thirty).run.history;
  REQUIRE(history.size() == 3);
  for (int i : {1, 2}) REQUIRE(history[i].validation < history[i - 1].validation);  // each is the best so far
  const auto check_end = [&](const fs::path& folder, const std::string& command) {
    INFO(folder << " " << command);
    const Result result = run("attn train " + command);
    INFO(result.err);
    CHECK(result.status == 0);
    CHECK_FALSE(has(result.err, "warning"));
    check_same_file(folder / model, whole / model);
    check_same_file(folder / thirty / model, whole / thirty / model);
    for (const auto& entry : fs::directory_iterator(folder)) CHECK(entry.path().extension() != ".part");
  };
  const fs::path part = "model.safetensors.part";

  fs::path folder = scratch / "amid the first checkpoint";
  copy_folder(whole / ten, folder / "update-00000010.part");
  fs::remove(folder / "update-00000010.part/training.safetensors");
  write_file(folder / ".lock", "");
  check_end(folder, "--folder " + quoted(folder) + options + "30");

  folder = scratch / "after the first checkpoint";
  copy_folder(whole / ten, folder / ten);
  check_end(folder, "--resume " + quoted(folder) + " --updates 30");

  folder = scratch / "amid the first model";
  copy_folder(whole / ten, folder / ten);
  write_file(folder / part, "half of");
  check_end(folder, "--resume " + quoted(folder) + " --updates 30");

  folder = scratch / "amid the second model";
  for (const fs::path& name : {ten, twenty}) copy_folder(whole / name, folder / name);
  fs::copy(first / model, folder / model);
  write_file(folder / part, "half of");
  check_end(folder, "--resume " + quoted(folder));

  folder = scratch / "amid the last model";
  for (const fs::path& name : {ten, twenty, thirty}) copy_folder(whole / name, folder / name);
  fs::copy(first / model, folder / model);
  write_file(folder / part, "half of");
  check_end(folder, "--resume " + quoted(folder));

  folder = scratch / "amid the removal of an old checkpoint";
  copy_folder(whole, folder);
  fs::rename(folder / ten, folder / "update-00000010.part");
  check_end(folder, "--resume " + quoted(folder));

  // Going on from one folder into another writes the checkpoint first, too.
  folder = scratch / "elsewhere";
  check_refused("attn train --resume " + quoted(first) + " --folder " + quoted(folder) + " --rate_scale 2",
                "--rate_scale: wanted 1, as the training began with");
  REQUIRE(run("attn train --resume " + quoted(first) + " --folder " + quoted(folder) + " --updates 10").status ==
          0);
  check_same_file(folder / model, first / model);
  fs::remove(folder / model);
  check_end(folder, "--resume " + quoted(folder) + " --updates 30");
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

TEST_CASE("a disk that is full at any file leaves a folder in which the training goes on, or begins anew") {
  const Scratch scratch;
  bool began_anew = false, complete = false;
  for (int blocks = 1; blocks < 200 && !complete; blocks += 4) {
    const fs::path folder = scratch / std::to_string(blocks);
    const std::string command = "attn train --folder " + quoted(folder) + quick + "--updates 4 --validate_every 2";
    complete = run(command, "ulimit -f " + std::to_string(blocks) + "; ").status == 0;
    if (complete) break;
    const bool anew = training::checkpoints(folder).empty();
    began_anew = began_anew || anew;
    const Result rest = run(anew ? command : "attn train --resume " + quoted(folder));
    INFO(blocks << " blocks: " << rest.err);
    CHECK(rest.status == 0);
  }
  CHECK(began_anew);
  CHECK(complete);
}

#endif

TEST_CASE("a training stays in its folder when that is renamed, and nobody else may go on in it") {
  const Scratch scratch;
  const fs::path before = scratch / "run", after = scratch / "renamed";
  const pid_t child = start(endless(before));
  wait_for_checkpoint(child, before);
  fs::rename(before, after);
  write_file(before / "mine", "another folder by the former name");
  wait_for_checkpoint(child, after);
  wait_for_checkpoint(child, after);
  CHECK(is_running(child));
  check_refused("attn train --resume " + quoted(after), "wanted a folder that no other program writes to");
  kill(child, SIGTERM);
  CHECK(wait_for(child) == 130);
  CHECK(std::distance(fs::directory_iterator(before), fs::directory_iterator()) == 1);
  const Result rest = run("attn train --resume " + quoted(after) + " --updates 5");
  CHECK(rest.status == 0);
  CHECK_FALSE(has(rest.err, "warning"));
}

TEST_CASE("a training whose folder was removed ends with one error and does not make it anew") {
  const Scratch scratch;
  const fs::path folder = scratch / "run";
  const pid_t child = start(endless(folder, 300));
  wait_for_checkpoint(child, folder);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until it trains again, most likely
  kill(child, SIGSTOP);
  fs::remove_all(folder);
  kill(child, SIGCONT);
  CHECK(wait_for(child) == 2);
  CHECK(fs::is_empty(scratch.path()));
}

TEST_CASE("a best model that is damaged, or not of this training, is kept aside and found anew") {
  const Scratch scratch;
  const fs::path folder = scratch / "run", model = folder / "model.safetensors", old = model.string() + ".old";
  const std::string options = quick + "--validate_every 10 --updates ";
  REQUIRE(run("attn train --folder " + quoted(folder) + options + "20").status == 0);
  REQUIRE(run("attn train --folder " + quoted(scratch / "other") + options + "7").status == 0);
  const std::string good = read_file(model);
  damage(model);
  const std::string damaged = read_file(model);
  const Result back = run("attn train --resume " + quoted(folder));
  CHECK(back.status == 0);
  CHECK(has(back.err, "warning: " + model.string() + ": "));
  CHECK(has(back.err, "; it is kept as " + old.string() + "\n"));
  CHECK(read_file(old) == damaged);
  CHECK(read_file(model) == good);
  // One of another training, and one that is a folder.
  fs::copy(scratch / "other/model.safetensors", model, fs::copy_options::overwrite_existing);
  CHECK(has(run("attn train --resume " + quoted(folder)).err,
            "wanted a model from the past of this training, got one after update 7; it is kept as " +
                old.string() + ".1\n"));
  check_same_file(old.string() + ".1", scratch / "other/model.safetensors");
  fs::remove(model);
  write_file(model / "file", "mine");
  CHECK(run("attn train --resume " + quoted(folder)).status == 0);
  CHECK(read_file(old.string() + ".2/file") == "mine");
  CHECK(read_file(model) == good);
  // The best was before the last checkpoint: it is lost, and the next validation gives a model.
  fs::remove_all(folder / "update-00000020");
  damage(model);
  const pid_t child = start({"train", "--resume", folder.string(), "--updates", "1000000"});
  wait_for_checkpoint(child, folder);
  kill(child, SIGTERM);
  CHECK(wait_for(child) == 130);
  CHECK_NOTHROW(read_model(model));
}

TEST_CASE("when the newest checkpoint is damaged, the command is named that goes on from one that is whole") {
  const Scratch scratch;
  const fs::path folder = scratch / "a run";
  REQUIRE(run("attn train --folder " + quoted(folder) + quick + "--updates 30 --validate_every 10").status == 0);
  damage(folder / "update-00000030/training.safetensors");
  damage(folder / "update-00000020/model.safetensors");
  fs::create_directories(scratch / "a run-2");
  for (const std::string& path : {quoted(folder), quoted(folder / "update-00000030")}) {
    const Result refused = run("attn train --resume " + path);
    INFO(refused.err);
    CHECK(refused.status == 2);
    CHECK(has(refused.err, "attn: " + (folder / "update-00000030/training.safetensors").string() + ": "));
    const std::string before = "update-00000010 is whole. To go on from there: ";
    const auto at = refused.err.find(before);
    REQUIRE(at != std::string::npos);
    const std::string command =
        refused.err.substr(at + before.size(), refused.err.find('\n', at) - at - before.size());
    CHECK(run(command).status == 0);
    CHECK(fs::exists(scratch / "a run-3/update-00000030"));
    fs::remove_all(scratch / "a run-3");
  }
  damage(folder / "update-00000010/training.safetensors");
  check_refused("attn train --resume " + quoted(folder), "No other checkpoint of this run is whole.");
}

TEST_CASE("a folder that only looks like a checkpoint is noticed when a training goes on") {
  const Scratch scratch;
  const fs::path folder = scratch / "run";
  REQUIRE(run("attn train --folder " + quoted(folder) + quick + "--updates 20 --validate_every 10").status == 0);
  fs::remove(folder / "update-00000020/training.safetensors");
  const std::string resume = "attn train --resume " + quoted(folder);
  check_refused(resume, "update-00000020: wanted a checkpoint, or nothing of that name");
  fs::rename(folder / "update-00000020", folder / "moved away");
  CHECK(run(resume).status == 0);
  fs::create_directories(scratch / "other/update-00000030");
  check_refused(resume + " --updates 40 --folder " + quoted(scratch / "other"),
                "update-00000030: wanted a checkpoint, or nothing of that name");
}

TEST_CASE("an old checkpoint that cannot be removed is a warning") {
  const bool root = geteuid() == 0;
  const std::string nobody = root ? "setpriv --reuid 65534 --regid 65534 --clear-groups " : "";
  if (root && run("attn --version", nobody).status != 0) {
    WARN("skipped: root may remove everything, and cannot run attn as another user here");
    return;
  }
  const Scratch scratch;
  const fs::path folder = scratch / "run";
  const std::string options = quoted(folder) + quick + "--updates 10 --validate_every 10 --keep 1";
  REQUIRE(run("attn train --folder " + options).status == 0);
  for (const fs::path& path : {scratch.path(), folder}) fs::permissions(path, fs::perms(0777));
  fs::permissions(folder / ".lock", fs::perms(0666));
  fs::permissions(folder / "update-00000010", fs::perms(0555));
  const Result result = run("attn train --updates 20 --resume " + quoted(folder), nobody);
  INFO(result.err);
  CHECK(result.status == 0);
  CHECK(has(result.err, "warning: " + (folder / "update-00000010").string() +
                            ": wanted a folder that can be removed, got Permission denied\n"));
  CHECK(newest(folder).filename() == "update-00000020");
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) fs::permissions(entry.path(), fs::perms(0755));
  }
}

TEST_CASE("a checkpoint that lacks a setting does not take its default") {
  const Scratch scratch;
  const fs::path folder = scratch / "run", file = folder / "update-00000002/training.safetensors";
  REQUIRE(run("attn train --folder " + quoted(folder) + quick + "--updates 2 --validate_every 2").status == 0);
  const Safetensors whole = read_safetensors(file);
  for (const std::string name : {"dropout", "h", "letters", "keep"}) {
    Safetensors lacking = whole;
    REQUIRE(lacking.metadata.erase("setting." + name) == 1);
    write_safetensors(file, lacking);
    check_refused("attn train --resume " + quoted(folder),
                  "wanted the setting " + name + ", got none of that name");
  }
}

TEST_CASE("a signal that the caller ignores stays ignored") {
  const Scratch scratch;
  for (const int ignored : {SIGINT, SIGTERM, SIGHUP}) {
    INFO("signal " << ignored);
    const fs::path folder = scratch / std::to_string(ignored);
    const pid_t child = start(endless(folder), ignored);
    wait_for_checkpoint(child, folder);
    kill(child, ignored);
    for (int i = 0; i < 3; ++i) wait_for_checkpoint(child, folder);
    CHECK(is_running(child));
    kill(child, ignored == SIGINT ? SIGTERM : SIGINT);
    CHECK(wait_for(child) == 130);
  }
}

TEST_CASE("a result that nobody reads is an error, or ends the program, as the caller has set SIGPIPE") {
  const Scratch scratch;
  for (const auto& [handler, status] : {std::pair(SIG_IGN, 2), std::pair(SIG_DFL, 128 + SIGPIPE)}) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    close(ends[0]);
    std::vector<std::string> words = split("train" + quick + "--updates 2 --validate_every 2 --folder");
    words.push_back(scratch / std::to_string(status));
    const auto before = signal(SIGPIPE, handler);
    const pid_t child = start(words, 0, ends[1]);
    signal(SIGPIPE, before);
    close(ends[1]);
    CHECK(wait_for(child) == status);
  }
}
