// A host program's locale: a comma in numbers, and points between thousands.
#pragma once

#include <clocale>
#include <cstdlib>
#include <locale>
#include <string>

#include "scratch.hpp"

namespace attn::tests {

/// While this lives, the C functions and all new streams write 1234.5 as "1.234,5".
class CommaLocale {
 public:
  CommaLocale() {
    std::locale::global(std::locale(std::locale::classic(), new Comma));
    make_one();
    for (const char* name :
         {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8", "pl_PL.UTF-8", "pt_BR.UTF-8"}) {
      if (std::setlocale(LC_ALL, name) != nullptr && *std::localeconv()->decimal_point == ',') return;
    }
    std::setlocale(LC_ALL, "C");
  }
  ~CommaLocale() {
    std::setlocale(LC_ALL, "C");
    std::locale::global(std::locale::classic());
    unsetenv("LOCPATH");
  }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

  /// Whether a locale with a comma was found for the C functions; streams have one always.
  bool is_whole() const { return *std::localeconv()->decimal_point == ','; }

 private:
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };

  /// Where none is installed, but what one is made from.
  void make_one() const {
    if (std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr) return;
    const std::string folder = scratch_.path().string();
    const std::string command = "localedef -i de_DE -f UTF-8 '" + folder + "/de_DE.UTF-8' > /dev/null 2>&1";
    if (std::system(command.c_str()) == 0) setenv("LOCPATH", folder.c_str(), 1);
  }

  Scratch scratch_;
};

}  // namespace attn::tests
