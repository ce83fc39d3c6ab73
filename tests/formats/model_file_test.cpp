#include "attn/formats/model_file.hpp"

#include "attn/core/errors.hpp"
#include "matrices.hpp"
#include "scratch.hpp"

using namespace attn;

namespace {

ModelFile small_model() {
  ModelFile model;
  model.config.vocabulary = 5, model.config.d_model = 4, model.config.d_ff = 6, model.config.h = 2;
  model.config.encoder_layers = model.config.decoder_layers = 1;
  for (const Parameter& p : parameters(model.config)) {
    model.parameters[p.name] = {{p.rows, p.columns}, std::vector<float>(p.size(), 0.25f)};
  }
  model.notes = {{"task", "copy"}};
  return model;
}

}  // namespace

TEST_CASE("a model without one of its settings is refused by the name of the setting") {
  const tests::Scratch scratch;
  const std::string path = (scratch / "m.safetensors").string();
  write_model(path, small_model());
  const Safetensors whole = read_safetensors(path);
  Config config;
  for (const Setting& setting : model_settings(config)) {
    Safetensors file = whole;
    REQUIRE(file.metadata.erase("model." + setting.name) == 1);
    write_safetensors(path, file);
    const std::string wanted = path + ": wanted the setting " + setting.name + ", got none of that name";
    CHECK(tests::complaint([&] { read_model(path); }) == wanted);
    CHECK(tests::complaint([&] { model_without_parameters(SafetensorsFile(path).header(), path); }) == wanted);
  }
}

TEST_CASE("the header alone says the same of a model, and is refused for the same reasons") {
  const tests::Scratch scratch;
  const std::string path = (scratch / "m.safetensors").string();
  write_model(path, small_model());
  const ModelFile all = read_model(path), header = model_without_parameters(SafetensorsFile(path).header(), path);
  Config a = all.config, b = header.config;
  CHECK(texts_of(model_settings(a)) == texts_of(model_settings(b)));
  CHECK(header.notes == SettingTexts{{"task", "copy"}});
  CHECK(header.parameters.empty());
  CHECK(is_model(SafetensorsFile(path).header()));
  const Safetensors whole = read_safetensors(path);
  const auto refused_after = [&](auto change) {
    Safetensors file = whole;
    change(file);
    write_safetensors(path, file);
    const std::string why =
        tests::complaint([&] { model_without_parameters(SafetensorsFile(path).header(), path); });
    CHECK(why == tests::complaint([&] { read_model(path); }));
    return why.substr(std::min(why.size(), path.size()));
  };
  CHECK(refused_after([](Safetensors& f) { f.metadata["format"] = "pt"; }) ==
        ": wanted a model of attn, whose metadata say format: attn model 1, got pt");
  CHECK(refused_after([](Safetensors& f) { f.tensors.erase("embedding"); }) ==
        ": wanted the parameter embedding, got none of that name");
  CHECK(refused_after([](Safetensors& f) { f.tensors["hat"] = f.tensors["embedding"]; }) ==
        ": wanted the parameters of such a model only, got hat");
  CHECK(refused_after([](Safetensors& f) {
          f.tensors["embedding"] = {{5, 4}, std::vector<double>(20)};
        }) == ": embedding: wanted float32 of shape (5, 4), got float64 of shape (5, 4)");
}
