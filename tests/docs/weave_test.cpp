#include "catch.hpp"

#include <filesystem>
#include <fstream>
#include <functional>

#include "weave/blocks.hpp"
#include "weave/doxygen.hpp"
#include "weave/formulas.hpp"
#include "weave/inline.hpp"
#include "weave/numbers.hpp"
#include "weave/page.hpp"
#include "weave/quoting.hpp"
#include "weave/search.hpp"
#include "weave/slug.hpp"
#include "weave/weaving.hpp"

namespace {

namespace fs = std::filesystem;
using weave::Lines;

// A course in a folder of its own, with two chapters, gone when the test is over.
class Course {
 public:
  Course() {
    write("chapters/README.md", "# Chapters\n");
    write("chapters/01-similarity/README.md", "# 1. Similarity: softmax(XXᵀ)X\n");
    write("chapters/02-projections/README.md", "# 2. Projections: Q, K, V\n");
    write("docs/notation.md", "# Notation\n");
    write("docs/main.md", "# Start\n");
    write("golden/README.md", "# Golden files\n");
  }
  ~Course() { fs::remove_all(root); }
  Course(const Course&) = delete;
  Course& operator=(const Course&) = delete;

  fs::path write(const std::string& name, const std::string& text) const {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
    return root / name;
  }
  fs::path operator/(const std::string& name) const { return root / name; }

  const fs::path root = fs::temp_directory_path() / ("weave-test-" + std::to_string(++count) + "-" +
                                                     std::to_string(reinterpret_cast<std::uintptr_t>(&count)));

 private:
  static inline int count = 0;
};

Lines woven(const Course& course, const std::string& text) {
  const fs::path page = course / "chapters/01-similarity/README.md";
  return weave::weave(page, weave::split(text), course / "chapters/01-similarity/output.txt").lines;
}

// One stretch of prose, as Doxygen gets it on the page of chapter 1.
std::string filtered(const std::string& text) {
  const Course course;
  const fs::path page = course / "chapters/01-similarity/README.md";
  return weave::joined(weave::doxygen(page, weave::split(text)));
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const weave::PageError& error) {
    return error.what();
  }
  return "(no error)";
}

std::string repeated(const std::string& piece, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += piece;
  return text;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a region of a source file is quoted at the left margin") {
  const Course course;
  const fs::path file = course.write("x.cpp",
                                     "int a;\n  // [one]\n  int b;\n    // [two]\n    int c;\n    // [two]\n\n"
                                     "  int d;\n  // [one]\nint e;\n");
  CHECK(weave::code_region(file, "one") == Lines{"int b;", "  int c;", "", "int d;"});
  CHECK(weave::code_region(file, "two") == Lines{"int c;"});
}

TEST_CASE("only the marks of regions are dropped from a region") {
  const Course course;
  const fs::path file =
      course.write("x.cpp", "// [one]\n// [two]\nint a[] = {\n// [12]\n};\n// [two]\n// [one]\n");
  CHECK(weave::code_region(file, "one") == Lines{"int a[] = {", "// [12]", "};"});
  const fs::path crossed = course.write("y.cpp", "// [one]\na\n// [two]\nb\n// [one]\n// [two]\n");
  CHECK(weave::code_region(crossed, "one") == Lines{"a", "b"});
}

TEST_CASE("a region that is not there, or not marked twice, is an error that says so") {
  const Course course;
  const fs::path file = course.write("x.cpp", "// [one]\nint a;\n// [three]\n// [three]\n// [three]\n");
  const auto error = [&](const fs::path& from, const char* name) {
    return error_of([&] { weave::code_region(from, name); });
  };
  CHECK(has(error(course / "y.cpp", "one"), "y.cpp: no such file"));
  CHECK(has(error(file, "two"), "x.cpp: no region [two]"));
  CHECK(has(error(file, "one"), "region [one] stands between two marks \"// [one]\", the file has 1 (line 1)"));
  CHECK(has(error(file, "three"), "the file has 3 (line 3, 4, 5)"));
}

TEST_CASE("a section of the transcript runs to the next heading, without blank lines at its ends") {
  const Course course;
  const fs::path file = course.write("o.txt", "hello\n== a: first one ==\n\n  1 2\n\n  3\n\n== b: second ==\n4\n");
  CHECK(weave::output_section(file, "a") == Lines{"  1 2", "", "  3"});
  CHECK(weave::output_section(file, "b") == Lines{"4"});
}

TEST_CASE("a section that is missing or there twice is an error") {
  const Course course;
  const fs::path file = course.write("o.txt", "== a: x ==\n1\n== a: y ==\n2\n");
  CHECK(has(error_of([&] { weave::output_section(file, "c"); }), "o.txt: no section \"== c: … ==\""));
  CHECK(has(error_of([&] { weave::output_section(file, "a"); }), "section a is there 2 times"));
  CHECK(has(error_of([&] { weave::output_section(course / "p.txt", "a"); }), "p.txt: no such file"));
}

