#include "catch.hpp"

#include <filesystem>
#include <fstream>

#include "links/report.hpp"
#include "links/tags.hpp"
#include "scratch.hpp"

namespace {

namespace fs = std::filesystem;
using links::Broken;

// A folder of files, gone when the test is over.
class Folder {
 public:
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
  }

 private:
  attn::tests::Scratch scratch_;

 public:
  const fs::path root = scratch_.path();
};

using Found = std::vector<Broken>;

// What is wrong with a site whose start page holds this.
Found wrong_with(const std::string& start) {
  const Folder site;
  site.write("index.html", start);
  site.write("a.html", "<h1 id='top'>A</h1><a name=\"old\"></a><a href=\"index.html\">back</a>");
  site.write("pictures/01/x.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
  return links::check_html(site.root).broken;
}

const std::string to_a = "<a href='a.html'>a</a>";

}  // namespace

TEST_CASE("tags are read with their attributes, without comments and scripts") {
  const auto tags = links::tags(
      "<A Href = \"x?a&amp;b\" b>t</A><!-- <a href='no'> --><script src=s.js>'<a href=\"no\">'"
      "</script><br/><img alt=\"a > b\" src='y'/>");
  REQUIRE(tags.size() == 4);
  CHECK(tags[0].name == "a");
  CHECK(tags[0].attributes.at("href") == "x?a&b");
  CHECK(tags[0].attributes.count("b") == 1);
  CHECK(links::targets_of(tags[1]) == std::vector<std::string>{"s.js"});
  CHECK(tags[2].name == "br");
  CHECK(links::targets_of(tags[3]) == std::vector<std::string>{"y"});
}

TEST_CASE("all that a tag loads is seen") {
  const auto targets = [](const std::string& html) { return links::targets_of(links::tags(html)[0]); };
  CHECK(targets("<video src=a.mp4 poster=b.png>") == std::vector<std::string>{"a.mp4", "b.png"});
  CHECK(targets("<img src=a.png srcset=' b.png 1x, c.png 2x,d.png, e,f.png'>") ==
        std::vector<std::string>{"a.png", "b.png", "c.png", "d.png", "e,f.png"});
  CHECK(targets("<source srcset='data:image/png;base64,AA 1x'>") ==
        std::vector<std::string>{"data:image/png;base64,AA"});
  CHECK(targets("<img srcset=' , ' alt=''>").empty());
  CHECK(wrong_with(to_a + "<img srcset='pictures/01/x.svg 1x, y.svg 2x'>") ==
        Found{{"index.html", "no such file", "y.svg"}});
}

TEST_CASE("links to what exists are fine") {
  CHECK(wrong_with(to_a + "<a href='a.html#top'>t</a><a href='a.html#old'>o</a><img src='pictures/01/x.svg'>"
                          "<a href='#here'>h</a><p id='here'/><a href='https://x.org/#y'>x</a>"
                          "<a href='javascript:f()'>j</a><a href='mailto:a@b'>m</a><a href='a.html?q=1'>q</a>"
                          "<img src='data:image/png;base64,AA'>")
            .empty());
  CHECK(wrong_with(to_a + "<h2 id='\u1d40'/><a href='#%E1%B5%80'>t</a>").empty());
}

TEST_CASE("missing pages, anchors, pictures, scripts and styles are found") {
  CHECK(wrong_with(to_a + "<a href='b.html'>b</a>") == Found{{"index.html", "no such file", "b.html"}});
  CHECK(wrong_with(to_a + "<a href='a.html#no'>n</a>") == Found{{"index.html", "no such anchor", "a.html#no"}});
  CHECK(wrong_with(to_a + "<a href='#no'>n</a>") == Found{{"index.html", "no such anchor", "#no"}});
  CHECK(wrong_with(to_a + "<img src='pictures/02/x.svg'>") ==
        Found{{"index.html", "no such file", "pictures/02/x.svg"}});
  CHECK(wrong_with(to_a + "<script src='x.js'></script>") == Found{{"index.html", "no such file", "x.js"}});
  CHECK(wrong_with(to_a + "<link rel='stylesheet' href='x.css'>") ==
        Found{{"index.html", "no such file", "x.css"}});
  CHECK(wrong_with(to_a + "<a href='http://x.org'>x</a>") == Found{{"index.html", "not https", "http://x.org"}});
}

