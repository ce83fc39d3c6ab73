// check_links: no link of the documentation leads nowhere, and nothing in it needs the network.

#include <iostream>
#include <string>
#include <vector>

#include "links/report.hpp"

namespace {

const char usage[] =
    "usage: check_links DIR               links, anchors, pictures and reach of the built HTML\n"
    "       check_links --network DIR     nothing in it is loaded from the network\n"
    "       check_links --markdown ROOT   links, anchors and formulas of the Markdown pages of a source tree\n";

int show(const links::Report& report) {
  for (const links::Broken& link : report.broken) {
    std::cerr << link.page << ": " << link.why << (link.target.empty() ? "" : ": ") << link.target << '\n';
  }
  std::cout << report.links << " links on " << report.pages << " pages, " << report.broken.size() << " broken\n";
  if (report.pages == 0) std::cerr << "check_links: no pages there\n";
  return report.broken.empty() && report.pages > 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  try {
    if (words.size() == 1 && words[0] == "--help") {
      std::cout << usage;
      return 0;
    }
    if (words.size() == 1 && words[0].rfind("--", 0) != 0) return show(links::check_html(words[0]));
    if (words.size() == 2 && words[0] == "--network") return show(links::check_network(words[1]));
    if (words.size() == 2 && words[0] == "--markdown") return show(links::check_markdown(words[1]));
  } catch (const std::exception& error) {
    std::cerr << "check_links: " << error.what() << '\n';
    return 2;
  }
  std::cerr << usage;
  return 2;
}
