// Rights that are missing: root, who may do everything, steps back for a while.
#pragma once

#include <unistd.h>

#include <exception>
#include <stdexcept>

namespace attn::tests {

/// While this lives, a program of root's acts as a user who owns nothing. Other users have no such rights anyway.
class Nobody {
 public:
  Nobody() : root_(geteuid() == 0) {
    if (root_ && seteuid(65534) != 0) throw std::runtime_error("root cannot become another user here");
  }
  ~Nobody() {
    if (root_ && seteuid(0) != 0) std::terminate();
  }
  Nobody(const Nobody&) = delete;
  Nobody& operator=(const Nobody&) = delete;

 private:
  bool root_;
};

}  // namespace attn::tests
