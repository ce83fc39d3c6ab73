// The `attn` command.
#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <iostream>

#include "attn/core/blas.hpp"
#include "attn/core/errors.hpp"
#include "attn/training/plan.hpp"
#include "cli/commands.hpp"
#include "cli/machine.hpp"
#include "setup.hpp"

namespace {

namespace fs = std::filesystem;

/// The golden files: those of the source tree where this was built, or those that were installed with it.
fs::path golden_folder(const char* program) {
  const fs::path built(attn::setup::source_golden);
  std::error_code none;
  fs::path self = fs::read_symlink("/proc/self/exe", none);
  if (none) self = fs::weakly_canonical(program, none);
  const fs::path installed = self.parent_path().parent_path() / attn::setup::installed_golden;
  return fs::exists(installed) ? installed : built;
}

/// `attn train` and an option for each of its settings, which are written into `options`.
CLI::App* add_train(CLI::App& app, attn::TrainOptions& options) {
  CLI::App* train = app.add_subcommand("train", "Train a model on a built-in task, or go on with it");
  std::string presets;
  for (const std::string& name : attn::training::preset_names()) presets += (presets.empty() ? "" : ", ") + name;
  train->add_option("--preset", options.preset,
                    "sizes and how they are trained: " + presets + " (tiny, whose settings are shown below)");
  train->add_option("--config", options.config,
                    "a file of lines `name = value`, with the names of the options below");
  train->add_option("--folder", options.folder, "where checkpoints and the model go (attn-copy or attn-reverse)");
  train->add_option("--resume", options.resume, "a run, or one of its checkpoints, that goes on");
  attn::training::Plan plan;
  const std::vector<attn::Setting> settings = attn::training::settings(plan);
  attn::apply(settings, attn::training::preset("tiny"), "preset tiny");
  for (const attn::Setting& setting : settings) {
    train
        ->add_option_function<std::string>(
            "--" + setting.name,
            [&options, name = setting.name](const std::string& text) { options.texts[name] = text; }, setting.help)
        ->default_str(setting.get())
        ->type_name("")
        ->group(setting.group);
  }
  return train;
}

/// An option that was given, but as an empty text: perhaps a variable of a script that was never set. After
/// `--folder=` the next option is read as the text.
void refuse_empty(const CLI::App& app, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (app.count(name) == 0) continue;
    const auto text = app[name]->as<std::string>();
    if (text.empty() || text.rfind("--", 0) == 0) {
      attn::refuse_input(name, "a text", text.empty() ? "an empty one" : text);
    }
  }
}

/// Whoever closed a standard stream does not get a model written there: a place that nobody can write to takes its
/// number.
void fill_closed_streams() {
  for (const int stream : {0, 1, 2}) {
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0) return;
  }
}

int run(int argc, char** argv) {
  CLI::App app("Attention, Step by Step: training, checks of your own work and of this machine.", "attn");
  app.set_version_flag("--version", std::string(attn::setup::version));
  app.require_subcommand(0, 1);

  std::string name;
  std::string folder;
  std::string golden = golden_folder(argv[0]).string();
  bool list = false;
  CLI::App* check = app.add_subcommand("check", "Hold your tensors against a golden case");
  check->add_option("CASE", name, "the case, such as 03-scaling/square");
  check->add_option("DIR", folder, "a folder with your tensors, such as weights.npy and output.npy");
  check->add_option("--golden", golden, "the folder of the golden cases")->capture_default_str();
  check->add_flag("--list", list, "show the cases there are");
  std::string one, other;
  attn::DialectsInput sentences;
  CLI::App* dialects = app.add_subcommand("dialects", "Show where implementations of the Transformer differ");
  dialects->add_option("A", one, "a dialect, such as paper");
  dialects->add_option("B", other, "another, such as marian: the two are run on the same weights");
  dialects->add_option("--source", sentences.source, "the sentence that the encoder reads")->capture_default_str();
  dialects->add_option("--target", sentences.target, "the sentence that the decoder writes")
      ->capture_default_str();
  dialects->add_option("--seed", sentences.seed, "of the random weights")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  attn::BenchOptions measure;
  CLI::App* bench = app.add_subcommand("bench", "Measure how fast the engine runs and trains the base model here");
  bench->add_option("--tokens", measure.tokens, "target tokens of a batch, several with commas")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  bench->add_option("--threads", measure.threads, "the most threads; all there are if not given")
      ->check(CLI::Range(1, 4096));
  bench->add_flag("--all-threads-only", measure.all_threads_only, "leave out the runs on one thread");
  bench->add_option("--runs", measure.runs, "how often each is run")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  bench->add_option("--json", measure.json, "a file for every figure");
  attn::TrainOptions training;
  CLI::App* train = add_train(app, training);
  std::string path;
  bool tensors = false;
  CLI::App* info = app.add_subcommand("info", "Show what is in a model, a checkpoint, or a run");
  info->add_option("PATH", path, "a file of safetensors, or a folder of attn train")->required();
  info->add_flag("--tensors", tensors, "list every tensor");
  std::vector<std::filesystem::path> models;
  CLI::App* average = app.add_subcommand("average", "Average the weights of several models");
  average->add_option("OUT", path, "the new model")->required();
  average->add_option("MODEL", models, "files, or checkpoints")->required();
  CLI::App* doctor = app.add_subcommand("doctor", "Say what is found on this machine, and what to install");

  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) throw CLI::RequiredError("A subcommand");
    if (list && !name.empty()) throw CLI::ExtrasError({name});
    if (*check && !list && (name.empty() || folder.empty())) {
      throw CLI::RequiredError("check: CASE and DIR");
    }
    const bool sentences_given = dialects->count("--source") + dialects->count("--target") > 0;
    if (dialects->count("A") > 0 ? dialects->count("B") == 0 : sentences_given) {
      throw CLI::RequiredError("dialects: two dialects, A and B,");
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (*doctor) return attn::doctor_command();
  if (*train || *bench) attn::check_products();
  if (*train) {
    refuse_empty(*train, {"--preset", "--config", "--folder", "--resume"});
    return attn::train_command(training);
  }
  if (*info) return attn::info_command(path, tensors);
  if (*average) return attn::average_command(path, models);
  if (*bench) return attn::bench_command(measure);
  if (*dialects)
    return dialects->count("A") == 0 ? attn::list_dialects_command()
                                     : attn::dialects_command(one, other, sentences);
  return list ? attn::list_command(golden) : attn::check_command(name, folder, golden);
}

}  // namespace

int main(int argc, char** argv) {
  fill_closed_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is then an error like a full disk
  try {
    attn::use_available_threads();
    attn::use_best_kernels(argv);
    const int status = run(argc, argv);
    std::cout.flush();
    if (!std::cout) attn::refuse_input("standard output", "a place that can be written", "an error");
    return status;
  } catch (const std::bad_alloc&) {
    std::cerr << "attn: wanted more memory than there is\n";
    return 2;
  } catch (const fs::filesystem_error& error) {
    std::cerr << "attn: " << error.path1().string() << ": wanted a path that can be used, got "
              << error.code().message() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "attn: " << error.what() << '\n';
    return 2;
  }
}