TEST_CASE("a page that nobody links to is found") {
  CHECK(wrong_with("<p>") == Found{{"a.html", "no page leads here", ""}});
  const Folder site;
  site.write("a.html", "");
  CHECK(links::check_html(site.root).broken == Found{{"index.html", "no such file", "index.html"}});
}

TEST_CASE("the scripts of the navigation and the search are read") {
  const Folder site;
  site.write("index.html", "<h1 id='x'>");
  site.write("a.html", "");
  site.write("navtreedata.js",
             "var NAVTREE = [[\"A\", \"a.html\", null], [\"B\", \"b.html#c\", null]];"
             "var NAVTREEINDEX = [\"index.html#between\"];");
  site.write("search/all_0.js", "['x_0',['x',['../index.html#y',1,'s']]]");
  CHECK(links::check_html(site.root).broken == Found{{"navtreedata.js", "no such file", "b.html#c"},
                                                     {"search/all_0.js", "no such anchor", "../index.html#y"}});
}

TEST_CASE("nothing may be loaded from the network") {
  const Folder site;
  site.write(
      "index.html",
      "<a href='https://x.org'>fine</a><script src='https://x.org/a.js'></script><img src='//x.org/b.png'>"
      "<style>@import 'https://x.org/c.css';</style><iframe src='http://x.org/d'></iframe><img src='e.png'>");
  site.write("m.html", "<img srcset='a.png 1x, https://x.org/i.png 2x'><video poster='//x.org/j.png'>");
  site.write("s.css", "a { background: url(\"https://x.org/f.png\") } b { background: url(g.png) }");
  site.write("p.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"><image href=\"https://x.org/h.png\"/></svg>");
  const std::string why = "needs the network";
  CHECK(links::check_network(site.root).broken == Found{{"index.html", why, "//x.org/b.png"},
                                                        {"index.html", why, "http://x.org/d"},
                                                        {"index.html", why, "https://x.org/a.js"},
                                                        {"index.html", why, "https://x.org/c.css"},
                                                        {"m.html", why, "//x.org/j.png"},
                                                        {"m.html", why, "https://x.org/i.png"},
                                                        {"p.svg", why, "https://x.org/h.png"},
                                                        {"s.css", why, "https://x.org/f.png"}});
}

TEST_CASE("links between Markdown pages are resolved as GitHub does") {
  const Folder tree;
  tree.write("README.md",
             "# Start\n\n[a](docs/a.md#why-not) ![p](docs/p.svg) [s](src/) [here](#start) [u](https://x.org)\n"
             "[root](/docs/a.md) <a href=\"docs/a.md#own\">own</a>\n\n```\n[no](no.md)\n```\n`[no](no.md)`\n");
  tree.write(
      "docs/a.md",
      "# A\n\n## Why *not*?\n\n## Why not\n\n[second](#why-not-1) [up](../README.md)\n\n<a id=\"own\"></a>\n");
  tree.write("docs/p.svg", "");
  tree.write("src/x.cpp", "");
  tree.write("build/b.md", "[no](no.md)");
  tree.write("my/c.md", "[no](no.md)");
  tree.write(".git/d.md", "[no](no.md)");
  const links::Report report = links::check_markdown(tree.root);
  CHECK(report.broken.empty());
  CHECK(report.pages == 2);
  CHECK(report.links == 9);
}

TEST_CASE("broken links between Markdown pages are found with their lines") {
  const Folder tree;
  tree.write("README.md",
             "# Start\n\ntext\n[a](a.md) | ![p](p.svg)\n\n> [h](#no)\n\n- [out](../x.md)\n\n[b](docs/b.md#c)\n");
  tree.write("docs/b.md", "# B\n");
  CHECK(links::check_markdown(tree.root).broken == Found{{"README.md:4", "no such file", "a.md"},
                                                         {"README.md:4", "no such file", "p.svg"},
                                                         {"README.md:6", "no such heading", "#no"},
                                                         {"README.md:8", "outside the project", "../x.md"},
                                                         {"README.md:10", "no such heading", "docs/b.md#c"}});
}