TEST_CASE("code and output markers get their fences, old ones are replaced") {
  const Course course;
  course.write("chapters/01-similarity/main.cpp", "// [x]\nint x;\n// [x]\n");
  course.write("chapters/01-similarity/output.txt", "== s: scores ==\n1.5\n");
  const Lines wanted = weave::split(
      "# T\n\n<!-- code: main.cpp x -->\n```cpp\nint x;\n```\n\n<!-- output: s -->\n```text\n1.5\n```\n\nEnd.");
  CHECK(woven(course, "# T\n\n<!-- code: main.cpp x -->\n\n<!-- output: s -->\n\nEnd.") == wanted);
  CHECK(woven(course,
              "# T\n\n<!-- code: main.cpp x -->\n```cpp\nint old;\nint y;\n```\n\n<!-- output: s -->\n"
              "```text\n```\n\nEnd.") == wanted);
  CHECK(woven(course, weave::joined(wanted)) == wanted);
}

TEST_CASE("a quoted line that looks like a fence gets a longer fence round it") {
  const Course course;
  course.write("chapters/01-similarity/output.txt", "== s: x ==\n```\n");
  CHECK(woven(course, "<!-- output: s -->") == Lines{"<!-- output: s -->", "````text", "```", "````"});
}

TEST_CASE("a stale block is reported at its first line that differs") {
  const Course course;
  course.write("chapters/01-similarity/output.txt", "== s: x ==\n1\n2\n");
  const auto stale = [&](const std::string& text) {
    return weave::weave(course / "chapters/01-similarity/README.md", weave::split(text),
                        course / "chapters/01-similarity/output.txt")
        .stale;
  };
  const auto changed = stale("# T\n<!-- output: s -->\n```text\n1\n3\n```");
  REQUIRE(changed.size() == 1);
  CHECK(changed[0].line == 5);
  CHECK(changed[0].has == "3");
  CHECK(changed[0].wanted == "2");
  const auto missing = stale("# T\n<!-- output: s -->\n");
  REQUIRE(missing.size() == 1);
  CHECK(missing[0].line == 3);
  CHECK(missing[0].has == "(nothing)");
  CHECK(missing[0].wanted == "```text");
  CHECK(stale("<!-- output: s -->\n```text\n1\n2\n```").empty());
}

TEST_CASE("markers that cannot be followed name the page and the line") {
  const Course course;
  const auto error = [&](const std::string& text) { return error_of([&] { woven(course, text); }); };
  CHECK(has(error("# T\n\n<!-- code: none.cpp x -->"), "01-similarity/README.md:3: "));
  CHECK(has(error("# T\n\n<!-- code: none.cpp x -->"), "none.cpp: no such file"));
  CHECK(has(error("<!-- code: main.cpp -->"), "README.md:1: no such marker"));
  CHECK(has(error("<!-- ouput: scores -->"), "no such marker"));
  CHECK(has(error("<!-- top of the page -->"), "no such marker"));
  CHECK(has(error("- a\n  <!-- output: s -->"), "README.md:2: a marker stands at the left margin"));
  CHECK(has(error("# T\n\n```cpp\nint x;"), "README.md:3: this fence never ends"));
  CHECK(error("<!-- an ordinary comment, with words: fine -->") == "(no error)");
  CHECK(error("```markdown\n<!-- code: none.cpp x -->\n```") == "(no error)");
  const fs::path map = course / "chapters/README.md";
  CHECK(has(error_of([&] { weave::weave(map, {"<!-- nav -->"}, ""); }), "belongs on the page of a chapter"));
}

TEST_CASE("top and nav name the chapters around, in the order of the folders") {
  const Course course;
  course.write("chapters/03-scaling/README.md", "# 3. Scaling\n");
  course.write("chapters/shared/README.md", "# No chapter\n");
  const auto lines = [&](const std::string& chapter) {
    return weave::weave(course / ("chapters/" + chapter + "/README.md"), {"<!-- top -->", "<!-- nav -->"}, "")
        .lines;
  };
  const Lines first = lines("01-similarity"), second = lines("02-projections"), third = lines("03-scaling");
  CHECK(first[1] == "*About 1 minute. Before this: nothing but matrices and C++.*");
  CHECK(first[3] == "[All chapters](../README.md) · [2. Projections: Q, K, V →](../02-projections/README.md)");
  CHECK(second[1] == "*About 1 minute. Before this: [1. Similarity](../01-similarity/README.md).*");
  CHECK(second[3] ==
        "[← 1. Similarity: softmax(XXᵀ)X](../01-similarity/README.md) · [All chapters](../README.md) · "
        "[3. Scaling →](../03-scaling/README.md)");
  CHECK(third[3] == "[← 2. Projections: Q, K, V](../02-projections/README.md) · [All chapters](../README.md)");
}

