// Rows come back as the format defines them, whatever is cached, repeated or read in pieces.
#include "residency/row_table.h"

#include <gtest/gtest.h>

#include <random>

#include "formats/format.h"
#include "support/memory_files.h"

namespace sluice {
namespace {

constexpr int kTableRows = 300;  // in three rows of scales, where 128 share one

class RowTableTest : public testing::TestWithParam<std::tuple<FormatId, int>> {
 protected:
  RowTableTest() : files_(true, {.short_reads = 0.1}) {
    const Format& stored = format(std::get<0>(GetParam()));
    table_ = {"embed", stored.id, {kTableRows, 96}, 0, 1234, 0};
    table_.scales_offset = 3000 + table_.weights_offset + stored.weight_bytes(table_.shape);
    std::vector<std::byte> bytes = test::random_bytes(table_.scales_offset + stored.scale_bytes(table_.shape) + 7, 4);
    for (std::byte& byte : bytes)
      byte = static_cast<std::byte>(std::to_integer<unsigned>(byte) % 120);  // finite, sound
    files_.add(std::move(bytes));
    queue_ = make_pread_queue(files_, 2);
  }
  std::vector<float> expected(int row) {
    const std::byte* file = files_.bytes(0).data();
    std::vector<float> values(static_cast<std::size_t>(table_.shape.cols));
    format(table_.format)
        .decode_row({table_.format, table_.shape, file + table_.weights_offset, file + table_.scales_offset}, row,
                    values);
    return values;
  }

  test::MemoryFiles files_;
  BoundTensor table_;
  std::unique_ptr<ReadQueue> queue_;
};

TEST_P(RowTableTest, EqualsTheDefinition) {
  const int cached = std::get<1>(GetParam());
  const auto rows = make_row_table(table_, cached, *queue_);
  std::mt19937_64 random(3);
  for (int call = 0; call < 40; ++call) {
    std::vector<int> ids(random() % 20);
    for (int& id : ids) id = static_cast<int>(random() % (call % 2 ? 5 : kTableRows));
    std::vector<float> out(ids.size() * 100);
    const Rows view{out.data(), static_cast<int>(ids.size()), 96, 100};
    ASSERT_TRUE(rows->read(ids, view).has_value());
    for (std::size_t token = 0; token < ids.size(); ++token) {
      const auto row = view[static_cast<int>(token)];
      EXPECT_TRUE(std::ranges::equal(row, expected(ids[token])));
    }
  }
  EXPECT_GE(row_table_bytes(table_, cached), static_cast<std::uint64_t>(cached) * kDiskPage);
}

TEST_P(RowTableTest, AFailedReadNamesTheRowAndIsTriedAgain) {
  const auto rows = make_row_table(table_, std::get<1>(GetParam()), *queue_);
  std::vector<float> out(96);
  const Rows view{out.data(), 1, 96, 96};
  const int ids[] = {7};
  files_.set_faults({.failing_reads = 1});
  const auto failed = rows->read(ids, view);
  ASSERT_FALSE(failed.has_value());
  EXPECT_NE(failed.error().what.find("row 7 of embed"), std::string::npos);
  files_.set_faults({});
  ASSERT_TRUE(rows->read(ids, view).has_value());
  EXPECT_EQ(out, expected(7));
}

TEST_P(RowTableTest, RecentRowsAreNotReadAgain) {
  const auto rows = make_row_table(table_, std::get<1>(GetParam()), *queue_);
  std::vector<float> out(96);
  const Rows view{out.data(), 1, 96, 96};
  const int ids[] = {11};
  ASSERT_TRUE(rows->read(ids, view).has_value());
  const std::uint64_t before = rows->stats().bytes_read;
  ASSERT_TRUE(rows->read(ids, view).has_value());
  EXPECT_EQ(rows->stats().bytes_read, before);
}

INSTANTIATE_TEST_SUITE_P(Formats, RowTableTest,
                         testing::Combine(testing::Values(FormatId::f32, FormatId::bf16, FormatId::mxfp4, FormatId::fp8,
                                                          FormatId::int8, FormatId::int4g64),
                                          testing::Values(1, 4, 64)));

}  // namespace
}  // namespace sluice
