#include <omp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <ctime>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <sstream>

#include "attn/core/errors.hpp"
#include "attn/core/files.hpp"
#include "attn/core/numbers.hpp"
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
/// they end the program at once: there is nothing to save. A signal that the caller ignores stays ignored: nohup
/// does so with SIGHUP, and a shell with the SIGINT of what it starts in the background.
class Listening {
 public:
  Listening() {
    struct sigaction action {};
    action.sa_handler = stop_after_this_update;
    action.sa_flags = SA_RESTART;
    for (std::size_t i = 0; i < signals.size(); ++i) {
      if (signals[i] == SIGPIPE) action.sa_handler = SIG_IGN;  // nobody reads the messages; the training goes on
      sigaction(signals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) sigaction(signals[i], &action, nullptr);
    }
  }
  ~Listening() {
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before_[i], nullptr);
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  static constexpr std::array<int, 4> signals = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
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
  for (const Setting& setting : all) {
    if (checkpoint.run.settings.count(setting.name) > 0) continue;
    refuse_input("checkpoint", "the setting " + setting.name, "none of that name");
  }
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

/// A path as a shell reads it.
std::string shell_text(const fs::path& path) {
  const std::string text = path.string();
  if (text.find_first_of(" \t\n\"'\\$`&|;<>()*?[]{}#~!") == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

const char* const model_name = "model.safetensors";

/// Renames what is in the way of a file.
/// @return its new name
fs::path set_aside(const fs::path& file) {
  fs::path aside;
  for (int n = 0; n == 0 || fs::exists(fs::symlink_status(aside)); ++n) {
    aside = file.string() + ".old" + (n == 0 ? "" : "." + std::to_string(n));
  }
  fs::rename(file, aside);
  return aside;
}

/// The backend takes memory for each thread, so it is told first how many there are.
std::unique_ptr<engine::Backend> backend_for(const Plan& plan) {
  omp_set_num_threads(static_cast<int>(plan.threads));
  return engine::make_cpu_backend();
}

/// A model in training, with all that belongs to it.
class Session {
 public:
  Session(const Plan& plan, const OwnFolder& own)
      : plan_(plan),
        own_(own),
        folder_(own.path()),
        backend_(backend_for(plan)),
        model_(plan.model, *backend_),
        seen_(training_pairs(plan)),
        unseen_(validation_pairs(plan)) {
    Random random(plan.trainer.seed);
    model_.parameters().set([&](const Parameter& parameter) { return initial_value(parameter, random); });
    trainer_ = std::make_unique<training::Trainer>(model_, *backend_, seen_, plan.trainer);
    run_.settings = texts_of(settings(plan_));
  }

  /// Puts the training where a checkpoint says.
  /// @param best  the best model where it comes from, if that is another folder; else empty
  void go_on_from(const training::Checkpoint& checkpoint, const fs::path& best) {
    restore(checkpoint, model_, *backend_, *trainer_);
    const SettingTexts now = run_.settings;
    run_ = checkpoint.run;
    run_.settings = now;
    save();  // Whatever happens from here on, the folder has a checkpoint to go on from.
    if (!best.empty()) copy_best(best);
    find_best();
    prune();
  }

  /// Returns the exit status.
  int train() {
    std::cerr << backend_->name() << "; " << parameter_count(plan_.model) << " parameters; " << seen_.size()
              << " sentences to learn from, " << unseen_.size() << " others to measure on\n";
    start_ = std::chrono::steady_clock::now();
    first_ = trainer_->progress().updates;
    try {
      if (!learn()) return 130;
    } catch (const training::Diverged& error) {
      say_what_is_left(error);
      return 1;
    }
    folder_ = own_.path();
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

  static std::string three_digits(double rate) { return to_text(rate, std::chars_format::general, 3); }

  /// Measures, keeps the best, and writes a checkpoint.
  void validate(std::uint64_t updates) {
    const training::Validation now = measure();
    const bool best = now.loss < run_.best;
    run_.waited = best ? 0 : run_.waited + 1;
    run_.best = std::min(run_.best, now.loss);
    const double loss = run_.loss_sum / static_cast<double>(std::max<std::size_t>(1, run_.loss_tokens));
    run_.history.push_back({updates, loss, now.loss});
    run_.loss_sum = 0.0, run_.loss_tokens = 0;
    save();
    if (best) keep_as_best();
    prune();
    line_.say("update " + std::to_string(updates) + ": training loss " + fixed(loss, 4) + ", validation loss " +
              fixed(now.loss, 4) + ", perplexity " + fixed(now.perplexity(), 4) + (best ? "" : ", no better"));
  }

  /// Writes a checkpoint. It comes before the model that it says is the best: find_best() makes up for a kill
  /// between the two, while a model alone is nothing to go on from.
  void save() {
    follow();
    const std::string name = training::checkpoint_name(trainer_->progress().updates);
    own_.inside([&] {
      if (fs::exists(fs::path(name) / "training.safetensors")) return;
      training::write_checkpoint("", model_, *backend_, *trainer_, run_);
    });
  }

  /// The weights as they are now, averaged if they are, become the best model.
  void keep_as_best() {
    trainer_->swap_average();
    const ModelFile best = training::model_file(
        model_, *backend_,
        {{"updates", std::to_string(trainer_->progress().updates)}, {"task", name(plan_.task.task)}});
    trainer_->swap_average();
    own_.inside([&] { write_model(model_name, best); });
  }

  void prune() {
    std::vector<std::string> complaints;
    own_.inside([&] { complaints = training::prune("", plan_.keep); });
    for (const std::string& complaint : complaints) warn((folder_ / complaint).string());
  }

  void warn(const std::string& text) { line_.say("warning: " + text); }

  /// The folder may have been renamed.
  void follow() {
    const fs::path now = own_.path();
    if (now != folder_) line_.say(folder_.string() + " has been renamed; the training goes on in " + now.string());
    folder_ = now;
  }

  /// What was measured of a model from the past of this training.
  double loss_of(const fs::path& file) {
    SettingTexts notes = read_model(file).notes;
    const std::string updates = notes["updates"];
    for (const training::Measured& m : run_.history) {
      if (updates == std::to_string(m.updates)) return m.validation;
    }
    // It was measured after the checkpoint had been written.
    if (updates == std::to_string(trainer_->progress().updates)) return measure().loss;
    refuse_input(file.string(), "a model from the past of this training",
                 updates.empty() ? "one that does not say after which update" : "one after update " + updates);
  }

  /// Measures the weights as they are now, averaged if they are.
  training::Validation measure() {
    trainer_->swap_average();
    const training::Validation now = training::validate(model_, unseen_, plan_.trainer.tokens);
    const double squares = backend_->sum_of_squares(model_.parameters().values());
    trainer_->swap_average();
    const std::string updates = std::to_string(trainer_->progress().updates);
    if (!std::isfinite(squares)) {
      throw training::Diverged("weights after update " + updates + ": wanted numbers, got NaN or infinity");
    }
    if (!std::isfinite(now.loss)) {
      throw training::Diverged("validation after update " + updates + ": wanted a finite loss, got " +
                               std::to_string(now.loss));
    }
    return now;
  }

  /// Takes the best model over from another folder, where it stays.
  void copy_best(const fs::path& best) {
    if (!fs::exists(best)) return;
    try {
      loss_of(best);
    } catch (const InputError& error) {
      warn(std::string(error.what()) + "; it is not taken over");
      return;
    }
    const std::string bytes = read_file(best);
    own_.inside([&] { write_file(model_name, bytes); });
  }

  /// Finds out how good the model in the folder is. If the weights are better, because a kill came before they
  /// were written, or if there is no model that can be used, they become the best.
  void find_best() {
    const double before = run_.best;
    run_.best = std::numeric_limits<double>::infinity();
    const fs::path file = folder_ / model_name;
    if (fs::exists(file)) {
      try {
        run_.best = loss_of(file);
      } catch (const InputError& error) {
        warn(std::string(error.what()) + "; it is kept as " + set_aside(file).string());
      }
    }
    const bool measured = !run_.history.empty() && run_.history.back().updates == trainer_->progress().updates;
    if (measured && run_.history.back().validation < run_.best) {
      run_.best = run_.history.back().validation;
      keep_as_best();
    }
    if (before < run_.best) {
      warn("the best model so far is not in " + folder_.string() + "; the best from now on is kept there");
    }
  }

  void interrupted() {
    save();
    prune();
    const fs::path saved = folder_ / training::checkpoint_name(trainer_->progress().updates);
    line_.say("Stopped after update " + std::to_string(trainer_->progress().updates) + ", saved as " +
              saved.string() + "\nTo go on: attn train --resume " + shell_text(folder_));
  }

  void say_what_is_left(const training::Diverged& error) {
    folder_ = own_.path();
    const std::vector<fs::path> all = training::checkpoints(folder_);
    line_.say("attn: " + std::string(error.what()) + "\nThe training cannot go on like this. " +
              (all.empty() ? "There is no checkpoint yet"
                           : "The last good checkpoint is " + all.back().string() + ", the best model " +
                                 (folder_ / model_name).string()) +
              "; a lower --rate_scale, a longer --warmup or --longest_gradient 1 may help.");
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
  const OwnFolder& own_;
  fs::path folder_;  ///< its name, when it was last asked for
  std::unique_ptr<engine::Backend> backend_;
  engine::Transformer model_;
  training::Pairs seen_, unseen_;
  std::unique_ptr<training::Trainer> trainer_;
  training::Run run_;
  ProgressLine line_;
  std::chrono::steady_clock::time_point start_;
  std::uint64_t first_ = 0;
  std::size_t tokens_ = 0;
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

/// A name for another folder beside a run, where nothing is yet.
fs::path name_beside(const fs::path& run) {
  const fs::path whole = fs::canonical(run);
  const bool plain = run.has_filename() && run.filename() == whole.filename();
  const std::string name = (plain ? run : whole).string();
  int n = 2;
  while (fs::exists(fs::symlink_status(name + "-" + std::to_string(n)))) ++n;
  return name + "-" + std::to_string(n);
}

/// Reads a checkpoint. If it is damaged, says how to go on from another one of its run.
training::Checkpoint read_or_show_another(const fs::path& path, const fs::path& run, const fs::path& folder) {
  try {
    return training::read_checkpoint(path);
  } catch (const InputError& damaged) {
    std::vector<fs::path> all = training::checkpoints(run);
    std::reverse(all.begin(), all.end());
    for (const fs::path& other : all) {
      try {
        plan_from(training::read_checkpoint(other), {});
      } catch (const std::exception&) {
        continue;
      }
      throw InputError(damaged.what() + std::string("\n") + other.string() +
                       " is whole. To go on from there: attn train --resume " + shell_text(other) + " --folder " +
                       shell_text(folder.empty() || fs::exists(folder) ? name_beside(run) : folder));
    }
    throw InputError(damaged.what() + std::string("\nNo other checkpoint of this run is whole."));
  }
}

int begin(const Plan& plan, const fs::path& folder) {
  const OwnFolder own(folder);
  if (!training::checkpoints(folder).empty()) {
    refuse_input(folder.string(), "a folder without a training, or --resume " + shell_text(folder), "one with");
  }
  if (fs::exists(folder / model_name)) {
    refuse_input(folder.string(), "a folder without a model.safetensors, which would be overwritten", "one with");
  }
  training::expect_no_strays(folder, 0);
  return Session(plan, own).train();
}

int go_on(const training::Checkpoint& checkpoint, const Plan& plan, const fs::path& run, const fs::path& folder) {
  const OwnFolder own(folder);
  const std::vector<fs::path> there = training::checkpoints(folder);
  const bool elsewhere = !fs::equivalent(run, folder);
  if (elsewhere) {
    if (!there.empty() || fs::exists(folder / model_name)) {
      refuse_input(folder.string(), "a folder without a training or a model", "one with");
    }
  } else if (!there.empty() && there.back().filename() != training::checkpoint_name(checkpoint.progress.updates)) {
    refuse_input(folder.string(), "the newest checkpoint, or another --folder to go on from an older one",
                 training::checkpoint_name(checkpoint.progress.updates));
  }
  training::expect_no_strays(folder, checkpoint.progress.updates);
  std::cerr << "Going on after update " << checkpoint.progress.updates << '\n';
  Session session(plan, own);
  session.go_on_from(checkpoint, elsewhere ? run / model_name : fs::path());
  return session.train();
}

}  // namespace

int train_command(const TrainOptions& options) {
  if (options.resume.empty()) {
    const Plan plan = plan_from(options);
    const fs::path folder = options.folder.empty() ? fs::path("attn-" + name(plan.task.task)) : options.folder;
    return begin(plan, folder);
  }
  const fs::path path = checkpoint_of(options.resume);
  const fs::path run = path == options.resume ? fs::canonical(path).parent_path() : options.resume;
  const training::Checkpoint checkpoint = read_or_show_another(path, run, options.folder);
  return go_on(checkpoint, plan_from(checkpoint, options), run, options.folder.empty() ? run : options.folder);
}

}  // namespace attn
