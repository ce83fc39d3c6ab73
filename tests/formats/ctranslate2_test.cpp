// Files made here byte by byte, as the layout says; a real model is run in tests/reference.
#include "attn/formats/ctranslate2.hpp"

#include <bit>
#include <cstdint>

#include "attn/core/errors.hpp"
#include "attn/core/files.hpp"
#include "matrices.hpp"
#include "scratch.hpp"

using namespace attn;

namespace {

constexpr std::size_t d = 16, d_ff = 4, V = 5, target_V = 3;

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xFF);
  return text;
}

std::string text(const std::string& words) { return number(words.size() + 1, 2) + words + '\0'; }

/// A tensor whose numbers are `first`, first + 1, ...
std::string tensor(const std::string& name, const std::vector<std::size_t>& shape, float first = 0) {
  std::string bytes = text(name) + number(shape.size(), 1);
  std::size_t size = 1;
  for (const std::size_t length : shape) bytes += number(length, 4), size *= length;
  bytes += number(4, 1) + number(size, 4);
  for (std::size_t i = 0; i < size; ++i) {
    bytes += number(std::bit_cast<std::uint32_t>(first + static_cast<float>(i)), 4);
  }
  return bytes;
}

using Tensors = std::vector<std::string>;

void add_norm(Tensors& out, const std::string& folder) {
  out.push_back(tensor(folder + "/layer_norm/beta", {d}, 1));
  out.push_back(tensor(folder + "/layer_norm/gamma", {d}, 2));
}

void add_linear(Tensors& out, const std::string& name, std::size_t outputs, std::size_t inputs) {
  out.push_back(tensor(name + "/bias", {outputs}, 10));
  out.push_back(tensor(name + "/weight", {outputs, inputs}, 100));
}

/// One layer on each side.
Tensors tensors() {
  Tensors out = {tensor("encoder/embeddings/weight", {V, d}), tensor("decoder/embeddings/weight", {target_V, d})};
  add_linear(out, "decoder/projection", target_V, d);
  for (const std::string stack : {"encoder", "decoder"}) {
    const std::string layer = stack + "/layer_0/";
    add_norm(out, layer + "self_attention"), add_norm(out, layer + "ffn"), add_norm(out, stack);
    add_linear(out, layer + "self_attention/linear_0", 3 * d, d);
    add_linear(out, layer + "self_attention/linear_1", d, d);
    add_linear(out, layer + "ffn/linear_0", d_ff, d);
    add_linear(out, layer + "ffn/linear_1", d, d_ff);
  }
  add_norm(out, "decoder/layer_0/attention");
  add_linear(out, "decoder/layer_0/attention/linear_0", d, d);
  add_linear(out, "decoder/layer_0/attention/linear_1", 2 * d, d);
  add_linear(out, "decoder/layer_0/attention/linear_2", d, d);
  return out;
}

std::string file(const Tensors& all, std::uint32_t version = 2,
                 const std::string& specification = "TransformerBase", std::uint32_t revision = 2) {
  std::string bytes = number(version, 4) + text(specification) + number(revision, 4) + number(all.size(), 4);
  for (const std::string& one : all) bytes += one;
  return bytes;
}