TEST_CASE("a generated line is replaced, and the words below it stay") {
  const Course course;
  CHECK(woven(course, "<!-- top -->\n*About 99 minutes. Old.*\nMy own line.")[1] ==
        "*About 1 minute. Before this: nothing but matrices and C++.*");
  CHECK(woven(course, "<!-- top -->\n*About 99 minutes. Old.*\nMy own line.")[2] == "My own line.");
  CHECK(woven(course, "<!-- top -->\nMy own line.")[2] == "My own line.");
}

TEST_CASE("neighbours are looked for in the same language") {
  const Course course;
  const fs::path page = course.write("chapters/01-similarity/README.zh-CN.md", "# 1. Eins\n");
  CHECK(!weave::neighbours(page).after);
  course.write("chapters/02-projections/README.zh-CN.md", "# 2. Zwei\n");
  CHECK(weave::neighbours(page).after->filename() == "README.zh-CN.md");
  CHECK(weave::weave(page, {"<!-- nav -->"}, "").lines[1] ==
        "[All chapters](../README.zh-CN.md) · [2. Zwei →](../02-projections/README.zh-CN.md)");
}

TEST_CASE("reading takes a minute for 200 words and five seconds for a line of code or output") {
  const auto minutes = [](int words, int lines_of_code) {
    Lines page{"", "```cpp"};
    for (int i = 0; i < words; ++i) page[0] += "word ";
    for (int i = 0; i < lines_of_code; ++i) page.insert(page.end(), {"int x;", ""});
    page.push_back("```");
    return weave::reading_minutes(page);
  };
  CHECK(minutes(0, 0) == 1);
  CHECK(minutes(200, 0) == 1);
  CHECK(minutes(201, 0) == 2);
  CHECK(minutes(0, 12) == 1);
  CHECK(minutes(0, 13) == 2);
  CHECK(minutes(100, 6) == 1);
  CHECK(minutes(101, 6) == 2);
  CHECK(minutes(1000, 60) == 10);
}

TEST_CASE("the reading time does not depend on the generated lines, nor on a stale block") {
  const Course course;
  std::string output = "== s: x ==\n", words;
  for (int i = 0; i < 12; ++i) output += "1\n";
  for (int i = 0; i < 200; ++i) words += "word ";
  course.write("chapters/01-similarity/output.txt", output);
  const std::string text = "<!-- top -->\n\n" + words + "\n\n<!-- output: s -->\n\n<!-- nav -->";
  const Lines once = woven(course, text);
  CHECK(once[1] == "*About 2 minutes. Before this: nothing but matrices and C++.*");
  CHECK(woven(course, weave::joined(once)) == once);
}

TEST_CASE("numbers with a decimal point are found in one spelling") {
  using weave::decimal_numbers;
  CHECK(decimal_numbers("0.7311, .7311; -12.5 and −1.25e-3.") ==
        std::vector<std::string>{"0.7311", "0.7311", "12.5", "1.25e-3"});
  CHECK(decimal_numbers("3.2.1, section 3.2.1, section 3.2, §3.2, Chapter\n3.2, v0.24, xtensor 0.24.3, x0.5")
            .empty());
  CHECK(decimal_numbers("It is 3. And 5.") == std::vector<std::string>{});
  CHECK(decimal_numbers("(1.5)0.5ms") == std::vector<std::string>{"1.5", "0.5"});
}

TEST_CASE("a number of the prose must be in the transcript") {
  const Course course;
  const fs::path transcript = course.write("o.txt", "== s: x ==\n  -0.7311  12.5\n");
  const auto foreign = [&](const std::string& text) {
    return weave::foreign_numbers(weave::split(text + "\n\n<!-- output: s -->"), transcript);
  };
  using Numbers = std::vector<weave::Number>;
  CHECK(foreign("The weight .7311 and −12.5.").empty());
  CHECK(foreign("# T\n\nOne\n**two 0.73** three.") == Numbers{{4, "0.73"}});
  CHECK(foreign("0.7312 and 12.50") == Numbers{{1, "0.7312"}, {1, "12.50"}});
  CHECK(foreign("| a |\n|---|\n| 1.5 |\n\n> [!NOTE]\n> 2.5\n\n- x\n- 3.5 [4.5](t/5.5.md)") ==
        Numbers{{3, "1.5"}, {6, "2.5"}, {9, "3.5"}, {9, "4.5"}});
  CHECK(foreign("![at 6.5](x.svg \"7.5\")") == Numbers{{1, "6.5"}, {1, "7.5"}});
  CHECK(foreign("`1.1` $1.2$ [x](1.3/y1.4.md) <!-- 1.5 -->\n\n```\n1.6\n```\n\n<!-- 1.7 -->").empty());
  CHECK(foreign("BLEU 28.4 in [the paper](../../docs/bibliography.md#v).\n\nBLEU 41.8 here.") ==
        Numbers{{3, "41.8"}});
  CHECK(has(error_of([&] { weave::foreign_numbers({"1.5"}, course / "none.txt"); }), "none.txt: no such file"));
}

