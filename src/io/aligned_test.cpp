// Arenas: whole pages, zero; what the system refuses is told with its size and its use.
#include "io/aligned.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/out_of_memory.h"
#include "io/extent.h"

namespace sluice {
namespace {

TEST(PageArena, IsWholePagesOfZeroes) {
  const PageArena arena(kDiskPage + 1);
  ASSERT_EQ(arena.size(), 2 * kDiskPage);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.data()) % kDiskPage, 0u);
  EXPECT_TRUE(std::ranges::all_of(arena.slice(0, arena.size()), [](std::byte byte) { return byte == std::byte{0}; }));
  EXPECT_EQ(PageArena(0).size(), 0u);
}

TEST(PageArena, ARefusalSaysHowMuchWasAskedForAndWhatFor) {
  constexpr std::uint64_t kTooMuch = std::uint64_t{1} << 60;
  try {
    const PageArena arena(kTooMuch, "a test");
    FAIL() << "it was given";
  } catch (const MemoryRefused& refusal) {
    EXPECT_EQ(refusal.bytes(), kTooMuch);
    EXPECT_STREQ(refusal.use(), "a test");
  }
  EXPECT_EQ(PageArena::if_possible(kTooMuch).size(), 0u);
  EXPECT_EQ(PageArena::if_possible(kDiskPage).size(), kDiskPage);
}

}  // namespace
}  // namespace sluice
