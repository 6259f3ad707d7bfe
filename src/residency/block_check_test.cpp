// Corrupt scales are found in every format that has some, within the bytes that belong to the rows held, and nowhere
// else.
#include "residency/block_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "formats/format.h"
#include "support/memory_files.h"

namespace sluice {
namespace {

class BlockCheck : public testing::TestWithParam<const Format*> {};

TEST_P(BlockCheck, FindsTheCorruptScaleAndSaysWhereItIs) {
  const Format& stored = *GetParam();
  test::MemoryFiles files;
  files.add(std::vector<std::byte>(8));
  constexpr std::uint64_t kFileOffset = 70'001, kBefore = 5;
  const Placement rows = {stored.id, {200, 320}, 0, kBefore, 100 % stored.scale_rows};
  const ScaleRun run = stored.scale_run(320, rows.scale_phase, 200);
  const auto width = static_cast<std::uint64_t>(scale_width(stored.scales));
  BlockLayout layout;
  layout.tensors = {rows};
  layout.extents = {{0, kFileOffset, kBefore + run.bytes, 0}};
  const auto check = [&](const std::vector<std::byte>& slot) {
    return check_scales(layout, slot.data(), files, [](std::size_t) { return "the matrix"; });
  };
  std::vector<std::byte> slot(kBefore + run.bytes + 8, std::byte{0xff});  // as a scale: NaN
  for (std::uint64_t at = 0; at < run.bytes; ++at) slot[kBefore + at] = std::byte{100};
  EXPECT_TRUE(check(slot));
  for (const std::uint64_t index : {std::uint64_t{0}, run.bytes / width / 2, run.bytes / width - 1}) {
    std::vector<std::byte> damaged = slot;
    for (std::uint64_t byte = 0; byte < width; ++byte) damaged[kBefore + index * width + byte] = std::byte{0xff};
    const auto found = check(damaged);
    ASSERT_FALSE(found) << index;
    EXPECT_EQ(found.error().kind, ErrorKind::corrupt);
    const std::string place = "at byte " + std::to_string(kFileOffset + kBefore + index * width);
    EXPECT_NE(found.error().what.find(place), std::string::npos) << found.error().what;
    EXPECT_NE(found.error().what.find("the matrix: scale "), std::string::npos) << found.error().what;
    EXPECT_NE(found.error().what.find(std::to_string(index)), std::string::npos) << found.error().what;
  }
}

std::vector<const Format*> with_scales() {
  std::vector<const Format*> found;
  for (const Format* one : formats())
    if (one->scales != ScaleKind::none) found.push_back(one);
  return found;
}
INSTANTIATE_TEST_SUITE_P(Formats, BlockCheck, testing::ValuesIn(with_scales()),
                         [](const auto& each) { return std::string(each.param->name); });

}  // namespace
}  // namespace sluice
