#include "attn/training/checkpoint.hpp"

#include <omp.h>

#include <memory>

#include "attn/core/files.hpp"
#include "attn/core/random.hpp"
#include "attn/engine/backend/cpu.hpp"
#include "attn/formats/safetensors.hpp"
#include "attn/training/plan.hpp"
#include "matrices.hpp"
#include "nobody.hpp"
#include "scratch.hpp"

using namespace attn;
using namespace attn::training;
using attn::tests::Scratch;
namespace fs = std::filesystem;

namespace {

/// A small plan in which everything random is on.
Plan small_plan() {
  Plan plan;
  apply(settings(plan),
        {{"d_model", "8"},
         {"d_ff", "12"},
         {"h", "2"},
         {"encoder_layers", "1"},
         {"decoder_layers", "1"},
         {"longest", "6"},
         {"letters", "6"},
         {"pairs", "40"},
         {"validation_pairs", "5"},
         {"tokens", "64"},
         {"accumulate", "2"},
         {"average", "0.9"},
         {"warmup", "10"}},
        "test");
  complete(plan);
  return plan;
}

struct Session {
  explicit Session(const Plan& plan) : pairs(training_pairs(plan)), model(plan.model, *backend) {
    Random random(plan.trainer.seed);
    model.parameters().set([&](const Parameter& p) { return initial_value(p, random); });
    trainer = std::make_unique<Trainer>(model, *backend, pairs, plan.trainer);
  }
  void updates(int count) {
    for (int i = 0; i < count; ++i) trainer->update();
  }
  fs::path write(const fs::path& folder, const Run& run = {}) {
    return write_checkpoint(folder, model, *backend, *trainer, run);
  }
  std::unique_ptr<engine::Backend> backend = engine::make_cpu_backend();
  Pairs pairs;
  engine::Transformer model;
  std::unique_ptr<Trainer> trainer;
};

void check_same_files(const fs::path& a, const fs::path& b) {
  for (const char* name : {"model.safetensors", "training.safetensors"}) {
    INFO(name);
    CHECK(read_file(a / name) == read_file(b / name));
  }
}

/// Why a checkpoint is refused after something was done to it.
template <class F>
std::string refused(const F& damage) {
  const Scratch scratch;
  Session session(small_plan());
  session.updates(1);
  const fs::path checkpoint = session.write(scratch.path());
  damage(checkpoint);
  const std::string all = tests::complaint([&] { read_checkpoint(checkpoint); });
  const std::string path = checkpoint.string();
  return all.rfind(path, 0) == 0 ? all.substr(path.size()) : all;
}

}  // namespace

// OpenNMT-py 617, PR 2520; joeynmt 125; marian-dev 64: a training that goes on without Adam's means, or its step.
TEST_CASE("to go on gives the same bits as never having stopped, with any number of threads") {
  const Scratch scratch;
  Run run;
  run.settings = {{"seed", "1"}};
  run.history = {{2, 2.5, 2.25}};
  run.waited = 1, run.loss_sum = 12.3456789, run.loss_tokens = 17;
  Session whole(small_plan());
  whole.updates(23);
  const fs::path at_once = whole.write(scratch / "whole", run);
  fs::path last;
  const int threads = omp_get_max_threads();
  for (const int count : {5, 7, 11}) {  // three sessions, each in a new model
    omp_set_num_threads(count % 4);
    Session part(small_plan());
    if (!last.empty()) restore(read_checkpoint(last), part.model, *part.backend, *part.trainer);
    part.updates(count);
    last = part.write(scratch / "parts", run);
  }
  omp_set_num_threads(threads);
  CHECK(at_once.filename() == "update-00000023");
  check_same_files(at_once, last);
  // And it was not all the same anyway.
  Session forgetful(small_plan());
  load(read_model(scratch / "parts/update-00000012/model.safetensors"), forgetful.model, *forgetful.backend);
  forgetful.updates(11);
  CHECK(read_file(at_once / "model.safetensors") !=
        read_file(forgetful.write(scratch / "forgetful", run) / "model.safetensors"));
}

