// Tests of unpack_block.h: whatever a block is made of and wherever its streams lie, its tensors come out as they were,
// within the slot; what is damaged is named.
#include "residency/unpack_block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>

#include "base/units.h"
#include "checkpoint/block_layout.h"
#include "support/bf16_numbers.h"

namespace sluice {
namespace {

using test::Numbers;

struct Tensor {
  Shape shape;
  std::optional<Numbers> like;  // compressed numbers of this kind; none: plain fp32
};

// A file with the tensors one after the other, and the slot that it is read into.
class Block {
 public:
  Block(const std::vector<Tensor>& tensors, std::uint64_t begin, std::uint64_t gap) {
    file_.resize(begin);
    std::vector<FoundTensor> found;
    for (const Tensor& tensor : tensors) {
      const auto count = static_cast<std::size_t>(tensor.shape.rows * tensor.shape.cols);
      wanted_.push_back(
          test::bf16_numbers(tensor.like ? count : 2 * count, tensor.like.value_or(Numbers::noise), count));
      const std::vector<std::byte> stored = tensor.like ? encode_matrix(tensor.shape, wanted_.back()) : wanted_.back();
      found.push_back({tensor.like ? FormatId::bf16 : FormatId::f32,
                       tensor.shape,
                       {0, file_.size(), stored.size()},
                       {},
                       0,
                       tensor.like.has_value()});
      file_.insert(file_.end(), stored.begin(), stored.end());
      file_.resize(file_.size() + gap);
    }
    layout_ = lay_out(found);
  }

  const BlockLayout& layout() const { return layout_; }
  std::vector<std::byte>& file() { return file_; }
  std::byte* read() {
    slot_.assign(layout_.slot_bytes, std::byte{0xee});
    for (const Extent& extent : layout_.extents) {
      EXPECT_EQ(extent.slot_offset % kDiskPage, extent.offset % kDiskPage);
      EXPECT_LE(extent.slot_offset + extent.bytes, slot_.size());
      std::memcpy(slot_.data() + extent.slot_offset, file_.data() + extent.offset, extent.bytes);
    }
    return slot_.data();
  }
  void expect_tensors() const {
    for (std::size_t tensor = 0; tensor < wanted_.size(); ++tensor)
      EXPECT_EQ(
          std::memcmp(slot_.data() + layout_.tensors[tensor].weights, wanted_[tensor].data(), wanted_[tensor].size()),
          0)
          << "tensor " << tensor;
  }

