/// @file
/// @brief Numbers and choices that have a name and can be written as text: in options, in files, in checkpoints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/config.hpp"

namespace attn {

/// A value somewhere, with its name and its text.
struct Setting {
  std::string name;                             ///< such as "d_model"
  std::string help;                             ///< what it is, in a few words
  std::function<std::string()> get;             ///< its text now
  std::function<void(const std::string&)> set;  ///< reads a text; throws InputError saying what was wanted
  std::string group = "";                       ///< what it is shown with
};

/// Texts by the names of their settings.
using SettingTexts = std::map<std::string, std::string>;

/// A whole number.
/// @param name   of the setting
/// @param help   what it is
/// @param value  where it lives
/// @param least  the smallest that makes sense
/// @param most   the largest
/// @return       the setting
Setting count_setting(std::string name, std::string help, std::size_t& value, std::size_t least = 0,
                      std::size_t most = std::size_t{1} << 31);

/// A whole number of 64 bits.
/// @param name   of the setting
/// @param help   what it is
/// @param value  where it lives
/// @return       the setting
Setting seed_setting(std::string name, std::string help, std::uint64_t& value);

/// A finite number of at least 0.
/// @param name   of the setting
/// @param help   what it is
/// @param value  where it lives
/// @param below  what it must be less than; infinity if anything goes
/// @return       the setting
Setting number_setting(std::string name, std::string help, double& value, double below);

/// yes or no.
/// @param name   of the setting
/// @param help   what it is
/// @param value  where it lives
/// @return       the setting
Setting flag_setting(std::string name, std::string help, bool& value);

/// The settings of a model. `dialect` sets all the choices after it, so it comes first.
/// @param config  where they live; it must live as long
/// @return        its settings
std::vector<Setting> model_settings(Config& config);

/// Reads texts into their settings, in the order of the settings.
/// @param settings  all there are
/// @param texts     some of them
/// @param where     where the texts come from, for complaints
/// @throws InputError naming a text that belongs to no setting, or that does not make sense
void apply(const std::vector<Setting>& settings, const SettingTexts& texts, const std::string& where);

/// The same where none may be missing.
/// @param settings  all there are
/// @param texts     all of them
/// @param where     where the texts come from, for complaints
/// @throws InputError naming a setting without a text, and as apply() does
void apply_all(const std::vector<Setting>& settings, const SettingTexts& texts, const std::string& where);

/// @param settings  any
/// @return          all of them as they are now
SettingTexts texts_of(const std::vector<Setting>& settings);

/// A number as text that reads back as the same number, as short as it can be.
/// @param value  any
/// @return       such as "0.1"
std::string exact_text(double value);

}  // namespace attn
