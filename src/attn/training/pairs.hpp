/// @file
/// @brief Pairs of sentences to learn from, and the two built-in tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attn/core/tokens.hpp"

namespace attn::training {

/// Source sentences and what they should become.
struct Pairs {
  std::vector<Tokens> sources;  ///< what is read; ends with EOS
  std::vector<Tokens> targets;  ///< what should be written; ends with EOS

  /// @return how many pairs there are
  std::size_t size() const { return sources.size(); }
};

/// What becomes of a sentence in a built-in task.
enum class Task {
  copy,    ///< the same letters
  reverse  ///< the same letters, the last one first
};

/// @param name  "copy" or "reverse"
/// @return      the task of that name
/// @throws InputError when there is none
Task task(std::string_view name);

/// @param task  a task
/// @return      its name
std::string name(Task task);

/// The tokens of the built-in tasks: 0 is PAD, 1 BOS, 2 EOS, and then come the letters.
constexpr int first_letter = 3;

/// What the sentences of a task are like.
struct TaskOptions {
  Task task = Task::copy;    ///< what becomes of them
  std::size_t letters = 10;  ///< how many different letters there are
  std::size_t shortest = 1;  ///< letters of a sentence, without EOS
  std::size_t longest = 20;  ///< letters of a sentence, without EOS
};

/// Random sentences for a task. Lengths and letters are drawn uniformly, so a sentence may come more than once,
/// and a short one, of which there are few, does: every length has the same weight.
/// @param options  what they are like
/// @param count    how many
/// @param seed     which
/// @param unlike   sources that must not be among them, such as those that are held out
/// @return         the pairs
/// @throws std::invalid_argument when lengths or letters make no sense, or no sentence is left
Pairs make_pairs(const TaskOptions& options, std::size_t count, std::uint64_t seed, const Pairs& unlike = {});

/// Random sentences to measure on, all different, as many of each length as of every other. Of a length with few
/// sentences only a fifth is taken (2 of the 10 that have one letter), so that the rest can be learned from.
/// @param options  what they are like
/// @param count    how many
/// @param seed     which
/// @return         the pairs
/// @throws std::invalid_argument when lengths or letters make no sense, or there are not so many sentences
Pairs held_out_pairs(const TaskOptions& options, std::size_t count, std::uint64_t seed);

}  // namespace attn::training
