// attn info: what it says of a file, and how little of the file it reads for that.
#include <cstring>

#include "attn/core/files.hpp"
#include "attn/formats/model_file.hpp"
#include "attn/formats/npy.hpp"
#include "catch.hpp"
#include "cli/program.hpp"
#include "cli/progress.hpp"
#include "comma_locale.hpp"
#include "peak_memory.hpp"
#include "scratch.hpp"

using attn::tests::check_refused;
using attn::tests::has;
using attn::tests::Result;
using attn::tests::run;
using attn::tests::Scratch;
namespace fs = std::filesystem;

namespace {

using Floats = std::vector<float>;

std::string quoted(const fs::path& path) { return "'" + path.string() + "'"; }

/// A file of a header and data, which may be longer than what is written of them.
void write(const fs::path& path, const std::string& header, const std::string& data, std::uint64_t data_size) {
  const std::uint64_t length = header.size();
  std::string start(8, '\0');
  std::memcpy(start.data(), &length, 8);
  attn::write_file(path, start + header + data);
  fs::resize_file(path, 8 + length + data_size);
}

std::string bytes_of(const std::vector<double>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double)};
}

attn::ModelFile small_model() {
  attn::ModelFile model;
  model.config.vocabulary = 5, model.config.d_model = 4, model.config.d_ff = 6, model.config.h = 2;
  model.config.encoder_layers = model.config.decoder_layers = 1;
  for (const attn::Parameter& p : parameters(model.config)) {
    model.parameters[p.name] = {{p.rows, p.columns}, Floats(p.size(), 0.25f)};
  }
  model.notes = {{"updates", "7"}};
  return model;
}

}  // namespace

TEST_CASE("info: types that cannot be read are listed, without the size of their numbers") {
  const Scratch scratch;
  const fs::path path = scratch / "types.safetensors";
  write(
      path,
      R"({"__metadata__":{"framework":"pt"},"a":{"dtype":"F8_E4M3","shape":[2,3],"data_offsets":[0,6]},)"
      R"("b":{"dtype":"U16","shape":[1],"data_offsets":[6,8]},"c":{"dtype":"C64","shape":[],"data_offsets":[8,16]},)"
      R"("d":{"dtype":"F64","shape":[2],"data_offsets":[16,32]},"e":{"dtype":"NEW9","shape":[7],"data_offsets":[32,35]}})",
      std::string(16, '\0') + bytes_of({3, 4}) + "new", 35);
  const Result plain = run("attn info " + quoted(path));
  CHECK(plain.out == path.string() + ": 17 numbers in 5 tensors\n  framework = pt\n");
  const Result all = run("attn info --tensors " + quoted(path));
  CHECK(all.status == 0);
  CHECK(has(all.out,
            "  tensor  shape   type     rms\n"
            "  a       (2, 3)  F8_E4M3  -\n"
            "  b       (1,)    U16      -\n"
            "  c       ()      C64      -\n"
            "  d       (2,)    F64      3.5355\n"  // the root of (9 + 16) / 2
            "  e       (7,)    NEW9     -\n"));
  write(path, R"({"on":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", "\7", 1);
  check_refused("attn info --tensors " + quoted(path),
                "tensor \"on\": wanted bools, bytes of 0 or 1, got a byte of 7");
}

TEST_CASE("info: a model, from its header alone") {
  const Scratch scratch;
  const fs::path path = scratch / "model.safetensors";
  const attn::ModelFile model = small_model();
  write_model(path, model);
  const Result plain = run("attn info " + quoted(path));
  CHECK(plain.status == 0);
  CHECK(plain.out.rfind(std::to_string(parameter_count(model.config)) + " parameters in " +
                            std::to_string(model.parameters.size()) + " tensors\n",
                        0) == 0);
  CHECK(has(plain.out, "\n  d_ff = 6\n"));
  CHECK(has(plain.out, "\n  (updates: 7)\n"));
  CHECK(has(run("attn info --tensors " + quoted(path)).out,
            "  embedding                          (5, 4)  F32   0.2500\n"));
  attn::Safetensors file = attn::read_safetensors(path);
  file.metadata.erase("model.pre_norm");
  write_safetensors(path, file);
  check_refused("attn info " + quoted(path), "wanted the setting pre_norm, got none of that name");
  fs::resize_file(path, fs::file_size(path) - 1);
  check_refused("attn info " + quoted(path), "within");
}