TEST_CASE("a checkpoint comes back as it was") {
  const Scratch scratch;
  Session session(small_plan());
  session.updates(3);
  Run run;
  Plan plan = small_plan();
  run.settings = texts_of(settings(plan));
  run.history = {{1, 3.25, 0.1 + 0.2}, {2, 1e-300, 7.0}};
  run.waited = 4, run.loss_sum = 0.1, run.loss_tokens = 5000000000;  // a long way between two validations
  const Checkpoint back = read_checkpoint(session.write(scratch.path(), run));
  CHECK(back.progress.updates == 3);
  CHECK(back.progress.epoch == session.trainer->progress().epoch);
  CHECK(back.progress.batch == session.trainer->progress().batch);
  CHECK(back.run.settings == run.settings);
  REQUIRE(back.run.history.size() == 2);
  CHECK(back.run.history[0].validation == 0.1 + 0.2);
  CHECK(back.run.history[1].training == 1e-300);
  CHECK(back.run.best == 0.1 + 0.2);
  CHECK(back.run.waited == 4);
  CHECK(back.run.loss_sum == 0.1);
  CHECK(back.run.loss_tokens == 5000000000);
  tests::check_same(to_matrix(back.model.parameters.at("encoder.0.self.W_Q"), "W_Q"),
                    session.model.parameters().value("encoder.0.self.W_Q"));
}

TEST_CASE("what is damaged, missing, or does not belong together is refused with its reason") {
  const auto cut = [](const char* file, std::uintmax_t by) {
    return [=](const fs::path& c) { fs::resize_file(c / file, fs::file_size(c / file) - by); };
  };
  const auto flip = [](const char* file) {
    return [=](const fs::path& c) {
      std::string bytes = read_file(c / file);
      bytes[bytes.size() - 100] ^= 4;
      write_file(c / file, bytes);
    };
  };
  CHECK(refused([](const fs::path&) {}).empty());
  for (const char* file : {"model.safetensors", "training.safetensors"}) {
    for (const std::uintmax_t by : {1, 1000}) CHECK(refused(cut(file, by)).rfind(std::string("/") + file, 0) == 0);
    CHECK(refused(flip(file)).find("damaged") != std::string::npos);
    CHECK(refused([&](const fs::path& c) { fs::remove(c / file); }).rfind(std::string("/") + file, 0) == 0);
    CHECK(refused([&](const fs::path& c) { write_file(c / file, ""); }).rfind(std::string("/") + file, 0) == 0);
  }
  CHECK(refused([](const fs::path& c) {
          fs::copy_file(c / "model.safetensors", c / "training.safetensors", fs::copy_options::overwrite_existing);
        }) ==
        "/training.safetensors: wanted a training of attn, whose metadata say format: attn training 2, got attn "
        "model 1");
  CHECK(refused([](const fs::path& c) {
          ModelFile model = read_model(c / "model.safetensors");
          model.notes["updates"] = "7";
          write_model(c / "model.safetensors", model);
        }) == ": wanted a model after 1 updates, got one after 7");
  CHECK(refused([](const fs::path& c) {
          ModelFile model = read_model(c / "model.safetensors");
          std::get<std::vector<float>>(model.parameters.at("embedding").values)[0] += 1.0f;
          write_model(c / "model.safetensors", model);
        }) == ": wanted the model that was trained here, got another one");
  CHECK(refused([](const fs::path& c) {
          Safetensors file = read_safetensors(c / "training.safetensors");
          file.metadata["batch"] = "-3";
          write_safetensors(c / "training.safetensors", file);
        }) == "/training.safetensors: batch: wanted a whole number from 0 to 2147483648, got -3");
  CHECK(refused([](const fs::path& c) {
          Safetensors file = read_safetensors(c / "training.safetensors");
          file.metadata["epoch"] = "4294967296";
          write_safetensors(c / "training.safetensors", file);
        }) == "/training.safetensors: epoch: wanted a whole number from 0 to 4294967295, got 4294967296");
  CHECK(refused([](const fs::path& c) {
          Safetensors file = read_safetensors(c / "training.safetensors");
          file.metadata.erase("epoch");
          write_safetensors(c / "training.safetensors", file);
        }) == "/training.safetensors: wanted metadata epoch, got none");
}

