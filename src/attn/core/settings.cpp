#include "attn/core/settings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "attn/core/errors.hpp"
#include "attn/core/numbers.hpp"

namespace attn {
namespace {

// So large that nobody has the memory, and so small that the count of all parameters fits into 64 bits.
constexpr std::size_t widest = std::size_t{1} << 24, most_layers = 10000;

std::uint64_t whole(const std::string& name, const std::string& text, std::uint64_t least, std::uint64_t most) {
  const bool open_end = most == std::numeric_limits<std::uint64_t>::max();
  const std::string wanted = open_end
                                 ? "a whole number of 64 bits"
                                 : "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  const std::optional<std::uint64_t> value = parse_whole(text);
  if (!value || *value < least || *value > most) refuse_input(name, wanted, text.empty() ? "nothing" : text);
  return *value;
}

template <class Enum>
Setting choice_setting(std::string name, std::string help, Enum& value, std::vector<std::string> words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return {name, help + ": " + all, [&value, words] { return words.at(static_cast<std::size_t>(value)); },
          [&value, words, name, all](const std::string& text) {
            const auto found = std::find(words.begin(), words.end(), text);
            if (found == words.end()) refuse_input(name, "one of " + all, text);
            value = static_cast<Enum>(found - words.begin());
          }};
}

Setting token_setting(std::string name, std::string help, int& value) {
  return {name, std::move(help), [&value] { return std::to_string(value); },
          [&value, name](const std::string& text) {
            const std::uint64_t token = whole(name, text, 0, std::numeric_limits<int>::max());
            value = static_cast<int>(token);
          }};
}

void add_switches(std::vector<Setting>& all, Dialect& d) {
  all.push_back(choice_setting("positions", "layout of sines and cosines", d.positions,
                               {"interleaved", "halves", "halves_t2t"}));
  all.push_back(count_setting("first_position", "the number of a sentence's first place", d.first_position));
  all.push_back(flag_setting("pre_norm", "the norm before each part, not after the residual", d.pre_norm));
  all.push_back(flag_setting("final_norm", "one more norm after each stack", d.final_norm));
  all.push_back(choice_setting("norm", "what the norm divides by", d.norm, {"standard", "annotated"}));
  all.push_back(number_setting("norm_epsilon", "the norm's epsilon", d.epsilon, 1.0));
  all.push_back(flag_setting("attention_bias", "biases in the four maps of attention", d.attention_bias));
  all.push_back(flag_setting("output_bias", "a bias on the logits", d.output_bias));
  all.push_back(flag_setting("scale_embeddings", "embeddings times √d_model", d.scale_embeddings));
  all.push_back(choice_setting("activation", "of the feed-forward layer", d.activation, {"relu", "swish"}));
  all.push_back(choice_setting("decoder_start", "what the decoder reads first", d.decoder_start,
                               {"bos", "eos", "zero_vector"}));
  all.push_back(flag_setting("attention_dropout", "dropout on the weights of attention too", d.attention_dropout));
  all.push_back(
      flag_setting("feed_forward_dropout", "dropout inside the feed-forward layer too", d.feed_forward_dropout));
  all.push_back(choice_setting("smoothing", "who gets what label smoothing takes", d.smoothing,
                               {"all_classes", "other_classes", "other_classes_but_pad"}));
}

}  // namespace

Setting count_setting(std::string name, std::string help, std::size_t& value, std::size_t least,
                      std::size_t most) {
  return {name, std::move(help), [&value] { return std::to_string(value); },
          [&value, name, least, most](const std::string& text) {
            value = static_cast<std::size_t>(whole(name, text, least, most));
          }};
}

Setting seed_setting(std::string name, std::string help, std::uint64_t& value) {
  return {name, std::move(help), [&value] { return std::to_string(value); },
          [&value, name](const std::string& text) {
            value = whole(name, text, 0, std::numeric_limits<std::uint64_t>::max());
          }};
}

Setting number_setting(std::string name, std::string help, double& value, double below) {
  return {name, std::move(help), [&value] { return exact_text(value); },
          [&value, name, below](const std::string& text) {
            const std::optional<double> number = parse_number(text);
            if (!number || *number < 0.0 || *number >= below) {
              refuse_input(name,
                           "a number of at least 0" +
                               (std::isfinite(below) ? " and less than " + exact_text(below) : std::string()),
                           text.empty() ? "nothing" : text);
            }
            value = *number;
          }};
}

Setting flag_setting(std::string name, std::string help, bool& value) {
  return {name, help + ": yes or no", [&value] { return std::string(value ? "yes" : "no"); },
          [&value, name](const std::string& text) {
            if (text != "yes" && text != "no") refuse_input(name, "yes or no", text);
            value = text == "yes";
          }};
}

std::vector<Setting> model_settings(Config& config) {
  std::vector<Setting> all;
  all.push_back({"dialect", "whose choices: see attn dialects", [&config] { return config.dialect.name; },
                 [&config](const std::string& text) { config.dialect = dialect(text); }});
  all.push_back(count_setting("vocabulary", "how many tokens there are", config.vocabulary, 1, widest));
  all.push_back(
      count_setting("target_vocabulary", "of the target, if it has its own; else 0", config.target_vocabulary));
  all.push_back(flag_setting("tied", "one matrix for embeddings and logits", config.tied));
  all.push_back(count_setting("d_model", "features of a token", config.d_model, 1, widest));
  all.push_back(count_setting("d_ff", "features inside the feed-forward layer", config.d_ff, 1, widest));
  all.push_back(count_setting("h", "heads", config.h, 1, widest));
  all.push_back(count_setting("encoder_layers", "layers of the encoder", config.encoder_layers, 0, most_layers));
  all.push_back(count_setting("decoder_layers", "layers of the decoder", config.decoder_layers, 0, most_layers));
  all.push_back(count_setting("learned_positions", "places that have a learned vector; 0: sines and cosines",
                              config.learned_positions, 0, widest));
  all.push_back(token_setting("pad", "the token that fills up", config.pad));
  all.push_back(token_setting("bos", "the token that begins a target", config.bos));
  all.push_back(token_setting("eos", "the token that ends a sentence", config.eos));
  for (Setting& setting : all) setting.group = "Model";
  const std::size_t sizes = all.size();
  add_switches(all, config.dialect);
  for (std::size_t i = sizes; i < all.size(); ++i) all[i].group = "Choices of the dialect";
  return all;
}

void apply(const std::vector<Setting>& settings, const SettingTexts& texts, const std::string& where) {
  std::set<std::string> names;
  for (const Setting& setting : settings) names.insert(setting.name);
  for (const auto& [name, text] : texts) {
    if (names.count(name) == 0) refuse_input(where, "a setting that there is", name);
  }
  for (const Setting& setting : settings) {
    const auto found = texts.find(setting.name);
    if (found == texts.end()) continue;
    try {
      setting.set(found->second);
    } catch (const InputError& error) {
      throw InputError(where + ": " + error.what());
    }
  }
}

void apply_all(const std::vector<Setting>& settings, const SettingTexts& texts, const std::string& where) {
  for (const Setting& setting : settings) {
    if (texts.count(setting.name) == 0) refuse_input(where, "the setting " + setting.name, "none of that name");
  }
  apply(settings, texts, where);
}

SettingTexts texts_of(const std::vector<Setting>& settings) {
  SettingTexts texts;
  for (const Setting& setting : settings) texts[setting.name] = setting.get();
  return texts;
}

std::string exact_text(double value) {
  std::string text;
  for (int digits = 1; digits <= 17; ++digits) {
    text = to_text(value, std::chars_format::general, digits);
    if (parse_number(text) == value) break;
  }
  return text;
}

}  // namespace attn
