// How far something is: a line that changes on a terminal, a plain line now and then elsewhere.
#pragma once

#include <chrono>
#include <string>

namespace attn {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Whether it is time for a new one: five a second on a terminal, one in ten seconds elsewhere.
  bool due() const;

  /// Shows how far it is, in place of what was shown before.
  void show(const std::string& text);

  /// A line that stays.
  void say(const std::string& text);

 private:
  void clear();

  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

/// Seconds as "0:07", "12:34" or "3:04:05".
std::string clock_text(double seconds);

}  // namespace attn
