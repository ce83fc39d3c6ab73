#include <fcntl.h>
#include <omp.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <sstream>

#include "attn/core/errors.hpp"
#include "attn/core/files.hpp"
#include "attn/core/random.hpp"
#include "attn/core/table.hpp"
#include "attn/engine/backend/cpu.hpp"
#include "attn/training/checkpoint.hpp"
#include "attn/training/plan.hpp"
#include "attn/translation/greedy.hpp"
#include "cli/commands.hpp"
#include "cli/progress.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;
using training::Plan;

volatile std::sig_atomic_t asked_to_stop = 0;

volatile std::sig_atomic_t asked_at = 0;

/// The first signal ends the training after its update; another one, a second later or more, ends the program.
void stop_after_this_update(int signal) {
  const auto now = static_cast<std::sig_atomic_t>(std::time(nullptr) & 0xFFFFFF);
  if (asked_to_stop == 0) {
    asked_at = now;
    asked_to_stop = 1;
  } else if (now != asked_at && now != asked_at + 1) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

/// While this lives, Ctrl-C, a closed terminal and SIGTERM end the training after its update. Before and after,
/// they end the program at once: there is nothing to save.
class Listening {
 public:
  Listening() {
    struct sigaction action {};
    action.sa_handler = stop_after_this_update;
    action.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < signals.size(); ++i) {
      sigaction(signals[i], nullptr, &before_[i]);
      const bool nohup = signals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN;
      if (!nohup) sigaction(signals[i], &action, nullptr);
    }
    std::signal(SIGPIPE, SIG_IGN);  // nobody reads the messages any more; the training goes on
  }
  ~Listening() {
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before_[i], nullptr);
    std::signal(SIGPIPE, SIG_DFL);
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  static constexpr std::array<int, 3> signals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, signals.size()> before_{};
};

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

void expect_preset(const std::string& name, const std::string& where) {
  try {
    training::preset(name);
  } catch (const InputError& error) {
    throw InputError(where + ": " + error.what());
  }
}

/// A file of lines `name = value`; what follows a # is a comment. What a line says is tried at once, so that a
/// complaint names the line.
SettingTexts read_settings(const fs::path& path) {
  std::string all = read_file(path);
  if (all.rfind("\xEF\xBB\xBF", 0) == 0) all.erase(0, 3);  // the mark that some editors put in front of UTF-8
  std::istringstream lines(all);
  SettingTexts texts;
  Plan tried;
  const std::vector<Setting> known = settings(tried);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::string where = path.string() + ":" + std::to_string(number);
    const auto sign = line.find('=');
    if (sign == std::string::npos) refuse_input(where, "name = value", line);
    const std::string name = trimmed(line.substr(0, sign)), value = trimmed(line.substr(sign + 1));
    if (name == "preset") {
      expect_preset(value, where);
    } else {
      apply(known, {{name, value}}, where);
    }
    if (!texts.emplace(name, value).second) refuse_input(where, "each setting once", name + " again");
  }
  return texts;
}

/// Preset, then file, then options: the later one wins.
Plan plan_from(const TrainOptions& options) {
  Plan plan;
  const std::vector<Setting> all = settings(plan);
  SettingTexts file = options.config.empty() ? SettingTexts() : read_settings(options.config);
  std::string preset = options.preset;
  if (const auto found = file.find("preset"); found != file.end()) {
    if (preset.empty()) preset = found->second;
    file.erase(found);
  }
  if (preset.empty()) preset = "tiny";
  apply(all, training::preset(preset), "preset " + preset);
  apply(all, file, options.config.string());
  apply(all, options.texts, "options");
  complete(plan);
  return plan;
}