TEST_CASE("a number of the prose must be in an output quoted by its section of the page or by the one before") {
  const Course course;
  const fs::path transcript = course.write("o.txt", "== s: x ==\n1.5\n== t: x ==\n2.5\n== u: x ==\n3.5\n");
  const auto foreign = [&](const std::string& text) {
    return weave::foreign_numbers(weave::split(text), transcript);
  };
  using Numbers = std::vector<weave::Number>;
  CHECK(foreign("1.5\n\n<!-- output: s -->\n\n## A\n\n1.5 2.5\n\n<!-- output: t -->\n```text\n2.5\n```").empty());
  CHECK(foreign("### A\n\n1.5\n\n### B\n\n<!-- output: s -->").empty());
  CHECK(foreign("<!-- output: s -->\n\n## A\n\n## B\n\n1.5") == Numbers{{7, "1.5"}});
  CHECK(foreign("1.5\n\n## A 1.5\n\n<!-- output: s -->") == Numbers{{1, "1.5"}});
  CHECK(foreign("<!-- output: s -->\n\n1.5 3.5\n\n## A\n\n<!-- output: t -->\n\n3.5 2.5 1.5") ==
        Numbers{{3, "3.5"}, {9, "3.5"}});
  CHECK(foreign("`<!-- output: s -->` 1.5") == Numbers{{1, "1.5"}});
}

TEST_CASE("lists, rules, tables and folded passages begin where GitHub lets them") {
  using Kind = weave::Block::Kind;
  const auto block = [](const std::string& text) { return weave::blocks(weave::split(text))[0]; };
  for (const std::string line : {"- a", "+ a", "*  a", "  1. a", "123456789) a", "-", "7."}) {
    CHECK(block(line).prefix == std::min(line.find('a'), line.size()));
  }
  for (const std::string line : {"-a", "1.a", "1234567890. a", "1 a", ". a", "a - b"})
    CHECK(block(line).prefix == 0);
  for (const std::string line : {"---", "* * *", " ___ ", "-\t-\t-"}) CHECK(block(line).kind == Kind::rule);
  for (const std::string line : {"--", "-*-", "--- a", "..."}) CHECK(block(line).kind == Kind::paragraph);
  for (const std::string row : {"|-|", ":-|-:", "| :--: |---", "-|"})
    CHECK(block("a|b\n" + row).kind == Kind::table);
  for (const std::string row : {"--", "|", "||", "|-||", "-|a", "-|:", ":|-", "- -|-", "::-|-"}) {
    CHECK(block("a|b\n" + row).kind == Kind::paragraph);
  }
  for (const std::string line : {"<details>", " <summary>a", "</details>", "<details open>", "<details"}) {
    CHECK(block(line).kind == Kind::html);
  }
  for (const std::string line : {"<detail>", "<details_>", "< details>", "<", "</", "details"}) {
    CHECK(block(line).kind == Kind::paragraph);
  }
  CHECK(weave::blocks({"a", "2. b"}).size() == 1);
  CHECK(weave::blocks({"a", "1. b"}).size() == 2);
  CHECK(weave::blocks({"a", "- b"}).size() == 2);
}

TEST_CASE("very long lines are read to their end") {
  const Course course;
  const fs::path page = course / "chapters/01-similarity/README.md";
  for (const std::string piece :
       {"1", "a", "1.5e", ".", "$",         "[",  "`", "*", "-", "- ",         "* ",   "|-",
        "#", ">", "> ",   "<", "<details ", "\\", "&", "(", ")", "https://x)", "[a]: "}) {
    for (const std::string before : {"", "- ", "a|b\n-"}) {
      INFO(before << piece << "…");
      const std::string text = before + repeated(piece, 60000) + "x";
      const Lines lines = weave::split("# 1. T\n\n" + text + "\n\n<!-- output: s -->");
      CHECK(weave::doxygen(page, lines).size() == lines.size());
      weave::foreign_numbers(lines, course.write("o.txt", "== s: x ==\n" + text));
      course.write("chapters/01-similarity/README.md", weave::joined(lines));
      weave::search_script({page});
    }
  }
  const std::string digits = repeated("1", 300000);
  CHECK(weave::decimal_numbers(digits + "." + digits) == Lines{digits + "." + digits});
  CHECK(weave::split(filtered("# " + digits + ". T"))[0] == "# " + digits + ".\u00A0T {#ch01}");
  CHECK(has(filtered("a\n" + digits + ". b"), "\n" + digits + "\\. b"));
  CHECK(weave::plain("$" + digits + "$ [" + digits + "](b)") == digits + " " + digits);
}

