// Extents are merged where they touch a common page, never overlap in the slot, and keep the file's remainder.
#include "checkpoint/block_layout.h"

#include <gtest/gtest.h>

#include <random>

#include "checkpoint/bound.h"
#include "checkpoint/shard_names.h"

namespace sluice {
namespace {

FoundTensor plain(int file, std::uint64_t offset, std::uint64_t bytes) {
  return {FormatId::f32, {1, static_cast<int>(bytes / 4)}, {file, offset, bytes}, {}};
}

TEST(BlockLayout, NeighboursAreOneRead) {
  const std::vector<FoundTensor> tensors = {plain(0, 100'100, 40'000), plain(0, 100'000, 100), plain(0, 140'100, 8)};
  const BlockLayout layout = lay_out(tensors);
  ASSERT_EQ(layout.extents.size(), 1u);
  EXPECT_EQ(layout.extents[0], (Extent{0, 100'000, 40'108, 100'000 % 4096}));
  EXPECT_EQ(layout.tensors[0].weights, 100'000 % 4096 + 100u);
  EXPECT_EQ(layout.tensors[0].scales, kNoScales);
  EXPECT_EQ(layout.payload_bytes, 40'108u);
  EXPECT_EQ(layout.slot_bytes, 45'056u);
}

TEST(BlockLayout, FilesAndFarRunsAreSeparate) {
  const std::vector<FoundTensor> tensors = {plain(1, 0, 8), plain(0, 4096, 4096), plain(0, 12'288, 8),
                                            plain(0, 12'000, 8)};
  const BlockLayout layout = lay_out(tensors);
  ASSERT_EQ(layout.extents.size(), 4u);  // 12'000 and 12'288 lie on different pages
  EXPECT_EQ(layout.slot_bytes, 4u * 4096);
}

// Whatever the places: every tensor's bytes are inside one extent at the right distance, pages are not shared.
TEST(BlockLayout, HoldsForRandomPlaces) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<FoundTensor> tensors(1 + random() % 8);
    for (FoundTensor& tensor : tensors) {
      tensor = plain(static_cast<int>(random() % 2), random() % 60'000, 4 * (1 + random() % 3000));
      if (random() % 2) tensor.scales = FileRun{static_cast<int>(random() % 2), random() % 60'000, 1 + random() % 300};
    }
    const BlockLayout layout = lay_out(tensors);
    std::uint64_t free_from = 0;
    for (const Extent& extent : layout.extents) {
      ASSERT_EQ(extent.slot_offset % kDiskPage, extent.offset % kDiskPage);
      ASSERT_GE(page_floor(extent.slot_offset), free_from);
      free_from = page_ceil(extent.slot_offset + extent.bytes);
    }
    ASSERT_EQ(free_from, layout.slot_bytes);
    const auto inside = [&](const FileRun& run, std::uint64_t place) {
      for (const Extent& extent : layout.extents)
        if (extent.file == run.file && run.offset >= extent.offset &&
            run.offset + run.bytes <= extent.offset + extent.bytes)
          return place == extent.slot_offset + run.offset - extent.offset;
      return false;
    };
    for (std::size_t tensor = 0; tensor < tensors.size(); ++tensor) {
      ASSERT_TRUE(inside(tensors[tensor].weights, layout.tensors[tensor].weights)) << "round " << round;
      if (tensors[tensor].scales) {
        ASSERT_TRUE(inside(*tensors[tensor].scales, layout.tensors[tensor].scales));
      }
    }
  }
}

// A table returns exactly what was put in, though it keeps most of it only once.
TEST(ExpertTable, ReturnsTheLayoutsItWasGiven) {
  std::mt19937 random(11);
  ExpertTable table(3, 40);
  std::vector<BlockLayout> given;
  std::uint64_t payload = 0, widest = 0;
  for (int expert = 0; expert < 120; ++expert) {
    const std::uint64_t begin = 1'000'000 * static_cast<std::uint64_t>(expert) + random() % 5000;
    std::vector<FoundTensor> tensors = {plain(expert / 40, begin, 4000), plain(expert / 40, begin + 4000, 8000)};
    if (expert % 5 == 0) tensors[1].weights.offset += 100'000;  // apart
    if (expert % 3 == 0) tensors[0].scales = FileRun{expert / 40, begin + 12'000, 30};
    given.push_back(lay_out(tensors));
    payload += given.back().payload_bytes;
    widest = std::max(widest, given.back().slot_bytes);
    table.set(expert / 40, expert % 40, given.back());
  }
  EXPECT_EQ(table.count(), 120);
  EXPECT_EQ(table.payload_bytes(), payload);
  EXPECT_EQ(table.slot_bytes(), widest);
  for (int expert = 0; expert < 120; ++expert) {
    const BlockLayout found = table.layout(expert / 40, expert % 40);
    const BlockLayout& expected = given[static_cast<std::size_t>(expert)];
    EXPECT_EQ(found.extents, expected.extents);
    EXPECT_EQ(found.slot_bytes, expected.slot_bytes);
    EXPECT_EQ(found.payload_bytes, expected.payload_bytes);
    ASSERT_EQ(found.tensors.size(), expected.tensors.size());
    for (std::size_t tensor = 0; tensor < found.tensors.size(); ++tensor) {
      EXPECT_EQ(found.tensors[tensor].weights, expected.tensors[tensor].weights);
      EXPECT_EQ(found.tensors[tensor].scales, expected.tensors[tensor].scales);
      EXPECT_EQ(found.tensors[tensor].shape, expected.tensors[tensor].shape);
    }
  }
}

TEST(ShardNames, NumberingTellsWhatIsMissing) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(missing_shards({"d/model-00001-of-000003.safetensors", "d/model-00003-of-000003.safetensors"}),
            Names{"model-00002-of-000003.safetensors"});
  EXPECT_EQ(missing_shards({"d/model-00002-of-00002.safetensors", "d/model-00001-of-00002.safetensors"}), Names{});
  EXPECT_EQ(missing_shards({"model.safetensors"}), Names{});
  EXPECT_EQ(missing_shards({"-of-.safetensors", "a-of-b.safetensors", "1-of-99999999999999999999.safetensors"}),
            Names{});
}

}  // namespace
}  // namespace sluice
