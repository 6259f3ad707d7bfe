// The set that bench index measures has the released files, byte for byte in size.
#include "cli/bench_index.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/tensor_index.h"
#include "support/must.h"
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
  const auto paths = must(write_sparse_shards(
      directory.path().string(),
      {{{"a", StoredType::f32, {1000, 1000}}}, {{"b", StoredType::u8, {7}}, {"c", StoredType::bf16, {3, 2}}}}));
  const TensorIndex index = must(TensorIndex::read(paths, 2));
  EXPECT_EQ(index.count(), 3u);
  EXPECT_EQ(index.find("c")->bytes, 12u);
}

}  // namespace
}  // namespace sluice::cli
