// Every number of a table comes back, wide or narrow, wherever the table lies; one out of range is named with its
// place.
#include "residency/id_table.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/memory_files.h"

namespace sluice {
namespace {

// More numbers than one window holds, so that a row is cut by its border.
constexpr int kIdRows = 70'001, kCols = 3, kBelow = 40'000;

int number_at(std::uint64_t index) { return static_cast<int>((index * 2'654'435'761u >> 7) % kBelow); }

class IdTableTest : public testing::TestWithParam<int> {
 protected:
  IdTableTest() : table_{"layers.0.tid", {kIdRows, kCols}, kBelow, 0, 1237, GetParam()} {
    std::vector<std::byte> bytes(table_.offset + kIdRows * kCols * static_cast<std::uint64_t>(table_.id_bytes) + 5);
    files_.add(std::move(bytes));
    for (std::uint64_t index = 0; index < kIdRows * kCols; ++index) store(index, number_at(index));
    queue_ = make_pread_queue(files_, 2);
  }
  void store(std::uint64_t index, std::int64_t value) {  // little-endian, as this machine's
    const auto width = static_cast<std::size_t>(table_.id_bytes);
    std::memcpy(files_.bytes(0).data() + table_.offset + index * width, &value, width);
  }

  test::MemoryFiles files_{true, {.short_reads = 0.2}};
  BoundIds table_;
  std::unique_ptr<ReadQueue> queue_;
};

TEST_P(IdTableTest, HoldsEveryNumber) {
  const Result<IdTable> ids = read_id_table(table_, *queue_);
  ASSERT_TRUE(ids.has_value()) << ids.error().what;
  ASSERT_EQ(ids->rows(), kIdRows);
  for (int row = 0; row < kIdRows; ++row)
    for (int col = 0; col < kCols; ++col)
      ASSERT_EQ(ids->of(row)[static_cast<std::size_t>(col)],
                number_at(static_cast<std::uint64_t>(row) * kCols + static_cast<std::uint64_t>(col)));
  EXPECT_GE(id_table_bytes({&table_, 1}), std::uint64_t{kIdRows} * kCols * 2);
  EXPECT_EQ(id_table_bytes({}), 0u);
}

TEST_P(IdTableTest, ANumberOutOfRangeIsRefusedByItsPlace) {
  for (const std::int64_t value : {std::int64_t{-1}, std::int64_t{kBelow}, std::int64_t{1} << 30}) {
    store(50'000 * kCols + 2, value);
    const Result<IdTable> ids = read_id_table(table_, *queue_);
    ASSERT_FALSE(ids.has_value());
    EXPECT_EQ(ids.error().kind, ErrorKind::corrupt);
    for (const std::string& part : {std::string("layers.0.tid"), files_.path(0), std::string("[50000, 2]"),
                                    std::to_string(value), std::to_string(kBelow - 1)})
      EXPECT_NE(ids.error().what.find(part), std::string::npos) << part << " in: " << ids.error().what;
  }
  store(50'000 * kCols + 2, kBelow - 1);
  EXPECT_TRUE(read_id_table(table_, *queue_).has_value());
}

TEST_P(IdTableTest, AFailedReadNamesTableAndFile) {
  files_.set_faults({.failing_reads = 1});
  const Result<IdTable> ids = read_id_table(table_, *queue_);
  ASSERT_FALSE(ids.has_value());
  EXPECT_EQ(ids.error().kind, ErrorKind::io);
  EXPECT_NE((ids.error().what).find("layers.0.tid"), std::string::npos) << ids.error().what;
}

INSTANTIATE_TEST_SUITE_P(Widths, IdTableTest, testing::Values(4, 8),
                         [](const auto& instance) { return "Bytes" + std::to_string(instance.param); });

}  // namespace
}  // namespace sluice
