// same_text WANTED GOT: words must be equal; a number with a point may be off by one in its last printed place.
// Below a heading that ends with "(measured) ==" any number will do.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace {

std::vector<std::string> lines(const char* path) {
  std::ifstream in(path);
  if (!in || !std::filesystem::is_regular_file(path)) {
    std::cerr << path << ": wanted a file that can be read, got none\n";
    std::exit(2);
  }
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The length of the number that starts here, sign and point included; 0 when none does.
std::size_t number_length(const std::string& s, std::size_t at) {
  std::size_t i = at;
  if (i < s.size() && s[i] == '-') ++i;
  const std::size_t digits = i;
  while (i < s.size() && is_digit(s[i])) ++i;
  if (i == digits) return 0;
  if (i + 1 < s.size() && s[i] == '.' && is_digit(s[i + 1])) {
    for (++i; i < s.size() && is_digit(s[i]);) ++i;
  }
  return i - at;
}

std::size_t decimals(const std::string& number) {
  const std::size_t point = number.find('.');
  return point == std::string::npos ? 0 : number.size() - point - 1;
}

bool same_number(const std::string& a, const std::string& b) {
  if (a == b) return true;
  if (decimals(a) == 0 || decimals(a) != decimals(b)) return false;
  const double unit = std::pow(10.0, -static_cast<double>(decimals(a)));
  return std::abs(std::stod(a) - std::stod(b)) <= 1.01 * unit;
}

bool same_line(const std::string& a, const std::string& b, bool measured) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const std::size_t n = number_length(a, i), m = number_length(b, j);
    if (n > 0 && m > 0) {
      if (!measured && !same_number(a.substr(i, n), b.substr(j, m))) return false;
      i += n;
      j += m;
    } else if (a[i] == ' ' && b[j] == ' ') {
      // Columns may move when a number changes its width.
      while (i < a.size() && a[i] == ' ') ++i;
      while (j < b.size() && b[j] == ' ') ++j;
    } else if (a[i++] != b[j++]) {
      return false;
    }
  }
  return i == a.size() && j == b.size();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: same_text WANTED GOT\n";
    return 2;
  }
  const std::vector<std::string> wanted = lines(argv[1]), got = lines(argv[2]);
  bool measured = false;
  for (std::size_t i = 0; i < std::max(wanted.size(), got.size()); ++i) {
    const std::string a = i < wanted.size() ? wanted[i] : "(end)", b = i < got.size() ? got[i] : "(end)";
    if (a.rfind("== ", 0) == 0) measured = a.find("(measured) ==") != std::string::npos;
    if (same_line(a, b, measured)) continue;
    std::cerr << argv[1] << ":" << i + 1 << ": stale\n  has:  " << a << "\n  now:  " << b << "\n";
    return 1;
  }
  return 0;
}