// Without an end to any of them in sight, each `[` or `$` must not look through all that follows.
TEST_CASE("the time to read a paragraph is in proportion to its length") {
  for (const std::string piece : {"[", "![", "[a](", "[`", "`", " `` ", "$x ", "$`", "<!-- ", "*a ", "a* ",
                                  "*a _b ", "\\[", "https://x)", "`a`\n", "[a](b) "}) {
    INFO(piece);
    CHECK(!weave::scan(repeated(piece, 500000)).empty());
  }
  CHECK(!weave::scan(repeated("[", 250000) + repeated("]", 250000)).empty());
  CHECK(!weave::scan(repeated("*a ", 250000) + repeated(" b*", 250000)).empty());
  CHECK(!weave::scan("https://x" + repeated(")", 500000)).empty());
  CHECK(weave::plain(repeated("[", 250000) + repeated("](b)", 500000)).size() > 250000);
}

TEST_CASE("runs of emphasis pair with the nearest one that opens") {
  CHECK(filtered("*a _b* c_") == "<em>a \\_b</em> c\\_");
  CHECK(filtered("****a**** **b *c***") == "<strong><strong>a</strong></strong> <strong>b <em>c</em></strong>");
  CHECK(filtered("***a* b**") == "<strong><em>a</em> b</strong>");
  CHECK(filtered("a* *b*") == "a\\* <em>b</em>");
}

TEST_CASE("brackets and backticks without their other half are words") {
  CHECK(filtered("[a [b](../README.md)") == "\\[a \\ref chapters \"b\"");
  CHECK(filtered("[`]`](../README.md) `` ` [c](../README.md)") ==
        "<code>\\ref chapters \"]\"</code> \\`\\` \\` \\ref chapters \"c\"");
  CHECK(filtered("$5 and $6") == "\\$5 and \\$6");
  CHECK(filtered("(https://x.org/(a)b).") == "(<a href=\"https://x.org/(a)b\">https://x.org/(a)b</a>).");
}

TEST_CASE("anchors are GitHub's") {
  CHECK(weave::slug("Scores: every row, against every row!") == "scores-every-row-against-every-row");
  CHECK(weave::slug("softmax(XXᵀ)X in `attn::softmax` — *why* √d²?") == "softmaxxxᵀx-in-attnsoftmax--why-d");
  CHECK(weave::slug("Größe Ä Σ 语言 d_k 1/√d_k") == "größe-ä-σ-语言-d_k-1d_k");
  CHECK(weave::slug("a·b¹ 100 % × → ½") == "ab-100----");
  weave::Slugs slugs;
  CHECK(slugs.next("Why?") == "why");
  CHECK(slugs.next("Why") == "why-1");
  CHECK(slugs.next("Why!") == "why-2");
}

TEST_CASE("pages have short names") {
  const Course course;
  CHECK(weave::page_id(course / "chapters/01-similarity/README.md") == "ch01");
  CHECK(weave::page_id(course / "chapters/01-similarity/README.zh-CN.md") == "ch01");
  CHECK(weave::page_id(course / "chapters/README.md") == "chapters");
  CHECK(weave::page_id(course / "golden/README.md") == "golden");
  CHECK(weave::page_id(course / "docs/notation.md") == "notation");
  CHECK(weave::page_id(course / "docs/main.md") == "index");
  CHECK(weave::page_id(course / "README.md") == "index");
  CHECK(weave::page_id(course / "chapters/01-similarity/main.cpp").empty());
  CHECK(weave::page_id(course / "tests/README.md").empty());
}

TEST_CASE("the filter: formulas") {
  CHECK(filtered("a $x$ b") == "a \\f$x\\f$ b");
  CHECK(filtered("a $`x_*`$ b *c*") == "a \\f$x_*\\f$ b <em>c</em>");
  CHECK(filtered("$x^*$ and $y^*$, $a|b$") == "\\f$x^*\\f$ and \\f$y^*\\f$, \\f$a|b\\f$");
  CHECK(filtered("$$x$$") == "\\f[x\\f]");
  CHECK(filtered("costs $5 or $6, \\$x\\$") == "costs \\$5 or \\$6, \\$x\\$");
  CHECK(filtered("`$x$`") == "<code>\\$x\\$</code>");
  CHECK(filtered("ends $x \\\\$.") == "ends \\f$x \\\\ \\f$.");
  CHECK(filtered("```math\nx < *y* @\n```") == "\\f[\nx < *y* @\n\\f]");
  CHECK(filtered("- a\n  ```math\n  x\n  ```") == "- a\n  \\f[\n  x\n  \\f]");
}

