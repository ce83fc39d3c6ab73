#include "cli/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>

namespace attn {

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) == 1) {
  next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(terminal_ ? 200 : 2000);
}

ProgressLine::~ProgressLine() { clear(); }

bool ProgressLine::due() const { return std::chrono::steady_clock::now() >= next_; }

void ProgressLine::show(const std::string& text) {
  next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(terminal_ ? 200 : 10000);
  clear();
  std::cerr << text << (terminal_ ? "" : "\n") << std::flush;
  shown_ = terminal_;
}

void ProgressLine::say(const std::string& text) {
  clear();
  std::cerr << text << std::endl;
}

void ProgressLine::clear() {
  if (shown_) std::cerr << "\r\033[K" << std::flush;
  shown_ = false;
}

std::string clock_text(double seconds) {
  const auto all = static_cast<long long>(std::clamp(std::round(seconds), 0.0, 1e9));
  const auto two_digits = [](long long part) { return (part < 10 ? "0" : "") + std::to_string(part); };
  const std::string hours = all >= 3600 ? std::to_string(all / 3600) + ":" : "";
  const long long minutes = all / 60 % 60;
  return hours + (hours.empty() ? std::to_string(minutes) : two_digits(minutes)) + ":" + two_digits(all % 60);
}

}  // namespace attn