TEST_CASE("formulas that GitHub would take for Markdown are found with their lines") {
  const Folder tree;
  tree.write("README.md",
             "# $a\\,b$\n\nfine: $x_i$, $`a\\,b`$, `$a\\,b$`\nand $$a\\\\b$$\n\n```math\na\\,b\n```\n\n"
             "| a |\n|---|\n| $\\{a$ |\n\n[in $\\_$](README.md)\n");
  const auto why = [](const std::string& what) {
    return "wanted $`…`$, since GitHub takes " + what + " for Markdown";
  };
  CHECK(links::check_markdown(tree.root).broken == Found{{"README.md:1", why("\\,"), "a\\,b"},
                                                         {"README.md:4", why("\\\\"), "a\\\\b"},
                                                         {"README.md:12", why("\\{"), "\\{a"},
                                                         {"README.md:14", why("\\_"), "\\_"}});
}

TEST_CASE("an anchor of a folder is one of its README.md") {
  const Folder tree;
  tree.write("README.md",
             "[a](golden#cases) [b](golden/#cases)\n[c](golden#nope) [d](src/#nope)\n[e](src/x.cpp#L1)\n");
  tree.write("golden/README.md", "# Golden\n\n## Cases\n");
  tree.write("src/x.cpp", "");
  CHECK(links::check_markdown(tree.root).broken ==
        Found{{"README.md:2", "no such heading", "golden#nope"}, {"README.md:2", "no such heading", "src/#nope"}});
}

TEST_CASE("addresses of Markdown links may be written with percent signs") {
  const Folder tree;
  tree.write("README.md", "[a](a%20b.md) [b](a%20b.md#%CE%B1) [c](a%20c.md) [d](100%.md)\n");
  tree.write("a b.md", "# \u03b1\n");
  tree.write("100%.md", "");
  CHECK(links::check_markdown(tree.root).broken == Found{{"README.md:1", "no such file", "a%20c.md"}});
}

TEST_CASE("what references stand for must exist") {
  const Folder tree;
  tree.write("README.md",
             "[x][a] ![y][b]\n\n[a]: a.md\n  [b]: <no b.png> \"title\"\n[c]: no.md#x\n\n> [d]: no.svg 'title'\n\n"
             "```\n[e]: e.md\n```\n\nwords\n[f]: f.md\n\n[^g]: words.\n\n[h]: are words\n\n[i](a.md) [j]: j.md\n\n"
             "[k]: https://x.org\n");
  tree.write("a.md", "");
  CHECK(links::check_markdown(tree.root).broken == Found{{"README.md:4", "no such file", "no b.png"},
                                                         {"README.md:5", "no such file", "no.md#x"},
                                                         {"README.md:7", "no such file", "no.svg"}});
}

TEST_CASE("a file that cannot be read to its end is an error") {
  const Folder tree;
  CHECK_THROWS_AS(links::read_file(tree.root / "none"), std::runtime_error);
  const fs::path unreadable = "/proc/self/mem";  // opens well, but its first byte cannot be read
  if (fs::exists(unreadable)) CHECK_THROWS_AS(links::read_file(unreadable), std::runtime_error);
  tree.write("long", std::string(100000, 'x'));
  CHECK(links::read_file(tree.root / "long") == std::string(100000, 'x'));
}

TEST_CASE("a folder that is not there is an error") {
  const Folder tree;
  CHECK_THROWS_AS(links::check_html(tree.root / "none"), std::runtime_error);
  CHECK_THROWS_AS(links::check_network(tree.root / "none"), std::runtime_error);
  CHECK_THROWS_AS(links::check_markdown(tree.root / "none"), std::runtime_error);
}

TEST_CASE("a script and a style of a million letters on one line are read to their end") {
  const Folder site;
  site.write("index.html", "<script src='x.js'></script><style>a{}</style>");
  site.write("x.js", "var x=\"" + std::string(1000000, 'x') + "\", y='none.html';");
  site.write("x.css", "a{b:url(data:" + std::string(1000000, 'A') + ")}@import 'https://x.org/y.css';");
  const Found broken = links::check_html(site.root).broken;
  REQUIRE(broken.size() == 1);
  CHECK(broken[0].target == "none.html");
  CHECK(links::check_network(site.root).broken.size() == 1);
}