TEST_CASE("the filter: title, contents, headings") {
  CHECK(filtered("# 1. Similarity: `X`\n\nText.\n\nMore.") ==
        "# 1.\u00A0Similarity: X {#ch01}\n[TOC]\nText.\n\nMore.");
  CHECK(filtered("# T\n\n## Every *row*!\n### Why?\n## Every row") ==
        "# T {#ch01}\n[TOC]\n## Every row! {#ch01-every-row}\n### Why? {#ch01-why}\n## Every row "
        "{#ch01-every-row-1}");
  const Course course;
  const auto page = [&](const std::string& name) { return weave::doxygen(course / name, {"# T", "", "## A"}); };
  CHECK(page("docs/notation.md") == Lines{"# T {#notation}", "[TOC]", "## A {#notation-a}"});
  CHECK(page("golden/README.md") == Lines{"# T {#golden}", "[TOC]", "## A {#golden-a}"});
  CHECK(page("chapters/README.md") == Lines{"# T {#chapters}", "", "## A {#chapters-a}"});
  CHECK(page("docs/main.md") == Lines{"# T", "", "<h1>\\anchor index-a A</h1>"});
}

TEST_CASE("the filter: links to pages and headings") {
  CHECK(filtered("[two](../02-projections/README.md)") == "\\ref ch02 \"two\"");
  CHECK(filtered("[two](../02-projections/)") == "\\ref ch02 \"two\"");
  CHECK(filtered("[map](../README.md) [n](../../docs/notation.md#rows) [start](../../README.md)") ==
        "\\ref chapters \"map\" \\ref notation-rows \"n\" \\ref index \"start\"");
  CHECK(filtered("[below](#why-not)") == "\\ref ch01-why-not \"below\"");
  CHECK(filtered("[a *b* \"c\" @ d](../README.md)") == "\\ref chapters \"a b \\\"c\\\" \\@ d\"");
  CHECK(filtered("[`softmax`](#x)") == "<code>\\ref ch01-x \"softmax\"</code>");
  CHECK(filtered("[web *page*](https://x.org/a_b?c&d)") ==
        "<a href=\"https://x.org/a_b?c&amp;d\">web <em>page</em></a>");
  CHECK(filtered("<https://x.org> or https://x.org/a_b.") ==
        "<a href=\"https://x.org\">https://x.org</a> or <a href=\"https://x.org/a_b\">https://x.org/a_b</a>.");
}

TEST_CASE("the filter: in the map the first link to a chapter makes it a sub-page") {
  const Course course;
  CHECK(weave::doxygen(course / "chapters/README.md",
                       {"[1](01-similarity/README.md) [1](01-similarity/README.md) [n](../docs/notation.md)"}) ==
        Lines{"\\subpage ch01 \"1\" \\ref ch01 \"1\" \\ref notation \"n\""});
}

TEST_CASE("the filter: links into the source tree") {
  CHECK(filtered("[similarity.hpp](../../src/attn/reference/similarity.hpp)") ==
        "\\ref attn/reference/similarity.hpp \"similarity.hpp\"");
  CHECK(filtered(
            "[main.cpp](main.cpp) [`sim.cpp`](../../src/attn/reference/sim.cpp) [a_case](../../golden/case.json) "
            "[1-x](exercises/1-x.cpp) [LICENSE](../../LICENSE)") ==
        "<tt>main.cpp</tt> <tt>sim.cpp</tt> <tt>a_case</tt> <tt>1-x</tt> <tt>LICENSE</tt>");
}

TEST_CASE("the filter: alerts") {
  CHECK(filtered("> [!NOTE]\n> a *b*\n> c\n\nd") == "\\note\na <em>b</em>\nc\n\nd");
  CHECK(filtered("> [!TIP]\n> a") == "\\remark\na");
  CHECK(filtered("> [!IMPORTANT]\n> a") == "\\attention\na");
  CHECK(filtered("> [!WARNING]\n> a") == "\\warning\na");
  CHECK(filtered("> [!CAUTION]\n> a") == "\\warning\na");
  CHECK(filtered("> [!NOTE]\n> a\n>\n> - b\n\nc") == "\\note \\parblock\na\n\n- b\n\\endparblock\nc");
  CHECK(filtered("> [!NOTE]\n> ```cpp\n> x\n> ```\n\nc") ==
        "\\note \\parblock\n```{.cpp}\nx\n```\n\\endparblock\nc");
  CHECK(filtered("> just $x$\n> quoted") == "> just \\f$x\\f$\n> quoted");
}

