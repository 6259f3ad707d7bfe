// Tables of whole numbers are bound by either name and in either width, and refused by name otherwise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "support/must.h"
#include "support/shard_by_hand.h"
#include "support/temp_dir.h"

namespace sluice {
namespace {

using test::hand_bytes, test::HandTensor;
using testing::HasSubstr;

Census wanted() {
  Census census;
  census.embedding = {"embed.weight", {10, 8}, 0, 0, 1, {{"model.embed.weight", {10, 8}}}};
  census.id_tables = {{{"layers.0.ids", {10, 3}, 0, 0, 1, {{"model.layers.0.ids", {10, 3}}}}, 7}};
  return census;
}

Result<BoundCensus> bind_with(const std::vector<HandTensor>& tables, const char* embedding = "embed.weight") {
  const test::TempDir dir;
  std::vector<HandTensor> tensors = {{embedding, "BF16", {10, 8}, hand_bytes(160, 1)}};
  tensors.insert(tensors.end(), tables.begin(), tables.end());
  test::write_hand_shard(dir / "model.safetensors", tensors);
  TRY_TAKE(const std::unique_ptr<Checkpoint> checkpoint, open_checkpoint(dir.path().string(), 1));
  return checkpoint->bind(wanted(), false);
}

std::string refusal(const std::vector<HandTensor>& tables, const char* embedding = "embed.weight") {
  const auto bound = bind_with(tables, embedding);
  EXPECT_FALSE(bound);
  if (bound) return "";
  EXPECT_EQ(bound.error().kind, ErrorKind::corrupt);
  return bound.error().what;
}

TEST(BoundIds, EitherNameAndWidth) {
  for (const char* name : {"layers.0.ids", "model.layers.0.ids"})
    for (const char* type : {"I64", "I32"}) {
      const int width = type[1] == '6' ? 8 : 4;
      BoundCensus bound =
          test::must(bind_with({{name, type, {10, 3}, hand_bytes(static_cast<std::size_t>(30 * width), 2)}}));
      ASSERT_EQ(bound.id_tables.size(), 1u);
      EXPECT_EQ(bound.id_tables[0].name, name);
      EXPECT_EQ(bound.id_tables[0].shape, (Shape{10, 3}));
      EXPECT_EQ(bound.id_tables[0].below, 7);
      EXPECT_EQ(bound.id_tables[0].id_bytes, width);
      EXPECT_GE(bound.id_tables[0].offset, 160u);
      EXPECT_EQ(bound.totals["trunk"][width == 8 ? "i64" : "i32"].bytes, static_cast<std::uint64_t>(30 * width));
    }
}

TEST(BoundIds, WhatDoesNotFitIsNamed) {
  EXPECT_THAT(refusal({}), HasSubstr("missing 1 tensor: 'layers.0.ids'"));
  EXPECT_THAT(refusal({}, "model.embed.weight"), HasSubstr("missing 1 tensor: 'model.layers.0.ids'"));
  EXPECT_THAT(refusal({{"layers.0.ids", "I64", {3, 10}, hand_bytes(240, 2)}}),
              HasSubstr("'layers.0.ids' in model.safetensors has shape [3, 10], wanted is [10, 3]"));
  for (const char* name : {"layers.0.ids", "model.layers.0.ids"})
    EXPECT_THAT(refusal({{name, "F32", {10, 3}, hand_bytes(120, 2)}}),
                HasSubstr(std::string("'") + name + "' in model.safetensors is stored as F32, wanted is I64"));
}

}  // namespace
}  // namespace sluice
