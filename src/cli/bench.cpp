#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <locale>
#include <optional>
#include <sstream>

#include "attn/core/blas.hpp"
#include "attn/core/errors.hpp"
#include "attn/core/files.hpp"
#include "attn/core/random.hpp"
#include "attn/core/table.hpp"
#include "attn/engine/backend/cpu.hpp"
#include "attn/engine/transformer.hpp"
#include "attn/training/adam.hpp"
#include "cli/commands.hpp"
#include "setup.hpp"

namespace attn {
namespace {

constexpr std::size_t sentence_length = 32;
constexpr std::size_t vocabulary = 8192;

/// Seconds of the quickest run, and of the one in the middle.
struct Times {
  double best = 0.0, median = 0.0;
};

Times times(std::vector<double> runs) {
  std::sort(runs.begin(), runs.end());
  return {runs.front(), runs[runs.size() / 2]};
}

/// The same products, shared among the threads in another way. The fastest is the floor.
struct Floor {
  engine::CpuWork work;
  const char* name;
  Times forward, step;
};

/// What was measured for one size of batch and one number of threads.
struct Measured {
  std::size_t tokens = 0;
  int threads = 0;
  Times forward, step;
  std::vector<Floor> floors = {{engine::CpuWork::products_only, "blocks", {}, {}},
                               {engine::CpuWork::even_products, "even", {}, {}},
                               {engine::CpuWork::library_products, "library", {}, {}}};
  double peak_bytes = 0.0;
  long faults = 0;  // the most in a step and a forward pass, after the first