TEST_CASE("the filter: folded passages") {
  CHECK(filtered("<details>\n<summary>Why *?</summary>\n\na *b*\n\n</details>") ==
        "\\htmlonly[block]<details>\\endhtmlonly\n\\htmlonly[block]<summary>Why *?</summary>\\endhtmlonly\n\n"
        "a <em>b</em>\n\n\\htmlonly[block]</details>\\endhtmlonly");
}

TEST_CASE("the filter: pictures") {
  CHECK(filtered("![A \"map\" of $x$](weights.svg)") ==
        "\\htmlonly[block]<figure><img src=\"pictures/01-similarity/weights.svg\" alt=\"A &quot;map&quot; of x\"/>"
        "<figcaption>A &quot;map&quot; of \\(x\\)</figcaption></figure>\\endhtmlonly");
  CHECK(filtered("![A](../02-projections/q.svg \"Rows of `Q`\")") ==
        "\\htmlonly[block]<figure><img src=\"pictures/02-projections/q.svg\" alt=\"A\"/>"
        "<figcaption>Rows of <code>Q</code></figcaption></figure>\\endhtmlonly");
  CHECK(filtered("see ![A](a.svg) there") ==
        "see \\htmlonly<img src=\"pictures/01-similarity/a.svg\" alt=\"A\"/>\\endhtmlonly there");
  CHECK(filtered("![badge](https://x.org/b.svg)") == "badge");
}

TEST_CASE("the filter: emphasis") {
  CHECK(filtered("**a** *b* ***c*** _d_ __e__") ==
        "<strong>a</strong> <em>b</em> <em><strong>c</strong></em> <em>d</em> <strong>e</strong>");
  CHECK(filtered("a * b * c, 2*3, d_k and d_v, *a") == "a \\* b \\* c, 2\\*3, d_k and d_v, \\*a");
  CHECK(filtered("中**文**字 `*x*` **a `*` b**") ==
        "中<strong>文</strong>字 <code>\\*x\\*</code> <strong>a <code>\\*</code> b</strong>");
  CHECK(filtered("*a\nb* c") == "<em>a\nb</em> c");
  CHECK(filtered("* a\n* *b*") == "* a\n* <em>b</em>");
  CHECK(filtered("\\*a\\* \\_b\\_") == "\\*a\\* \\_b\\_");
}

TEST_CASE("the filter: what Doxygen would take for its own") {
  CHECK(filtered("@param \\alpha #name 50% %x a<5 \"q\" -- --- [x]") ==
        "\\@param \\\\alpha \\#name 50\\% \\%x a&lt;5 &quot;q&quot; \\-- \\--- \\[x\\]");
  CHECK(filtered("`@a \\b #c %d <T> --x \"e\" a_b`") ==
        "<code>\\@a \\\\b \\#c \\%d &lt;T&gt; \\--x &quot;e&quot; a_b</code>");
  CHECK(filtered("AT&T, &amp; &nbsp; &#42; &#x3b1;") == "AT&amp;T, &amp; &nbsp; \\* α");
  CHECK(filtered("in\n1986. it was\\\nso") == "in\n1986\\. it was<br>\nso");
  CHECK(filtered("3. a\n4. b") == "3. a\n4. b");
  CHECK(filtered("x<sub>2</sub><!-- hidden @x -->.") == "x<sub>2</sub>.");
}

TEST_CASE("the filter: tables") {
  CHECK(filtered("| $a|b$ | `c \\| d` |\n|:-|--|\n| $\\|x\\|$ \\| y | *z* |") ==
        "| \\f$a\\vert b\\f$ | <code>c \\| d</code> |\n|:-|--|\n"
        "| \\f$\\vert x\\vert \\f$ \\| y | <em>z</em> |");
}

TEST_CASE("the filter: code and output") {
  CHECK(filtered("```cpp\n// *a* $x$ @b\n```") == "```{.cpp}\n// *a* $x$ @b\n```");
  CHECK(filtered("```\na\n```") == "```\na\n```");
  CHECK(filtered("<!-- code: main.cpp x -->\n```cpp\na\n```") == "\n```{.cpp}\na\n```");
  CHECK(filtered("<!-- output: s -->\n```text\n 1\n```\n\nb") ==
        "<div class=\"output\">\n```{.unparsed}\n 1\n```\n</div>\nb");
  CHECK(filtered("<!-- top -->\n*a*\n\nb") == "<div class=\"top\">\n<em>a</em></div>\n\nb");
  CHECK(filtered("<!-- nav -->\n[a](#b)") == "<div class=\"nav\">\n\\ref ch01-b \"a\"</div>");
  CHECK(filtered("<!-- one @x\ntwo -->\na") == "\n\na");
  CHECK(has(error_of([] { filtered("<!-- output: s -->\n```text\n1\n```\n## H"); }),
            "README.md:5: leave an empty line above this one"));
}