std::string refusal(const std::string& bytes) {
  try {
    parse_ctranslate2(bytes, "model.bin");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a model is read: sizes, choices, and every parameter in its place") {
  const ImportedModel model = parse_ctranslate2(file(tensors()), "model.bin");
  CHECK(model.config.vocabulary == V);
  CHECK(model.config.target_vocabulary == target_V);
  CHECK(model.config.d_model == d);
  CHECK(model.config.d_ff == d_ff);
  CHECK(model.config.h == 8);
  CHECK(model.config.encoder_layers == 1);
  CHECK(model.config.decoder_layers == 1);
  CHECK(model.config.dialect.pre_norm);
  const Dialect& dialect = model.config.dialect;
  CHECK(dialect.positions == PositionLayout::halves_t2t);
  CHECK(dialect.first_position == 1);
  CHECK(dialect.epsilon == 1e-5);
  CHECK(dialect.norm == NormForm::standard);
  CHECK((dialect.final_norm && dialect.attention_bias && dialect.output_bias && dialect.scale_embeddings));
  CHECK(dialect.activation == Activation::relu);
  CHECK(dialect.decoder_start == DecoderStart::bos);
  CHECK_FALSE(model.config.tied);
  CHECK(model.parameters.size() == parameters(model.config).size());
  const auto at = [&](const std::string& name) { return model.parameters.at(name); };
  // Rows of the file are outputs: entry (in, out) is 100 + (block d + out) inputs + in.
  CHECK(at("encoder.0.self.W_Q")(2, 3) == 100 + 3 * d + 2);
  CHECK(at("encoder.0.self.W_K")(2, 3) == 100 + (d + 3) * d + 2);
  CHECK(at("encoder.0.self.W_V")(2, 3) == 100 + (2 * d + 3) * d + 2);
  CHECK(at("encoder.0.self.b_V")(0, 1) == 10 + 2 * d + 1);
  CHECK(at("decoder.0.cross.W_Q")(2, 3) == 100 + 3 * d + 2);
  CHECK(at("decoder.0.cross.W_V")(2, 3) == 100 + (d + 3) * d + 2);
  CHECK(at("decoder.0.cross.b_K")(0, 1) == 11);
  CHECK(at("decoder.0.feed_forward.W_2")(3, 15) == 100 + 15 * d_ff + 3);
  CHECK(at("encoder.0.self.W_O")(2, 3) == 100 + 3 * d + 2);
  CHECK(at("decoder.0.cross.W_O")(2, 3) == 100 + 3 * d + 2);
  CHECK(at("decoder.0.feed_forward.W_1")(15, 3) == 100 + 3 * d + 15);
  CHECK(at("encoder.0.feed_forward.norm.gamma")(0, 1) == 3);
  CHECK(at("encoder.0.feed_forward.norm.beta")(0, 1) == 2);
  CHECK(at("encoder.norm.gamma")(0, 1) == 3);
  CHECK(at("decoder.0.cross.norm.beta")(0, 1) == 2);
  CHECK(at("projection.W")(2, 15) == 100 + 2 * d + 15);  // a row for each token: not turned
  CHECK(at("projection.b")(0, 2) == 12);
}

TEST_CASE("from a file on disk, and a file that is missing") {
  const tests::Scratch scratch;
  write_file(scratch / "model.bin", file(tensors()));
  CHECK(read_ctranslate2(scratch / "model.bin").config.h == 8);
  CHECK_THROWS_AS(read_ctranslate2(scratch / "none.bin"), InputError);
}

TEST_CASE("TransformerBig has 16 heads") {
  CHECK(parse_ctranslate2(file(tensors(), 2, "TransformerBig"), "m").config.h == 16);
}

TEST_CASE("what is no such file, or another version, is refused with the reason") {
  CHECK(refusal("") == "model.bin: wanted 4 bytes of the version at byte 0, got 0 until the end of the file");
  CHECK(refusal(file(tensors(), 6)) == "model.bin: wanted version 2, got 6");
  CHECK(refusal(file(tensors(), 2, "WhisperSpec")) ==
        "model.bin: wanted the specification TransformerBase or TransformerBig, got WhisperSpec");
  CHECK(refusal(file(tensors(), 2, "TransformerBase", 5)) == "model.bin: wanted revision 2, got 5");
  CHECK(refusal("PK\3\4 a zip file, or anything else").find("model.bin: wanted version 2, got ") == 0);
  CHECK(refusal(file(tensors()) + "x") == "model.bin: wanted nothing after the last tensor, got 1 bytes");
}

TEST_CASE("cut at every place, it is refused") {
  const std::string whole = file(tensors());
  for (std::size_t length = 0; length < whole.size(); length += length < 400 ? 1 : 97) {
    INFO("cut to " << length << " bytes");
    CHECK_FALSE(refusal(whole.substr(0, length)).empty());
  }
}

TEST_CASE("any byte may be damaged: it is read or refused, and nothing else happens") {
  const std::string whole = file(tensors());
  for (std::size_t at = 0; at < whole.size(); at += at < 600 ? 1 : 53) {
    for (const char damage : {'\0', '\x01', '\x7F', '\xFF'}) {
      std::string bytes = whole;
      bytes[at] = damage;
      CHECK_NOTHROW(refusal(bytes));
    }
  }
}

TEST_CASE("tensors that are missing, unknown, twice there or of another shape are refused by name") {
  const auto without = [](const std::string& name) {
    Tensors all;
    for (const std::string& one : tensors()) {
      if (one.find(name + '\0') == std::string::npos) all.push_back(one);
    }
    return all;
  };
  CHECK(refusal(file(without("decoder/projection/bias"))) ==
        "model.bin: wanted a tensor decoder/projection/bias, got none");
  CHECK(refusal(file(without("encoder/embeddings/weight"))) ==
        "model.bin: wanted a tensor encoder/embeddings/weight, got none");
  Tensors more = tensors();
  more.push_back(tensor("encoder/layer_0/adapter", {d}));
  CHECK(refusal(file(more)) ==
        "model.bin: wanted no tensors but those of such a model, got encoder/layer_0/adapter");
  more.back() = tensor("encoder/layer_7/ffn/linear_0/weight", {d_ff, d});
  CHECK(refusal(file(more)).find("got encoder/layer_7/ffn/linear_0/weight") != std::string::npos);
  more.back() = tensor("decoder/projection/bias", {target_V});
  CHECK(refusal(file(more)) == "model.bin: wanted each tensor once, got decoder/projection/bias twice");
  Tensors other = without("decoder/projection/bias");
  other.push_back(tensor("decoder/projection/bias", {target_V + 1}));
  CHECK(refusal(file(other)) == "model.bin: wanted decoder/projection/bias of shape (3,), got (4,)");
  other.back() = tensor("decoder/projection/bias", {1, target_V});
  CHECK(refusal(file(other)).empty());
  Tensors narrow = without("encoder/embeddings/weight");
  narrow.push_back(tensor("encoder/embeddings/weight", {V, 12}));
  CHECK(refusal(file(narrow)) ==
        "model.bin: wanted d_model to be a multiple of 8, the heads of its specification, got 12");
}

TEST_CASE("sizes of nothing, a matrix that is a vector, and names that cannot be read") {
  const auto with = [](const std::string& name, const std::string& tensor_bytes) {
    Tensors all;
    for (const std::string& one : tensors())
      all.push_back(one.find(name + '\0') == std::string::npos ? one : tensor_bytes);
    return refusal(file(all));
  };
  CHECK(with("encoder/embeddings/weight", tensor("encoder/embeddings/weight", {0, d})) ==
        "model.bin: wanted encoder/embeddings/weight to have rows and columns, got (0, 16)");
  CHECK(with("encoder/layer_0/ffn/linear_0/weight", tensor("encoder/layer_0/ffn/linear_0/weight", {0, d})) ==
        "model.bin: wanted encoder/layer_0/ffn/linear_0/weight to have rows and columns, got (0, 16)");
  CHECK(with("decoder/layer_0/attention/linear_0/weight",
             tensor("decoder/layer_0/attention/linear_0/weight", {d * d})) ==
        "model.bin: wanted decoder/layer_0/attention/linear_0/weight of shape (16, 16), got (256,)");
  CHECK(with("decoder/layer_0/attention/linear_0/weight", tensor("decoder\x1b[31m", {d})).find("other bytes") !=
        std::string::npos);
  const std::string empty_name = number(0, 2);
  CHECK(refusal(number(2, 4) + empty_name).find("that ends with a NUL") != std::string::npos);
}

TEST_CASE("numbers of another size, and counts that do not agree with the shape") {
  std::string half = text("t") + number(1, 1) + number(3, 4) + number(2, 1) + number(3, 4) + "abcdef";
  CHECK(refusal(file({half})) == "model.bin: wanted t in numbers of 4 bytes, got 2");
  std::string count = text("t") + number(1, 1) + number(3, 4) + number(4, 1) + number(2, 4) + "abcdefgh";
  CHECK(refusal(file({count})) == "model.bin: wanted t to hold 3 numbers, as its shape says, got 2");
  std::string huge = text("t") + number(2, 1) + number(65536, 4) + number(65535, 4) + number(4, 1) +
                     number(std::uint64_t{65536} * 65535, 4);
  CHECK(refusal(file({huge})).find("bytes of t at byte") != std::string::npos);
  std::string cube =
      text("t") + number(3, 1) + number(1, 4) + number(1, 4) + number(1, 4) + number(4, 1) + number(1, 4) + "abcd";
  CHECK(refusal(file({cube})) == "model.bin: wanted t to be a vector or a matrix, got rank 3");
}
