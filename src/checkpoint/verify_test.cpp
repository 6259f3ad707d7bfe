// Damage inside weights is found by tensor and place, whatever the windows and however tensors lie across them.
#include "checkpoint/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "support/memory_files.h"
#include "support/must.h"
#include "support/shard_by_hand.h"
#include "support/temp_dir.h"

namespace sluice {
namespace {

using test::HandTensor, test::must;
using testing::ElementsAre, testing::IsEmpty;

// All values finite, all scales sound.
std::string calm_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t place = 0; place < count; ++place) bytes[place] = static_cast<char>(place % 61);
  return bytes;
}

class VerifyTest : public testing::Test {
 protected:
  VerifyTest()
      : first_{{"odd", "U8", {3}, "abc"},  // so that what follows is not aligned to its elements
               {"wide", "F32", {40, 100}, calm_bytes(16000)},
               {"half", "BF16", {70, 101}, calm_bytes(14140)},
               {"empty", "BF16", {0, 4}, ""}},
        second_{{"e.weight_packed", "U8", {50, 160}, std::string(8000, '\xff')},
                {"e.weight_scale", "U8", {50, 10}, calm_bytes(500)},
                {"lone_scale", "U8", {4}, "\xff\xff\xff\xff"}} {}

  // Faults as "file tensor: problem".
  std::vector<std::string> faults(test::Faults misbehaviour = {}) {
    write_hand_shard(dir_ / "a.safetensors", first_);
    write_hand_shard(dir_ / "b.safetensors", second_);
    const std::vector<std::string> paths = {dir_ / "a.safetensors", dir_ / "b.safetensors"};
    const TensorIndex index = must(TensorIndex::read(paths, 1));
    test::MemoryFiles files(true, misbehaviour);
    for (const std::string& path : paths) {
      std::ifstream stream(path, std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
      const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
      files.add({begin, begin + bytes.size()});
    }
    std::uint64_t shown = 0;
    const auto found = must(verify_weights(index, files, {.readers = 2, .window_bytes = 4096}, [&](std::uint64_t done) {
      EXPECT_GT(done, shown);
      shown = done;
    }));
    EXPECT_EQ(shown, verify_bytes(files));
    std::vector<std::string> told;
    for (const WeightFault& fault : found)
      told.push_back(std::to_string(fault.file) + " " + fault.tensor + ": " + fault.problem);
    return told;
  }
  template <class Word>
  static void put(HandTensor& tensor, std::size_t element, Word value) {
    std::memcpy(tensor.data.data() + element * sizeof value, &value, sizeof value);
  }

  test::TempDir dir_;
  std::vector<HandTensor> first_, second_;
};

TEST_F(VerifyTest, SoundWeightsHaveNoFaults) {
  EXPECT_THAT(faults(), IsEmpty());
  EXPECT_THAT(faults({.short_reads = 0.5}), IsEmpty());
}

TEST_F(VerifyTest, NamesTensorsAndPlaces) {
  put<std::uint32_t>(first_[1], 3999, 0x7f800000);      // infinity
  put<std::uint16_t>(first_[2], 101 * 12 + 7, 0xffc0);  // NaN
  put<std::uint16_t>(first_[2], 101 * 60, 0x7f80);
  second_[1].data[137] = '\xfd';  // 253
  second_[1].data[499] = '\xfc';  // 252: sound
  EXPECT_THAT(faults(), ElementsAre("0 wide: 1 value is not finite, the first at [39, 99]",
                                    "0 half: 2 values are not finite, the first at [12, 7]",
                                    "1 e.weight_scale: 1 scale byte is corrupt, the first at [13, 7]"));
}

// Elements all over, among them those that lie across the border of two windows.
TEST_F(VerifyTest, FindsADamagedElementWhereverItLies) {
  const std::size_t begin = 8 + test::hand_header(first_).size() + 3;  // of the tensor in its file
  ASSERT_NE(begin % 4, 0u) << "the borders should cut elements";
  std::vector<std::size_t> elements;
  for (std::size_t element = 0; element < 4000; element += 131) elements.push_back(element);
  for (std::size_t border = 4096; border < begin + 16000; border += 4096)
    for (std::size_t near : {1u, 0u}) elements.push_back((border - begin) / 4 - near);
  for (const std::size_t element : elements) {
    const std::string before = first_[1].data;
    put<std::uint32_t>(first_[1], element, 0xff800001);
    ASSERT_THAT(faults(), ElementsAre("0 wide: 1 value is not finite, the first at [" + std::to_string(element / 100) +
                                      ", " + std::to_string(element % 100) + "]"));
    first_[1].data = before;
  }
}

TEST_F(VerifyTest, TellsAFileThatCannotBeRead) {
  const std::vector<std::string> told = faults({.failing_reads = 1});
  ASSERT_EQ(told.size(), 2u);
  EXPECT_THAT(told[0], testing::StartsWith("0 : "));
  EXPECT_THAT(told[1], testing::StartsWith("1 : "));
}

TEST_F(VerifyTest, StopsWhenAsked) {
  write_hand_shard(dir_ / "a.safetensors", first_);
  const std::vector<std::string> paths = {dir_ / "a.safetensors"};
  const auto files = must(open_files(paths, IoMode::automatic));
  CancelFlag cancel;
  cancel.request();
  const auto outcome = verify_weights(must(TensorIndex::read(paths, 1)), *files,
                                      {.window_bytes = 4096, .cancel = &cancel}, [](std::uint64_t) {});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::cancelled);
}

}  // namespace
}  // namespace sluice