/// What may be different when a training goes on: how long it lasts, what is kept, and how many threads it gets.
Plan plan_from(const training::Checkpoint& checkpoint, const TrainOptions& options) {
  if (!options.preset.empty() || !options.config.empty()) {
    refuse_input("--resume", "no --preset and no --config: a training goes on as it began", "one of them");
  }
  Plan plan;
  const std::vector<Setting> all = settings(plan);
  apply(all, checkpoint.run.settings, "checkpoint");
  const SettingTexts before = texts_of(all);
  apply(all, options.texts, "options");
  for (const auto& [name, text] : texts_of(all)) {
    if (name == "updates" || name == "patience" || name == "keep" || name == "threads") continue;
    if (before.at(name) != text) refuse_input("--" + name, before.at(name) + ", as the training began with", text);
  }
  complete(plan);
  return plan;
}

/// A folder that nobody else trains into while this lives. It is made if it is not there.
class OwnFolder {
 public:
  explicit OwnFolder(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    const fs::path lock = folder / ".lock";
    file_ = open(lock.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    if (file_ < 0) refuse_input(folder.string(), "a folder that can be written", std::strerror(errno));
    if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
      close(file_);
      refuse_input(folder.string(), "a folder that nobody trains into", "one where another training runs");
    }
  }
  ~OwnFolder() { close(file_); }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

 private:
  int file_ = -1;
};

/// A model in training, with all that belongs to it.
class Session {
 public:
  Session(const Plan& plan, fs::path folder)
      : plan_(plan),
        folder_(std::move(folder)),
        backend_(engine::make_cpu_backend()),
        model_(plan.model, *backend_),
        seen_(training_pairs(plan)),
        unseen_(validation_pairs(plan)) {
    omp_set_num_threads(static_cast<int>(plan.threads));
    Random random(plan.trainer.seed);
    model_.parameters().set([&](const Parameter& parameter) { return initial_value(parameter, random); });
    trainer_ = std::make_unique<training::Trainer>(model_, *backend_, seen_, plan.trainer);
    run_.settings = texts_of(settings(plan_));
  }

  void go_on_from(const training::Checkpoint& checkpoint) {
    restore(checkpoint, model_, *backend_, *trainer_);
    const SettingTexts now = run_.settings;
    run_ = checkpoint.run;
    run_.settings = now;
    if (!has_best_of(folder_, checkpoint)) run_.best = std::numeric_limits<double>::infinity();
  }

  /// Whether a folder has the model that was the best when a checkpoint was written.
  static bool has_best_of(const fs::path& folder, const training::Checkpoint& checkpoint) {
    const fs::path path = folder / "model.safetensors";
    if (!fs::exists(path)) return false;
    const SettingTexts notes = read_model(path).notes;
    const auto updates = notes.find("updates");
    for (const training::Measured& m : checkpoint.run.history) {
      if (m.validation == checkpoint.run.best) {
        return updates != notes.end() && updates->second == std::to_string(m.updates);
      }
    }
    return false;
  }

  /// Returns the exit status.
  int train() {
    std::cerr << backend_->name() << "; " << parameter_count(plan_.model) << " parameters; " << seen_.size()
              << " sentences to learn from, " << unseen_.size() << " others to measure on\n";
    start_ = std::chrono::steady_clock::now();
    first_ = trainer_->progress().updates;
    if (!learn()) return 130;
    report();
    return 0;
  }

 private:
  /// Whether it came to its end.
  bool learn() {
    const Listening listening;
    while (trainer_->progress().updates < plan_.updates && !out_of_patience()) {
      const training::Update update = trainer_->update();
      run_.loss_sum += std::max(0.0, update.loss.sum), run_.loss_tokens += update.loss.tokens;
      tokens_ += update.loss.tokens;
      if (line_.due()) line_.show(progress(update));
      const bool last = update.number == plan_.updates;
      if (last || update.number % plan_.validate_every == 0) validate(update.number);
      if (asked_to_stop != 0 && !last) {
        interrupted();
        return false;
      }
    }
    if (!std::isfinite(run_.best)) validate(trainer_->progress().updates);  // the best went lost
    return true;
  }

  bool out_of_patience() const { return plan_.patience > 0 && run_.waited >= plan_.patience; }