TEST_CASE("the filter keeps the number of lines") {
  for (const std::string text : {"a [b\nc](../README.md), d\ne", "a [b\nc](../README.md)", "$x\n+ y$ and\nz",
                                 "- a `b\n  c` d\n  e", "<!-- a\nb\n-->\n\n# T\n\n> [!NOTE]\n> a\n>\n> b\n\nc"}) {
    CHECK(weave::split(filtered(text)).size() == weave::split(text).size());
  }
  CHECK(filtered("a [b\nc](../README.md), d\ne") == "a \\ref chapters \"b c\",\nd\ne");
  CHECK(filtered("- a `b\n  c` d\n  e") == "- a <code>b c</code>\n  d\n  e");
}

TEST_CASE("the search knows each section, with words, code and output, without markup") {
  const Course course;
  const fs::path page = course.write(
      "chapters/01-similarity/README.md",
      "# 1. Similarity: all\n\n<!-- top -->\n*About 3 minutes.*\n\nOne *word* `a_b`.\n\n## Why \"x\"?\n\n"
      "See [two](../02-projections/README.md), $\\sqrt{d_k}$.\n\n```cpp\nint <x>;\n```\n\n> [!NOTE]\n> A note.\n\n"
      "| h |\n|---|\n| cell |\n\n<!-- nav -->\n[All chapters](../README.md)\n");
  CHECK(weave::search_script({page}) ==
        "const ATTN_SEARCH = [\n"
        "  {url: \"ch01.html\", title: \"1. Similarity: all\", heading: \"\", text: \"One word a_b.\"},\n"
        "  {url: \"ch01.html#ch01-why-x\", title: \"1. Similarity: all\", heading: \"Why \\\"x\\\"?\", "
        "text: \"See two, √d_k. int \\u003cx>; A note. h cell\"},\n"
        "];\n");
  CHECK(has(error_of([&] { weave::search_script({course / "README.txt"}); }), "is no page of the documentation"));
}

// GitHub's rule for Markdown: a backslash escapes any of the 32 signs of punctuation of ASCII.
TEST_CASE("what GitHub would take for Markdown in a formula between dollars") {
  for (const char sign : std::string("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")) {
    const std::string escape = {'\\', sign};
    CHECK(weave::taken_for_markdown("[X" + escape + " PE]") == escape);
  }
  CHECK(weave::taken_for_markdown("a * b") == "*");
  CHECK(weave::taken_for_markdown("_a") == "_");
  CHECK(weave::taken_for_markdown("d_{model}") == "_");
  for (const char* fine : {"", "x_i \\cdot W_Q", "\\lVert x_1 \\rVert^2", "\\"})
    CHECK(weave::taken_for_markdown(fine).empty());
}

TEST_CASE("formulas are found with their lines") {
  using Formulas = std::vector<weave::Formula>;
  CHECK(weave::page_formulas(weave::split("# T\n\na $x$\nb $`y`$ `$z$`\n\n```math\nu\nv\n```\n\n> $w$\n\n"
                                          "| $\\|a\\|$ |\n|---|")) ==
        Formulas{{3, "x", false}, {4, "y", false}, {7, "u\nv", true}, {11, "w", false}, {13, "|a|", false}});
  CHECK(weave::comment_formulas(weave::split(
            "/// A \\f$x\\f$.\n/// \\f[\n///   y\n/// \\f]\nint z;  ///< \\f$z\\f$\n"
            "auto s = \"\\f$no\\f$\";")) == Formulas{{1, "x", false}, {2, "\n   y\n ", true}, {5, "z", false}});
  const Course course;
  const std::string where = course.write("docs/notation.md", "# N\n\n$\\top$\n").string();
  CHECK(weave::formulas_script({course / "docs/notation.md"}) ==
        "const FORMULAS = [\n  {where: \"" + where + ":3\", tex: \"\\\\top\", display: false},\n];\n");
}

TEST_CASE("a page is written aside and renamed") {
  const Course course;
  const fs::path page = course / "docs/notation.md";
  weave::write_lines(page, {"# a", "b"});
  CHECK(weave::read_lines(page) == Lines{"# a", "b"});
  CHECK(!fs::exists(page.string() + ".part"));
  CHECK_THROWS_AS(weave::read_lines(course / "none.md"), weave::FileError);
  const fs::path unreadable = "/proc/self/mem";  // opens well, but its first byte cannot be read
  if (fs::exists(unreadable)) CHECK_THROWS_AS(weave::read_lines(unreadable), weave::FileError);
  CHECK_THROWS_AS(weave::write_lines(course / "none/x.md", {}), weave::FileError);
}
