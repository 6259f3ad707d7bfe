// Memory is spread over all nodes that the process may use, and only where there are several and nobody has decided
// otherwise. On a machine with one node the real call is made with that one.
#include "io/memory_nodes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "io/aligned.h"
#include "io/extent.h"

namespace sluice {
namespace {

TEST(MemoryNodes, OnlySeveralThatNobodyHasDecidedAboutAreSpreadOver) {
  struct Case {
    MemoryNodes nodes;
    bool spread;
  };
  const Case cases[] = {{{{0, 1}, "", ""}, true},
                        {{{0, 2, 5}, "", ""}, true},
                        {{{3}, "", ""}, false},
                        {{{0, 1}, "", "bind"}, false},
                        {{{}, "this program was built without libnuma", ""}, false}};
  const PageArena arena(4 * kDiskPage);
  for (const Case& one : cases) {
    int calls = 0;
    spread(arena.slice(0, arena.size()), one.nodes, [&](std::span<std::byte> memory, std::span<const int> nodes) {
      ++calls;
      EXPECT_EQ(memory.data(), arena.data());
      EXPECT_EQ(memory.size(), arena.size());
      EXPECT_TRUE(std::ranges::equal(nodes, one.nodes.ids));
      return std::string("refused");  // which is no reason to stop
    });
    EXPECT_EQ(calls, one.spread ? 1 : 0);
    EXPECT_EQ(one.nodes.to_spread_over(), one.spread);
  }
}

TEST(MemoryNodes, TheNodesOfThisProcessTakeMemory) {
  const MemoryNodes nodes = memory_nodes();
  if (nodes.ids.empty()) {
    EXPECT_NE(nodes.unknown, "");
    GTEST_SKIP() << nodes.unknown;
  }
  EXPECT_TRUE(std::ranges::is_sorted(nodes.ids));
  const PageArena arena(64 * kDiskPage);
  const std::span<std::byte> memory = arena.slice(0, arena.size());
  if (const std::string refusal = interleave(memory, nodes.ids); !refusal.empty())
    GTEST_SKIP() << "the system refuses: " << refusal;
  std::ranges::fill(memory, std::byte{1});
  EXPECT_NE(interleave(memory, std::vector<int>{1023}), "");  // no such node
}

}  // namespace
}  // namespace sluice