TEST_CASE("info: six gigabytes are not read, neither of a file nor of a checkpoint") {
  const Scratch scratch;
  constexpr std::uint64_t huge = 6'000'000'000;
  const std::string end = std::to_string(24 + huge);
  const fs::path checkpoint = scratch / "run/update-00000007";
  write_model(checkpoint / "model.safetensors", small_model());
  write(checkpoint / "training.safetensors",
        R"({"__metadata__":{"attn.checksum":"0","format":"attn training 2","updates":"7","epoch":"2","batch":"3",)"
        R"("setting.seed":"5"},"history":{"dtype":"F64","shape":[1,3],"data_offsets":[0,24]},)"
        R"("mean":{"dtype":"F32","shape":[1500000000],"data_offsets":[24,)" +
            end + "]}}",
        bytes_of({7, 1.5, 0.0}), 24 + huge);
  const Result run_info = run("attn info " + quoted(scratch / "run"));
  INFO(run_info.err);
  CHECK(run_info.out == checkpoint.string() + ": a training after 7 updates, 3 batches into epoch 2\n" +
                            std::to_string(parameter_count(small_model().config)) +
                            " parameters\n  seed = 5\n"
                            "  updates  training loss  validation loss  perplexity\n"
                            "        7         1.5000           0.0000      1.0000\n");
  const fs::path file = scratch / "huge.safetensors";
  write(file,
        R"({"few":{"dtype":"F64","shape":[3],"data_offsets":[0,24]},"many":{"dtype":"U8","shape":[6000000000],)"
        R"("data_offsets":[24,)" +
            end + "]}}",
        bytes_of({2, 2, 2}), 24 + huge);
  CHECK(has(run("attn info " + quoted(file)).out, ": 6000000003 numbers in 2 tensors\n"));
  const Result tensors = run("attn info --tensors " + quoted(file));
  CHECK(has(tensors.out, "(3,)           F64   2.0000"));
  CHECK(has(tensors.out, "(6000000000,)  U8    -"));
  CHECK(attn::tests::peak_megabytes(RUSAGE_CHILDREN) < 2000);
  fs::resize_file(file, fs::file_size(file) + 1);
  check_refused("attn info " + quoted(file), "wanted nothing after the last tensor, got 1 bytes");
}

TEST_CASE("info: what is no safetensors file is named, with what to do") {
  const Scratch scratch;
  const auto refused = [&](const std::string& name, const std::string& bytes, const std::string& why) {
    attn::write_file(scratch / name, bytes);
    check_refused("attn info " + quoted(scratch / name), name + ": wanted a .safetensors file" + why);
  };
  refused("empty", "", ", got an empty file");
  refused("page", "<!DOCTYPE html><html></html>",
          " (what was downloaded may be a page about the file), got an HTML page");
  refused("pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
          " (git lfs pull brings it), got a pointer of Git LFS to the file");
  attn::write_npy(scratch / "x.npy", {{1}, Floats{1}});
  refused("y.npy", attn::read_file(scratch / "x.npy"),
          " (in Python, safetensors.numpy.save_file() writes one from "
          "what numpy.load() reads), got a NumPy array (.npy)");
  // Damaged, but a safetensors file: its own fault is told.
  write_model(scratch / "model.safetensors", small_model());
  const std::string whole = attn::read_file(scratch / "model.safetensors");
  attn::write_file(scratch / "short.safetensors", whole.substr(0, 100));
  check_refused("attn info " + quoted(scratch / "short.safetensors"), "wanted a header of ");
  attn::write_file(scratch / "folder/part-2.safetensors", whole);
  attn::write_file(scratch / "folder/part-1.safetensors", whole);
  check_refused("attn info " + quoted(scratch / "folder"), "such as part-1.safetensors");
  CHECK(run("attn info /dev/stdin", "cat " + quoted(scratch / "model.safetensors") + " | ").status == 0);
}

TEST_CASE("the time that is left has no points between thousands") {
  const attn::tests::CommaLocale comma;
  CHECK(attn::clock_text(7) == "0:07");
  CHECK(attn::clock_text(754) == "12:34");
  CHECK(attn::clock_text(3 * 3600 + 4 * 60 + 5) == "3:04:05");
  CHECK(attn::clock_text(1234 * 3600.0) == "1234:00:00");
}
