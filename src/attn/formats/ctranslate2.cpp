#include "attn/formats/ctranslate2.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>
#include <vector>

#include "attn/core/errors.hpp"
#include "attn/core/files.hpp"
#include "attn/core/shape.hpp"
#include "attn/core/tensor.hpp"

namespace attn {
namespace {

/// The tensors of a file by their names there.
using Tensors = std::map<std::string, Tensor>;

constexpr std::uint32_t version = 2;
constexpr std::uint32_t revision = 2;
constexpr std::uint32_t most_tensors = 100000;

// ---- The bytes: little-endian numbers, and strings with their lengths before them -------------------------

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  std::string_view take(std::uint64_t count, const std::string& what) {
    if (count > bytes_.size() - at_) {
      refuse_input(name_, std::to_string(count) + " bytes of " + what + " at byte " + std::to_string(at_),
                   std::to_string(bytes_.size() - at_) + " until the end of the file");
    }
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }

  template <class Number>
  Number number(const std::string& what) {
    std::uint64_t value = 0;
    const std::string_view bytes = take(sizeof(Number), what);
    for (std::size_t i = sizeof(Number); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return static_cast<Number>(value);
  }

  /// The length counts a NUL at the end.
  std::string text(const std::string& what) {
    const auto length = number<std::uint16_t>("the length of " + what);
    const std::string_view bytes = take(length, what);
    if (length == 0 || bytes.find('\0') != length - std::size_t{1}) {
      refuse_input(name_, what + " that ends with a NUL at byte " + std::to_string(at_ - 1), "something else");
    }
    const std::string_view words = bytes.substr(0, length - std::size_t{1});
    const bool readable = std::all_of(words.begin(), words.end(), [](char c) { return c > ' ' && c <= '~'; });
    if (!readable) refuse_input(name_, what + " in letters, digits and signs", "other bytes");
    return std::string(words);
  }

  std::size_t left() const { return bytes_.size() - at_; }

  [[noreturn]] void refuse(const std::string& wanted, const std::string& got) const {
    refuse_input(name_, wanted, got);
  }

 private:
  std::string_view bytes_;
  std::string name_;
  std::size_t at_ = 0;
};

Tensor read_tensor(Reader& in, const std::string& name) {
  Tensor tensor;
  const auto rank = in.number<std::uint8_t>("the rank of " + name);
  if (rank < 1 || rank > 2) in.refuse(name + " to be a vector or a matrix", "rank " + std::to_string(rank));
  std::uint64_t size = 1;
  for (int i = 0; i < rank; ++i) {
    tensor.shape.push_back(in.number<std::uint32_t>("the shape of " + name));
    size *= tensor.shape.back();
  }
  const auto item_size = in.number<std::uint8_t>("the size of a number of " + name);
  if (item_size != 4) in.refuse(name + " in numbers of 4 bytes", std::to_string(item_size));
  const auto count = in.number<std::uint32_t>("the count of numbers of " + name);
  if (count != size) {
    in.refuse(name + " to hold " + std::to_string(size) + " numbers, as its shape says", std::to_string(count));
  }
  if (std::uint64_t{4} * count > in.left())
    in.take(std::uint64_t{4} * count, name);  // refuses before there is room
  std::vector<float> values(count);
  for (float& value : values) value = std::bit_cast<float>(in.number<std::uint32_t>(name));
  tensor.values = std::move(values);
  return tensor;
}

/// The whole file; `heads` becomes what its specification stands for.
Tensors read_tensors(Reader& in, std::size_t& heads) {
  const auto got_version = in.number<std::uint32_t>("the version");
  if (got_version != version) in.refuse("version " + std::to_string(version), std::to_string(got_version));
  const std::string specification = in.text("the specification");
  heads = specification == "TransformerBase" ? 8 : specification == "TransformerBig" ? 16 : 0;
  if (heads == 0) in.refuse("the specification TransformerBase or TransformerBig", specification);
  const auto got_revision = in.number<std::uint32_t>("the revision");
  if (got_revision != revision) in.refuse("revision " + std::to_string(revision), std::to_string(got_revision));
  const auto count = in.number<std::uint32_t>("the count of tensors");
  if (count > most_tensors) {
    in.refuse("at most " + std::to_string(most_tensors) + " tensors", std::to_string(count));
  }
  Tensors tensors;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string name = in.text("the name of tensor " + std::to_string(i));
    if (!tensors.emplace(name, read_tensor(in, name)).second) in.refuse("each tensor once", name + " twice");
  }
  if (in.left() != 0) in.refuse("nothing after the last tensor", std::to_string(in.left()) + " bytes");
  return tensors;
}

// ---- The names: ours, and where the file keeps the same thing ---------------------------------------------

/// A part of a tensor of the file: block `part` of `parts` blocks of rows, turned if it is a linear map.
struct Place {
  std::string tensor;
  std::size_t part = 0;
  std::size_t parts = 1;
  bool turned = false;
};

/// Where a map of attention is: self-attention fuses W_Q, W_K, W_V; cross-attention fuses W_K, W_V.
Place attention_place(const std::string& folder, bool cross, const std::string& map) {
  const bool matrix = map[0] == 'W';
  const std::string kind = matrix ? "/weight" : "/bias";
  const std::size_t number = std::string("QKVO").find(map.back());
  if (number == 3) return {folder + (cross ? "/linear_2" : "/linear_1") + kind, 0, 1, matrix};
  if (!cross) return {folder + "/linear_0" + kind, number, 3, matrix};
  if (number == 0) return {folder + "/linear_0" + kind, 0, 1, matrix};
  return {folder + "/linear_1" + kind, number - 1, 2, matrix};
}

std::vector<std::string> split_at_dots(const std::string& name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (c == '.') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

/// Where the file keeps a parameter.
Place place_of(const std::string& parameter) {
  if (parameter == "embedding") return {"encoder/embeddings/weight"};
  if (parameter == "target_embedding") return {"decoder/embeddings/weight"};
  if (parameter == "projection.W") return {"decoder/projection/weight"};
  if (parameter == "projection.b") return {"decoder/projection/bias"};
  const std::vector<std::string> words = split_at_dots(parameter);  // encoder.0.self.W_Q, encoder.norm.gamma
  const std::string& stack = words[0];
  if (words[1] == "norm") return {stack + "/layer_norm/" + words[2]};
  const std::string part = words[2] == "self" ? "self_attention" : words[2] == "cross" ? "attention" : "ffn";
  const std::string folder = stack + "/layer_" + words[1] + "/" + part;
  if (words[3] == "norm") return {folder + "/layer_norm/" + words[4]};
  if (part != "ffn") return attention_place(folder, words[2] == "cross", words[3]);
  const std::string number = words[3].back() == '1' ? "/linear_0" : "/linear_1";
  const bool matrix = words[3][0] == 'W';
  return {folder + number + (matrix ? "/weight" : "/bias"), 0, 1, matrix};
}

/// Takes a parameter out of its tensor.
Matrix take(const Tensor& tensor, const Place& place, const Parameter& parameter, const std::string& file) {
  const auto& values = std::get<std::vector<float>>(tensor.values);
  const std::size_t rows = place.turned ? parameter.columns : parameter.rows;
  const std::size_t columns = place.turned ? parameter.rows : parameter.columns;
  const bool vector = rows == 1 && tensor.shape.size() == 1;
  const std::vector<std::size_t> wanted =
      vector ? std::vector{place.parts * columns} : std::vector{place.parts * rows, columns};
  if (tensor.shape != wanted) {
    refuse_input(file, place.tensor + " of shape " + shape_text(wanted), shape_text(tensor.shape));
  }
  Matrix block({rows, columns});
  std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(place.part * rows * columns), rows * columns,
              block.begin());
  return place.turned ? transpose(block) : block;
}

/// The layers of a stack: as many as are numbered without a gap.
std::size_t count_layers(const Tensors& tensors, const std::string& stack) {
  std::size_t layers = 0;
  while (tensors.count(stack + "/layer_" + std::to_string(layers) + "/ffn/linear_0/weight") > 0) ++layers;
  return layers;
}

/// The shape of a matrix that must be there.
Shape shape_of(const Tensors& tensors, const std::string& name, const std::string& file) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) refuse_input(file, "a tensor " + name, "none");
  if (found->second.shape.size() != 2) {
    refuse_input(file, name + " to be a matrix", "shape " + shape_text(found->second.shape));
  }
  const Shape shape = {found->second.shape[0], found->second.shape[1]};
  if (shape[0] == 0 || shape[1] == 0) refuse_input(file, name + " to have rows and columns", shape_text(shape));
  return shape;
}