  const Floor& fastest(Times Floor::*pass) const {
    return *std::min_element(floors.begin(), floors.end(),
                             [&](const Floor& a, const Floor& b) { return (a.*pass).best < (b.*pass).best; });
  }
};

rusage used() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double peak_bytes() {
#ifdef __APPLE__
  return static_cast<double>(used().ru_maxrss);
#else
  return 1024.0 * static_cast<double>(used().ru_maxrss);
#endif
}

template <class F>
double seconds(const F& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

engine::Batch random_batch(const Config& config, std::size_t tokens) {
  Random random(1);
  const auto sentence = [&] {
    Tokens words(sentence_length);
    for (int& word : words) word = 3 + static_cast<int>(random.bits() % (vocabulary - 3));
    return words;
  };
  std::vector<Tokens> sources, targets;
  for (std::size_t i = 0; i < tokens / sentence_length; ++i) {
    sources.push_back(sentence());
    targets.push_back(sentence());
  }
  return engine::pack(config, sources, targets);
}

/// The paper's base model, as it trains.
class Bench {
 public:
  explicit Bench(const Config& config)
      : config_(config),
        backend_(engine::make_cpu_backend()),
        model_(config, *backend_),
        adam_(model_.parameters(), *backend_) {
    Random random(2);
    model_.parameters().set([&](const Parameter& parameter) { return initial_value(parameter, random); });
  }

  std::string name() const { return backend_->name(); }

  Measured measure(std::size_t tokens, int threads, std::size_t runs) {
    omp_set_num_threads(threads);
    const engine::Batch batch = random_batch(config_, tokens);
    const engine::LossForm form = {0.1, Smoothing::all_classes, config_.pad};
    const double scale = 1.0 / static_cast<double>(tokens);
    const auto step = [&] {
      model_.add_gradients(batch, form, {0.1, 1, static_cast<std::uint32_t>(adam_.updates()), 0, scale});
      adam_.update(1e-5);
    };
    const auto forward = [&] { model_.loss(batch, form); };
    model_.reserve(batch);
    // What is allocated once is allocated now, and the clock's own pages are read for the first time.
    seconds(step), seconds(forward), seconds(step);
    Measured m;
    m.tokens = tokens, m.threads = threads;
    m.peak_bytes = peak_bytes();  // before OpenBLAS's own threads take memory for their products
    std::vector<double> forwards, steps;
    std::vector<std::vector<double>> forward_floors(m.floors.size()), step_floors(m.floors.size());
    for (std::size_t run = 0; run < runs; ++run) {  // in turns, so that what disturbs one disturbs the other
      const long before = used().ru_minflt;
      steps.push_back(seconds(step));
      forwards.push_back(seconds(forward));
      m.faults = std::max(m.faults, used().ru_minflt - before);
      for (std::size_t i = 0; i < m.floors.size(); ++i) {
        engine::set_cpu_work(*backend_, m.floors[i].work);
        step_floors[i].push_back(seconds(step));
        forward_floors[i].push_back(seconds(forward));
      }
      engine::set_cpu_work(*backend_, engine::CpuWork::all);
      backend_->zero(model_.parameters().gradients());  // what the products alone have left there means nothing
    }
    m.forward = times(forwards), m.step = times(steps);
    for (std::size_t i = 0; i < m.floors.size(); ++i) {
      m.floors[i].forward = times(forward_floors[i]), m.floors[i].step = times(step_floors[i]);
    }
    return m;
  }

 private:
  Config config_;
  std::unique_ptr<engine::Backend> backend_;
  engine::Transformer model_;
  training::Adam adam_;
};

std::string rate(const Measured& m, const Times& t) { return fixed(static_cast<double>(m.tokens) / t.best, 0); }

std::string share(const Times& floor, const Times& all) { return fixed(floor.best / all.best, 3); }

std::string json(const std::vector<Measured>& all, const std::string& machine) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << "{\n  \"attn\": \"" << setup::version << "\",\n  \"compiler\": \"" << setup::compiler
      << "\",\n  \"blas\": \"" << machine
      << "\",\n  \"model\": \"base, V 8192, sentences of 32 tokens\",\n  \"runs\": [";
  for (const Measured& m : all) {
    const auto field = [&](const char* name, const Times& t) {
      out << ", \"" << name << "\": {\"best_s\": " << t.best << ", \"median_s\": " << t.median << "}";
    };
    out << (&m == all.data() ? "\n" : ",\n") << "    {\"target_tokens\": " << m.tokens
        << ", \"threads\": " << m.threads;
    field("forward", m.forward), field("step", m.step);
    for (const Floor& floor : m.floors) {
      field((std::string("forward_floor_") + floor.name).c_str(), floor.forward);
      field((std::string("step_floor_") + floor.name).c_str(), floor.step);
    }
    out << ", \"peak_bytes\": " << m.peak_bytes << ", \"page_faults\": " << m.faults << "}";
  }
  out << "\n  ]\n}\n";
  return out.str();
}

void print(const std::vector<Measured>& all) {
  Table table(
      {"tokens", "threads", "forward tok/s", "of its floor", "step tok/s", "of its floor", "peak MB", "faults"});
  for (const Measured& m : all) {
    table.add({std::to_string(m.tokens), std::to_string(m.threads), rate(m, m.forward),
               share(m.fastest(&Floor::forward).forward, m.forward), rate(m, m.step),
               share(m.fastest(&Floor::step).step, m.step), fixed(m.peak_bytes / 1e6, 0),
               std::to_string(m.faults)});
  }
  table.print(std::cout);
}

/// How much slower than the fastest way each way of sharing the products is.
void print_floors(const std::vector<Measured>& all) {
  Table table({"tokens", "threads", "the same products, cut", "forward tok/s", "step tok/s"});
  for (const Measured& m : all) {
    for (const Floor& floor : m.floors) {
      table.add({std::to_string(m.tokens), std::to_string(m.threads), floor.name, rate(m, floor.forward),
                 rate(m, floor.step)});
    }
  }
  std::cout << '\n';
  table.print(std::cout);
}

}  // namespace

int bench_command(const BenchOptions& options) {
  Config config;
  config.vocabulary = vocabulary;
  const int most_threads = options.threads > 0 ? options.threads : omp_get_max_threads();
  for (const std::size_t tokens : options.tokens) {
    if (tokens == 0 || tokens % sentence_length != 0) {
      refuse_input("--tokens", "whole sentences of 32 tokens", std::to_string(tokens));
    }
  }
  Bench bench(config);
  std::cerr << bench.name()
            << "\nThe base model (d_model 512, 6 + 6 layers, V 8192), sentences of 32 tokens; best of "
            << options.runs << " runs\n";
  std::vector<Measured> all;
  std::vector<std::size_t> sizes = options.tokens;
  std::sort(sizes.begin(), sizes.end());  // the peak of memory only grows
  for (const std::size_t tokens : sizes) {
    for (const int threads : most_threads == 1 ? std::vector{1} : std::vector{1, most_threads}) {
      if (options.all_threads_only && threads != most_threads) continue;
      std::cerr << "  " << tokens << " tokens, " << threads << (threads == 1 ? " thread ..." : " threads ...")
                << '\n';
      all.push_back(bench.measure(tokens, threads, options.runs));
    }
  }
  print(all);
  print_floors(all);
  if (!options.json.empty()) write_file(options.json, json(all, bench.name()));
  return 0;
}

}  // namespace attn