  std::string progress(const training::Update& update) const {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const auto done = static_cast<double>(update.number - first_);
    const double left = seconds / done * static_cast<double>(plan_.updates - update.number);
    const double loss = update.loss.nll / static_cast<double>(update.loss.tokens);
    return "update " + std::to_string(update.number) + " of " + std::to_string(plan_.updates) + ", loss " +
           fixed(update.loss_per_token(), 4) + ", perplexity " + fixed(std::exp(loss), 2) + ", rate " +
           three_digits(update.rate) + ", " + fixed(static_cast<double>(tokens_) / seconds, 0) + " tokens/s, " +
           clock_text(left) + " left";
  }

  static std::string three_digits(double rate) {
    std::ostringstream text;
    text.precision(3);
    text << rate;
    return text.str();
  }

  /// Measures, keeps the best, and writes a checkpoint.
  void validate(std::uint64_t updates) {
    trainer_->swap_average();
    const training::Validation now = training::validate(model_, unseen_, plan_.trainer.tokens);
    if (!std::isfinite(backend_->sum_of_squares(model_.parameters().values()))) {
      throw training::Diverged("weights after update " + std::to_string(updates) +
                               ": wanted numbers, got NaN or infinity");
    }
    if (!std::isfinite(now.loss)) {
      throw training::Diverged("validation after update " + std::to_string(updates) +
                               ": wanted a finite loss, got " + std::to_string(now.loss));
    }
    const bool best = now.loss < run_.best;
    if (best) {
      write_model(folder_ / "model.safetensors",
                  training::model_file(model_, *backend_,
                                       {{"updates", std::to_string(updates)}, {"task", name(plan_.task.task)}}));
    }
    trainer_->swap_average();
    run_.waited = best ? 0 : run_.waited + 1;
    run_.best = std::min(run_.best, now.loss);
    const double loss = run_.loss_sum / static_cast<double>(std::max<std::size_t>(1, run_.loss_tokens));
    run_.history.push_back({updates, loss, now.loss});
    run_.loss_sum = 0.0, run_.loss_tokens = 0;
    save();
    line_.say("update " + std::to_string(updates) + ": training loss " + fixed(loss, 4) + ", validation loss " +
              fixed(now.loss, 4) + ", perplexity " + fixed(now.perplexity(), 4) + (best ? "" : ", no better"));
  }

  void save() {
    saved_after_ = trainer_->progress().updates;
    saved_ = folder_ / training::checkpoint_name(saved_after_);
    const bool there = fs::exists(saved_ / "training.safetensors");
    if (!there) training::write_checkpoint(folder_, model_, *backend_, *trainer_, run_);
    training::prune(folder_, plan_.keep);
  }

  void interrupted() {
    save();
    line_.say("Stopped after update " + std::to_string(saved_after_) + ", saved as " + saved_.string() +
              "\nTo go on: attn train --resume " + folder_.string());
  }

  /// What the best model can do, to standard output: for all sentences, and for the lengths that it has not
  /// learned.
  void report() {
    const fs::path best = folder_ / "model.safetensors";
    training::load(read_model(best), model_, *backend_);
    const std::vector<bool> right = translation::exact_matches(model_, unseen_.sources, unseen_.targets);
    const auto all_right = std::count(right.begin(), right.end(), true);
    std::cout << name(plan_.task.task) << ": "
              << fixed(100.0 * static_cast<double>(all_right) / static_cast<double>(right.size()), 1) << " % of "
              << unseen_.size() << " unseen sentences are exactly right; loss " << fixed(run_.best, 4)
              << " a token; model in " << best.string() << std::endl;
    std::map<std::size_t, std::array<std::size_t, 2>> by_length;  // how many are right, and how many there are
    for (std::size_t i = 0; i < right.size(); ++i) {
      auto& [good, all] = by_length[unseen_.sources[i].size() - 1];
      good += right[i] ? 1 : 0, ++all;
    }
    Table table({"letters", "exactly right"});
    for (const auto& [letters, share] : by_length) {
      if (share[0] == share[1]) continue;
      table.add({std::to_string(letters), std::to_string(share[0]) + " of " + std::to_string(share[1])});
    }
    if (all_right < static_cast<std::ptrdiff_t>(right.size())) table.print(std::cout);
  }