TEST_CASE("a training that lost a mean, or has one of another shape, does not go on") {
  const Scratch scratch;
  Session session(small_plan());
  session.updates(1);
  Checkpoint checkpoint = read_checkpoint(session.write(scratch.path()));
  Checkpoint other = checkpoint;
  other.tensors.erase("mean.embedding");
  const auto complaint = [&](const Checkpoint& c) {
    return tests::complaint([&] { restore(c, session.model, *session.backend, *session.trainer); });
  };
  CHECK(complaint(other) == "checkpoint: wanted the tensor mean.embedding, got none of that name");
  other = checkpoint;
  other.tensors["square.encoder.0.self.W_Q"] = {{2, 3}, std::vector<float>(6)};
  CHECK(complaint(other) ==
        "checkpoint: square.encoder.0.self.W_Q: wanted float32 of shape (8, 8), got float32 of shape (2, 3)");
  other = checkpoint;
  other.model.config.h = 4;
  CHECK(complaint(other) == "checkpoint: model: wanted h = 2, got 4");
  other = checkpoint;
  other.progress.batch = 1000;
  CHECK(complaint(other).rfind("batch: wanted at most ", 0) == 0);
}

TEST_CASE("a model whose settings or parameters are not right is refused") {
  const Scratch scratch;
  const fs::path path = scratch / "model.safetensors";
  Session session(small_plan());
  const ModelFile good = model_file(session.model, *session.backend, {});
  write_model(path, good);
  const auto refused_after = [&](auto change) {
    Safetensors file = read_safetensors(path);
    change(file);
    const fs::path bad = scratch / "bad.safetensors";
    write_safetensors(bad, file);
    const std::string all = tests::complaint([&] { read_model(bad); });
    return all.substr(std::min(all.size(), bad.string().size()));
  };
  CHECK(refused_after([](Safetensors& f) { f.metadata.erase("format"); }) ==
        ": wanted a model of attn, whose metadata say format: attn model 1, got none");
  CHECK(refused_after([](Safetensors& f) { f.metadata["model.h"] = "3"; }) ==
        ": d_model: wanted a multiple of h = 3, got 8");
  CHECK(refused_after([](Safetensors& f) { f.metadata["model.hats"] = "3"; }) ==
        ": wanted a setting that there is, got hats");
  CHECK(refused_after([](Safetensors& f) { f.metadata["model.encoder_layers"] = "9000"; }) ==
        ": wanted a tensor at least for each layer, got 31 tensors");
  CHECK(refused_after([](Safetensors& f) { f.metadata["model.encoder_layers"] = "2"; }) ==
        ": wanted the parameter encoder.1.self.W_Q, got none of that name");
  CHECK(refused_after([](Safetensors& f) { f.tensors["hat"] = f.tensors["embedding"]; }) ==
        ": wanted the parameters of such a model only, got hat");
  CHECK(refused_after([](Safetensors& f) { f.metadata["model.d_ff"] = "13"; }) ==
        ": encoder.0.feed_forward.W_1: wanted float32 of shape (8, 13), got float32 of shape (8, 12)");
}

TEST_CASE("the newest checkpoints stay, and what a kill left behind goes") {
  const Scratch scratch;
  Session session(small_plan());
  for (int i = 0; i < 4; ++i) session.updates(1), session.write(scratch.path());
  fs::create_directories(scratch / "update-00000009.part/deep");
  write_file(scratch / "notes.txt", "mine");
  fs::create_directories(scratch / "update-later");
  fs::create_directories(scratch / "update-1");
  fs::create_directories(scratch / "update-notes.part");
  write_file(scratch / "notes.part", "mine too");
  write_file(scratch / "model.safetensors-of-mine.part", "mine");
  fs::create_directories(scratch / "model.safetensors.part");
  write_file(scratch / "model.safetensors.1.part", "half of one");
  CHECK(prune(scratch.path(), 2).empty());
  std::vector<std::string> names;
  for (const fs::path& path : checkpoints(scratch.path())) names.push_back(path.filename().string());
  CHECK(names == std::vector<std::string>{"update-00000003", "update-00000004"});
  CHECK_FALSE(fs::exists(scratch / "update-00000009.part"));
  CHECK(fs::exists(scratch / "notes.txt"));
  CHECK_FALSE(fs::exists(scratch / "model.safetensors.1.part"));
  for (const char* name : {"update-later", "update-1", "update-notes.part", "notes.part",
                           "model.safetensors-of-mine.part", "model.safetensors.part"}) {
    CHECK(fs::exists(scratch / name));
  }
  CHECK(checkpoints(scratch / "nothing").empty());
  CHECK(checkpoint_name(123456789) == "update-123456789");
  // By number, not by name.
  for (const char* name : {"update-100000000", "update-99999999"}) {
    write_file(scratch / "long" / name / "training.safetensors", "");
  }
  CHECK(checkpoints(scratch / "long").back().filename() == "update-100000000");
}

