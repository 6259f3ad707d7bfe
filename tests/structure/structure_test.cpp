// The repository obeys its own rules (docs/architecture.md), and each rule can fail: what it must find is planted in a
// small tree of its own, beside what it must leave alone.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "structure/rules.h"

namespace sluice::structure {

void PrintTo(const Rule& rule, std::ostream* out) { *out << rule.name; }

namespace {

class Structure : public testing::TestWithParam<Rule> {};

TEST_P(Structure, Holds) {
  const SourceTree tree = read_tree(SLUICE_SOURCE_DIR);
  ASSERT_GT(tree.files.size(), 50u);
  for (const std::string& complaint : GetParam().check(tree)) ADD_FAILURE() << complaint;
}
INSTANTIATE_TEST_SUITE_P(Rules, Structure, testing::ValuesIn(kRules),
                         [](const auto& rule) { return std::string(rule.param.name); });

// A tree of a few files that breaks no rule.
SourceTree good_tree() {
  SourceTree tree;
  tree.add("src/FLOORS", "# floors\nbase:\nio: base\nmodels: base\ncli: base io models\n");
  tree.add("src/base/a.h", "// A.\n#pragma once\n");
  tree.add("src/io/b.h", "// B.\n#include \"base/a.h\"\n");
  tree.add("src/models/common/rope.h", "// Rope.\n");
  tree.add("src/models/one/f.h", "// One.\n#include \"models/common/rope.h\"\n");
  tree.add("src/models/two/f.h", "// Two.\n");
  tree.add("src/models/registry.cpp", "// List.\n#include \"models/one/f.h\"\n#include \"models/two/f.h\"\n");
  tree.add("src/cli/main.cpp", "// Main.\nint main() { std::printf(\"x\"); exit(1); }\n");
  tree.add("tests/laws/x_test.cpp", "// Test.\n#include \"support/t.h\"\n#include \"io/b.h\"\nvoid f() { throw 1; }\n");
  tree.add("tests/support/t.h", "// Support.\n");
  tree.add("README.md",
           "`src/io/b.h`, `io/b.h`, `src/models/{one,two}/f.h`, `src/*/a.h`, `a/b`, [page](src/FLOORS#x)\n");
  tree.add("CMakeLists.txt", "add_compile_options(-ffp-contract=off)\n");
  return tree;
}

struct Planted {
  const char* rule;
  const char* path;
  std::string text;
  const char* expected;  // part of the one complaint; "" = there must be none
};
void PrintTo(const Planted& planted, std::ostream* out) { *out << planted.rule << " in " << planted.path; }

std::string lines(int count) {
  std::string text = "// Long.\n";
  for (int line = 1; line < count; ++line) text += "\n";
  return text;
}

class Rules : public testing::TestWithParam<Planted> {};

TEST_P(Rules, FindExactlyWhatIsPlanted) {
  const Planted& planted = GetParam();
  SourceTree tree = good_tree();
  for (const Rule& rule : kRules) ASSERT_EQ(rule.check(tree), Complaints()) << rule.name;
  tree.add(planted.path, planted.text);
  bool known = false;
  for (const Rule& rule : kRules) {
    known = known || rule.name == std::string(planted.rule);
    const Complaints complaints = rule.check(tree);
    if (rule.name != std::string(planted.rule) || *planted.expected == '\0') {
      EXPECT_EQ(complaints, Complaints()) << rule.name;
      continue;
    }
    ASSERT_EQ(complaints.size(), 1u) << fmt::format("{}", fmt::join(complaints, "\n"));
    EXPECT_NE(complaints[0].find(planted.expected), std::string::npos) << complaints[0];
  }
  EXPECT_TRUE(known);
}

INSTANTIATE_TEST_SUITE_P(
    Planted, Rules,
    testing::Values(
        Planted{"floors", "src/base/up.h", "// X.\n#include \"io/b.h\"\n", "src/base/up.h:2: base may not include io"},
        Planted{"floors", "src/base/up_test.cpp", "// X.\n#include \"io/b.h\"\n", ""},
        Planted{"floors", "src/attic/x.h", "// X.\n", "src/attic/x.h:1: its folder"},
        Planted{"floor_cycles", "src/FLOORS", "base:\nio: base models\nmodels: base io\ncli: base io models\n",
                "circle io -> models -> io"},
        Planted{"file_cycles", "src/base/a.h", "// A.\n#include \"base/a.h\"\n", "src/base/a.h -> src/base/a.h"},
        Planted{"families", "src/models/two/g.h", "// X.\n#include \"models/one/f.h\"\n",
                "two may not include the family one"},
        Planted{"families", "src/models/common/g.h", "// X.\n#include \"models/one/f.h\"\n", "common may not include"},
        Planted{"include_paths", "src/io/c.h", "// X.\n#include \"b.h\"\n", "\"b.h\" is no path"},
        Planted{"include_paths", "src/io/c.h", "// X.\n#include <base/a.h>\n", "<base/a.h> is ours"},
        Planted{"lengths", "src/io/c.h", lines(301), "301 lines, the limit is 300"},
        Planted{"lengths", "src/io/c.h", lines(300), ""}, Planted{"lengths", "src/io/c.cpp", lines(601), "601 lines"},
        Planted{"lengths", "src/io/c_test.cpp", lines(1201), "1201 lines"},
        Planted{"lengths", "src/LONG_FILES", "io/b.h\n", "src/io/b.h has no reason"},
        Planted{"lengths", "src/LONG_FILES", "io/gone.h a table\n", "src/io/gone.h has no reason, or is not there"},
        Planted{"comments", "src/io/c.h", "#pragma once\n// Late.\n", "src/io/c.h:1: begins without"},
        Planted{"comments", "tests/support/c.cpp", "", "tests/support/c.cpp:1: begins without"},
        Planted{"pages", "docs/x.md", "one\n`src/io/gone.h`\n", "docs/x.md:2: names src/io/gone.h"},
        Planted{"pages", "docs/x.md", "`io/gone.h`\n", "names io/gone.h"},
        Planted{"pages", "docs/x.md", "`src/models/{one,six}/f.h`\n", "names src/models/six/f.h"},
        Planted{"pages", "docs/x.md", "`src/*/z.h`\n", "names src/*/z.h"},
        Planted{"pages", "docs/x.md", "[page](../docs/gone.md)\n", "links to ../docs/gone.md"},
        Planted{"pages", "docs/x.md", "[a](https://x.org/y) `build/sluice` `half/float`\n```\n`src/gone.h`\n```\n", ""},
        Planted{"switches", "src/io/c.h", "// X.\n#ifdef SLUICE_CUDA\n", "SLUICE_CUDA: the build chooses"},
        Planted{"switches", "src/io/c.h", "// X.\n#  if defined(SLUICE_CUDA) && 1\n", "SLUICE_CUDA: the build chooses"},
        Planted{"switches", "src/io/c.h", "// X.\n#ifdef NDEBUG\n#define SLUICE_IF 1\n// #ifdef SLUICE_X\n", ""},
        Planted{"silence", "src/io/c.cpp", "// X.\nvoid f() { std::getenv(\"X\"); }\n", "c.cpp:2: getenv"},
        Planted{"silence", "src/io/c.cpp", "// X.\nvoid f() { exit(1); }\n", "exit: below cli"},
        Planted{"silence", "src/io/c.cpp", "// X.\nvoid f() { std::abort (); }\n", "abort: below cli"},
        Planted{"silence", "src/io/c.cpp", "// X.\nvoid f() { std::cerr << 1; }\n", "cerr: below cli"},
        Planted{"silence", "src/io/c.cpp", "// X.\nvoid f() { fmt::print(\"x\"); }\n", "print: below cli"},
        Planted{"silence", "src/base/check.cpp", "// X.\nvoid f() { abort(); }\n", ""},
        Planted{
            "silence", "src/io/c.cpp",
            "// exit(1)\n/* abort() */ auto s = \"printf(\\\"exit(2)\"; auto r = R\"x(getenv())x\"; int n = 1'000;\n"
            "void f() { scope.exit(); queue->abort(); std::snprintf(b, 1, s); exit_code(); }\n",
            ""},
        Planted{"exceptions", "src/io/c.cpp", "// X.\nvoid f() { throw 1; }\n", "throw: errors are Result"},
        Planted{"exceptions", "src/base/out_of_memory.cpp", "// X.\nvoid f() { throw 1; }\n", ""},
        Planted{"libm", "src/models/one/c.cpp", "// X.\nfloat f() { return std::exp(1.0f); }\n", "exp: libm"},
        Planted{"libm", "src/models/one/c.cpp", "// X.\nfloat f() { return tanhf(1.0f); }\n", "tanhf: libm"},
        Planted{"libm", "src/models/one/c.cpp", "// X.\nfloat f() { return exp(lanes) + std::sqrt(2.0f); }\n", ""},
        Planted{"rounding", "src/io/c.cpp", "// X.\nvoid f() { _mm_setcsr(0x8040); }\n", "_mm_setcsr: rounding"},
        Planted{"rounding", "cmake/x.cmake", "add_compile_options(-O3 -ffast-math)\n", "-ffast-math changes results"},
        Planted{"rounding", "Makefile", "FLAGS = -march=native\n", "-march=native changes results"}));

}  // namespace
}  // namespace sluice::structure