  Plan plan_;
  fs::path folder_;
  std::unique_ptr<engine::Backend> backend_;
  engine::Transformer model_;
  training::Pairs seen_, unseen_;
  std::unique_ptr<training::Trainer> trainer_;
  training::Run run_;
  ProgressLine line_;
  std::chrono::steady_clock::time_point start_;
  std::uint64_t first_ = 0, saved_after_ = 0;
  std::size_t tokens_ = 0;
  fs::path saved_;
};

/// The newest checkpoint of a run, or the one that was named.
fs::path checkpoint_of(const fs::path& path) {
  if (fs::exists(path / "training.safetensors")) return path;
  const std::vector<fs::path> all = training::checkpoints(path);
  if (all.empty()) {
    refuse_input("--resume " + path.string(), "a run with a checkpoint, or a checkpoint",
                 fs::is_directory(path) ? "a folder without" : "no such folder");
  }
  return all.back();
}

int begin(const Plan& plan, const fs::path& folder) {
  const OwnFolder own(folder);
  if (!training::checkpoints(folder).empty()) {
    refuse_input(folder.string(), "a folder without a training, or --resume " + folder.string(), "one with");
  }
  if (fs::exists(folder / "model.safetensors")) {
    refuse_input(folder.string(), "a folder without a model.safetensors, which would be overwritten", "one with");
  }
  return Session(plan, folder).train();
}

int go_on(const training::Checkpoint& checkpoint, const Plan& plan, const fs::path& run, const fs::path& folder) {
  const OwnFolder own(folder);
  const std::vector<fs::path> there = training::checkpoints(folder);
  const fs::path best = run / "model.safetensors", here = folder / "model.safetensors";
  if (!fs::exists(run) || !fs::equivalent(run, folder)) {
    if (!there.empty() || fs::exists(here)) {
      refuse_input(folder.string(), "a folder without a training or a model", "one with");
    }
    if (Session::has_best_of(run, checkpoint)) write_file(here, read_file(best));
  } else if (!there.empty() && there.back().filename() != training::checkpoint_name(checkpoint.progress.updates)) {
    refuse_input(folder.string(), "the newest checkpoint, or another --folder to go on from an older one",
                 training::checkpoint_name(checkpoint.progress.updates));
  }
  std::cerr << "Going on after update " << checkpoint.progress.updates << '\n';
  Session session(plan, folder);
  session.go_on_from(checkpoint);
  return session.train();
}

/// Trains, and says what is left when it cannot go on.
template <class F>
int guarded(const fs::path& folder, const F& train) {
  try {
    return train();
  } catch (const training::Diverged& error) {
    const std::vector<fs::path> all = training::checkpoints(folder);
    std::cerr << "attn: " << error.what() << "\nThe training cannot go on like this. "
              << (all.empty() ? "There is no checkpoint yet"
                              : "The last good checkpoint is " + all.back().string() + ", the best model " +
                                    (folder / "model.safetensors").string())
              << "; a lower --rate_scale, a longer --warmup or --longest_gradient 1 may help.\n";
    return 1;
  }
}

}  // namespace

int train_command(const TrainOptions& options) {
  if (options.resume.empty()) {
    const Plan plan = plan_from(options);
    const fs::path folder = options.folder.empty() ? fs::path("attn-" + name(plan.task.task)) : options.folder;
    return guarded(folder, [&] { return begin(plan, folder); });
  }
  const fs::path path = checkpoint_of(options.resume);
  const training::Checkpoint checkpoint = training::read_checkpoint(path);
  const Plan plan = plan_from(checkpoint, options);
  const fs::path run = path == options.resume ? fs::weakly_canonical(path).parent_path() : options.resume;
  const fs::path folder = options.folder.empty() ? run : options.folder;
  return guarded(folder, [&] { return go_on(checkpoint, plan, run, folder); });
}

}  // namespace attn