 private:
  std::vector<std::byte> file_, slot_;
  std::vector<std::vector<std::byte>> wanted_;
  BlockLayout layout_;
};

constexpr auto kName = [](std::size_t tensor) { return "tensor " + std::to_string(tensor); };

class UnpackBlock : public testing::Test {
 protected:
  Result<> unpack(Block& block, int threads = 1) {
    ThreadPool pool(threads);
    std::byte* const slot = block.read();
    return BlockUnpacker({&block.layout(), 1}, pool, best_kernels()).unpack(block.layout(), slot, kName);
  }
  void expect_unpacked(const std::vector<Tensor>& tensors, std::uint64_t begin = 100, std::uint64_t gap = 0) {
    Block block(tensors, begin, gap);
    for (const int threads : {1, 3}) {
      const Result<> done = unpack(block, threads);
      ASSERT_TRUE(done) << done.error().what;
      block.expect_tensors();
    }
  }
};

TEST_F(UnpackBlock, AnyTensors) {
  expect_unpacked({{{128, 96}, Numbers::trained}});
  expect_unpacked({{{1, 30}, {}}, {{128, 96}, Numbers::trained}, {{7, 900}, Numbers::few_escapes}});
  expect_unpacked({{{64, 300}, Numbers::trained}, {{50, 50}, {}}, {{64, 301}, Numbers::zeros}}, 4096, 9000);
  expect_unpacked({{{30, 30}, {}}, {{40, 41}, {}}});
}

// Larger than what may be copied aside, so that numbers follow closely behind the streams.
TEST_F(UnpackBlock, LargeTensorsWithinTheirSlot) {
  for (const Numbers like : test::kAllNumbers) {
    SCOPED_TRACE(static_cast<int>(like));
    const std::vector<Tensor> tensors = {
        {{1, 1000}, {}}, {{350, 2000}, Numbers::trained}, {{500, 2048}, like}, {{3, 999}, Numbers::few_escapes}};
    expect_unpacked(tensors, 64);
    const Block block(tensors, 64, 0);
    std::uint64_t whole = 0;
    for (const Tensor& tensor : tensors)
      whole += static_cast<std::uint64_t>(tensor.shape.rows * tensor.shape.cols) * (tensor.like ? 2 : 4);
    EXPECT_LE(block.layout().slot_bytes, whole + 5 * kDiskPage) << "a slot is as large as what it holds";
  }
}

TEST_F(UnpackBlock, RandomBlocks) {
  std::mt19937 random(3);
  const auto below = [&](unsigned end) { return static_cast<int>(random() % end); };
  for (int round = 0; round < 60; ++round) {
    std::vector<Tensor> tensors;
    for (int count = 1 + below(5); count > 0; --count) {
      const int rows = 1 + below(60);
      const int cols = 40 + below(round % 10 == 0 ? 9000 : 900);
      const int kind = below(6);
      tensors.push_back({{rows, cols}, kind == 5 ? std::nullopt : std::optional(test::kAllNumbers[kind])});
    }
    const auto begin = static_cast<std::uint64_t>(below(9000));
    expect_unpacked(tensors, begin, round % 3 == 0 ? static_cast<std::uint64_t>(below(20'000)) : 0);
  }
}

TEST_F(UnpackBlock, DamageIsNamed) {
  const std::vector<Tensor> tensors = {{{1, 30}, {}}, {{128, 96}, Numbers::trained}, {{90, 900}, Numbers::trained}};
  Block front(tensors, 0, 0), chunk(tensors, 0, 0);
  const CompressedTensor& last = front.layout().compressed.back();
  const std::uint64_t at = front.file().size() - last.bytes;
  front.file()[at] = {};
  Result<> done = unpack(front);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::corrupt);
  EXPECT_EQ(done.error().what, "tensor 2 does not begin as a compressed tensor does");
  std::fill_n(chunk.file().begin() + static_cast<std::ptrdiff_t>(at) + 128, 24, std::byte{0xff});  // all are escapes
  done = unpack(chunk);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().what, "tensor 2 has a chunk that asks for other escapes than it has");
}

// Whatever the bytes are: an error or numbers, nothing outside of the slot (which sanitizers see).
TEST_F(UnpackBlock, NoDamageLeavesTheSlot) {
  std::mt19937 random(8);
  const std::vector<Tensor> tensors = {{{128, 96}, Numbers::trained}, {{90, 500}, Numbers::trained}};
  const Block sound(tensors, 0, 0);
  for (int round = 0; round < 200; ++round) {
    Block block = sound;
    for (int fault = 0; fault < 3; ++fault) {
      const std::size_t at = random() % (round % 2 == 0 ? 192 : block.file().size());
      block.file()[at] ^= static_cast<std::byte>(1 + random() % 255);
    }
    const Result<> done = unpack(block);
    if (!done) {
      EXPECT_EQ(done.error().kind, ErrorKind::corrupt);
    }
  }
}

TEST(BlockUnpacker, NothingIsHeldWhereNothingIsCompressed) {
  const std::vector<FoundTensor> found = {{FormatId::f32, {10, 10}, {0, 0, 400}, {}}};
  const std::vector<BlockLayout> layouts = {lay_out(found)};
  EXPECT_EQ(BlockUnpacker::bytes(layouts), 0u);
}

}  // namespace
}  // namespace sluice