TEST_CASE("an old checkpoint that cannot be removed is named, and the others go all the same") {
  const Scratch scratch;
  Session session(small_plan());
  for (int i = 0; i < 4; ++i) session.updates(1), session.write(scratch.path());
  fs::permissions(scratch.path(), fs::perms(0777));
  fs::permissions(scratch / "update-00000001", fs::perms(0555));
  fs::permissions(scratch / "update-00000002", fs::perms(0777));
  std::vector<std::string> complaints, again;
  std::vector<fs::path> left;
  {
    const tests::Nobody nobody;
    complaints = prune(scratch.path(), 2);
    left = checkpoints(scratch.path());
    again = prune(scratch.path(), 2);
  }
  CHECK(complaints == std::vector<std::string>{(scratch / "update-00000001").string() +
                                               ": wanted a folder that can be removed, got Permission denied"});
  CHECK(again == std::vector<std::string>{(scratch / "update-00000001.part").string() +
                                          ": wanted a leftover that can be removed, got Permission denied"});
  CHECK(left == std::vector<fs::path>{scratch / "update-00000003", scratch / "update-00000004"});
  fs::permissions(scratch / "update-00000001.part", fs::perms(0755));
  CHECK(prune(scratch.path(), 2).empty());
  CHECK_FALSE(fs::exists(scratch / "update-00000001.part"));
}

TEST_CASE("a folder that cannot be read is not taken for one without checkpoints") {
  const Scratch scratch;
  fs::permissions(scratch.path(), fs::perms(0311));
  const std::string why = [&] {
    const tests::Nobody nobody;
    return tests::complaint([&] { checkpoints(scratch.path()); });
  }();
  CHECK(why == scratch.path().string() + ": wanted a folder that can be read, got Permission denied");
  fs::permissions(scratch.path(), fs::perms(0755));
}

TEST_CASE("what has the name of a later checkpoint and is none is refused") {
  const Scratch scratch;
  Session session(small_plan());
  session.updates(1);
  session.write(scratch.path());
  fs::create_directories(scratch / "update-00000002");
  for (const char* name : {"update-3", "update-00000003.part", "update-later"})
    fs::create_directories(scratch / name);
  CHECK(tests::complaint([&] { expect_no_strays(scratch.path(), 2); }) == "");
  CHECK(tests::complaint([&] { expect_no_strays(scratch.path(), 1); }) ==
        (scratch / "update-00000002").string() +
            ": wanted a checkpoint, or nothing of that name, got a folder without training.safetensors, which has "
            "to be moved away or removed first");
  fs::remove(scratch / "update-00000002");
  write_file(scratch / "update-00000002", "");
  CHECK(tests::complaint([&] { expect_no_strays(scratch.path(), 0); }) ==
        (scratch / "update-00000002").string() +
            ": wanted a checkpoint, or nothing of that name, got a file, which has to be moved away or removed "
            "first");
  CHECK(tests::complaint([&] { expect_no_strays(scratch / "none", 0); }) == "");
}

// fairseq PR 647, 732: tied weights averaged twice.
TEST_CASE("the average of 1 and 3 is 2, once") {
  const Scratch scratch;
  Session session(small_plan());
  std::vector<fs::path> files;
  for (const double value : {1.0, 3.0}) {
    session.model.parameters().set([&](const Parameter& p) {
      return Matrix(xt::ones<double>({p.rows, p.columns}) * value);
    });
    files.push_back(scratch / std::to_string(value));
    write_model(files.back(), model_file(session.model, *session.backend, {}));
  }
  const ModelFile mean = average_models(files);
  for (const auto& [name, tensor] : mean.parameters) {
    for (const float number : std::get<std::vector<float>>(tensor.values)) CHECK(number == 2.0f);
  }
  session.model.parameters().set([&](const Parameter& p) {
    return Matrix(xt::ones<double>({p.rows, p.columns}) * (p.name == "embedding" ? INFINITY : 1.0));
  });
  write_model(scratch / "endless", model_file(session.model, *session.backend, {}));
  CHECK(tests::complaint([&] { average_models({scratch / "endless"}); }) ==
        (scratch / "endless").string() + ": embedding: wanted numbers, got NaN or infinity");
  Plan plan = small_plan();
  plan.model.dialect.pre_norm = true;
  Session other(plan);
  files.push_back(scratch / "other");
  write_model(files.back(), model_file(other.model, *other.backend, {}));
  CHECK(tests::complaint([&] { average_models(files); }) ==
        files.back().string() + ": wanted pre_norm = no, got yes");
}
