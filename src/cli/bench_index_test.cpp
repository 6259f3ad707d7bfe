// The set that bench index measures has the released files, byte for byte in size.
#include "cli/bench_index.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/checkpoint.h"
#include "checkpoint/tensor_index.h"
#include "models/registry.h"
#include "support/must.h"
#include "support/released_kimi_k3.h"
#include "support/temp_dir.h"

namespace sluice::cli {
namespace {

using test::must;

// Spec section 2.1.
TEST(BenchIndex, SetHasTheSizesOfTheRelease) {
  const auto shards = must(released_shards());
  ASSERT_EQ(shards.size(), 96u);
  std::uint64_t tensors = 0, file_bytes = 0, payload = 0;
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    const SafetensorsLayout layout = must(lay_out_safetensors(shards[shard]));
    tensors += shards[shard].size();
    file_bytes += layout.file_bytes();
    payload += layout.payload_bytes();
    if (shard == 0) {
      EXPECT_EQ(layout.file_bytes(), 2'341'216'112u);
    }
    if (shard == 1) {
      EXPECT_EQ(layout.head.size(), 818'704u);
    }
    if (shard == 3) {
      EXPECT_EQ(layout.file_bytes(), 16'567'501'776u);
    }
    if (shard == 95) {
      EXPECT_EQ(layout.file_bytes(), 802'448'352u);
    }
  }
  EXPECT_EQ(tensors, 497'220u);
  EXPECT_EQ(payload, 1'560'860'324'864u);
  EXPECT_EQ(file_bytes, 1'560'936'091'448u);
}

TEST(BenchIndex, SparseShardsAreIndexed) {
  const test::TempDir directory;
  const auto paths =
      must(write_sparse_shards(directory.path().string(), {{{"a", Dtype::f32, {1000, 1000}}},
                                                           {{"b", Dtype::u8, {7}}, {"c", Dtype::bf16, {3, 2}}}}));
  const TensorIndex index = must(TensorIndex::read(paths, 2));
  EXPECT_EQ(index.count(), 3u);
  EXPECT_EQ(index.find("c")->bytes, 12u);
}

// The released model bound to the released headers: every number of spec sections 2.1, 2.3 and 8.1.
TEST(BenchIndex, ReleasedCensusBindsToReleasedHeaders) {
  const test::TempDir directory;
  must(write_sparse_shards(directory.path().string(), must(released_shards())));
  const auto config = must(read_model_config(test::released_kimi_k3_config().dump(), "config.json"));
  const auto checkpoint = must(open_checkpoint(directory.path().string(), 2));
  BoundCensus bound = must(checkpoint->bind(config->census({93}), false));
  auto& totals = bound.totals;
  EXPECT_EQ(totals["trunk"]["bf16"].bytes + totals["trunk"]["f32"].bytes, 108'811'877'376u);
  EXPECT_EQ(totals["trunk"]["f32"].tensors, 506u);
  EXPECT_EQ(
      totals["trunk"]["bf16"].tensors + totals["embedding"]["bf16"].tensors + totals["head"]["bf16"].tensors + 168,
      2'122u);
  EXPECT_EQ(totals["experts"]["mxfp4"].bytes, 1'446'456'066'048u);
  EXPECT_EQ(totals["experts"]["mxfp4"].tensors, 494'592u);
  EXPECT_EQ(totals["ignored"]["bf16"].tensors, 168u);

  const ExpertTable& experts = bound.experts;
  EXPECT_EQ(experts.count(), 92 * 896);
  EXPECT_EQ(experts.payload_bytes(), 1'446'456'066'048u);
  EXPECT_LE(experts.slot_bytes(), 17'547'264u + 4096);
  EXPECT_FALSE(experts.has(0, 0));
  for (int expert : {0, 1, 10, 895}) {
    const BlockLayout layout = experts.layout(1, expert);
    ASSERT_EQ(layout.extents.size(), 1u) << expert;
    EXPECT_EQ(layout.extents[0].bytes, 17'547'264u);
    // Inside an expert: w1, w2, w3 on disk, each with its scales behind it.
    const std::uint64_t begin = layout.extents[0].slot_offset;
    EXPECT_EQ(layout.tensors[0].scales, begin + 5'505'024);
    EXPECT_EQ(layout.tensors[2].weights, begin + 5'849'088);
    EXPECT_EQ(layout.tensors[1].weights, begin + 11'698'176);
  }
  // Lexicographic order: expert 10 follows expert 1.
  EXPECT_EQ(experts.layout(1, 10).extents[0].offset, experts.layout(1, 1).extents[0].offset + 17'547'264);
  EXPECT_EQ(experts.layout(1, 0).extents[0].offset, 818'704u + 1'267'744'256);
  std::size_t reads = 0;
  for (const BlockLayout& step : bound.walk) reads += step.extents.size();
  EXPECT_LE(reads, 4 * bound.walk.size());
}

}  // namespace
}  // namespace sluice::cli