/// What OpenNMT's Transformers of this revision have in common; sizes come from the tensors.
Config config_of(const Tensors& tensors, std::size_t heads, const std::string& file) {
  Config config;
  config.vocabulary = shape_of(tensors, "encoder/embeddings/weight", file)[0];
  config.d_model = shape_of(tensors, "encoder/embeddings/weight", file)[1];
  config.target_vocabulary = shape_of(tensors, "decoder/embeddings/weight", file)[0];
  config.d_ff = shape_of(tensors, "encoder/layer_0/ffn/linear_0/weight", file)[0];
  config.h = heads;
  config.encoder_layers = count_layers(tensors, "encoder");
  config.decoder_layers = count_layers(tensors, "decoder");
  config.tied = false;
  Dialect& dialect = config.dialect;
  dialect.name = "ctranslate2";
  dialect.positions = PositionLayout::halves_t2t;
  dialect.first_position = 1;
  dialect.pre_norm = dialect.final_norm = true;
  dialect.epsilon = 1e-5;
  dialect.attention_bias = dialect.output_bias = true;
  return config;
}

}  // namespace

ImportedModel parse_ctranslate2(std::string_view bytes, const std::string& name) {
  Reader in(bytes, name);
  std::size_t heads = 0;
  const Tensors tensors = read_tensors(in, heads);
  ImportedModel model{config_of(tensors, heads, name), {}};
  if (model.config.d_model == 0 || model.config.d_model % heads != 0) {
    refuse_input(name, "d_model to be a multiple of " + std::to_string(heads) + ", the heads of its specification",
                 std::to_string(model.config.d_model));
  }
  std::set<std::string> used;
  for (const Parameter& parameter : parameters(model.config)) {
    const Place place = place_of(parameter.name);
    const auto found = tensors.find(place.tensor);
    if (found == tensors.end()) refuse_input(name, "a tensor " + place.tensor, "none");
    model.parameters[parameter.name] = take(found->second, place, parameter, name);
    used.insert(place.tensor);
  }
  for (const auto& [tensor, value] : tensors) {
    if (used.count(tensor) == 0) refuse_input(name, "no tensors but those of such a model", tensor);
  }
  return model;
}

ImportedModel read_ctranslate2(const std::filesystem::path& path) {
  return parse_ctranslate2(read_file(path), path.string());
}

}  // namespace attn
