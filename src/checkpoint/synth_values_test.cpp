// Values of random checkpoints: finite, of the stated size, and the same however a tensor is cut into pieces.
#include "checkpoint/synth_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include "base/numbers.h"

namespace sluice {
namespace {

std::vector<std::byte> filled(const ValueRule& rule, Dtype type, std::size_t elements, std::uint64_t key = 7) {
  std::vector<std::byte> bytes(elements * dtype_bits(type) / 8);
  fill_values(rule, type, key, 0, bytes);
  return bytes;
}

std::vector<double> numbers(const ValueRule& rule, Dtype type, std::size_t elements) {
  const std::vector<std::byte> bytes = filled(rule, type, elements);
  std::vector<double> out;
  for (std::size_t index = 0; index < elements; ++index) {
    float value = 0;
    std::uint16_t half = 0;
    if (type == Dtype::f32) std::memcpy(&value, &bytes[4 * index], 4);
    if (type == Dtype::bf16) std::memcpy(&half, &bytes[2 * index], 2), value = bf16_to_f32(half);
    out.push_back(value);
  }
  return out;
}

double rms(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST(SynthValues, AnyCutGivesTheSameBytes) {
  const struct {
    ValueRule rule;
    Dtype type;
  } cases[] = {{{ValueKind::around_zero, 0.02}, Dtype::bf16},
               {{ValueKind::near_one}, Dtype::bf16},
               {{ValueKind::near_one}, Dtype::f32},
               {{ValueKind::between, -1, 1}, Dtype::f32},
               {{ValueKind::ramp, -1, 1, 50}, Dtype::f32},
               {{ValueKind::e2m1_codes}, Dtype::u8},
               {{ValueKind::e8m0_near, 0.02}, Dtype::u8},
               {{ValueKind::e4m3_codes}, Dtype::f8_e4m3},
               {{ValueKind::e2m1_codes}, Dtype::i8},
               {{ValueKind::e8m0_near, 0.02}, Dtype::f8_e8m0},
               {{ValueKind::distinct_ids, 11, 0, 3}, Dtype::i64}};
  for (const auto& [rule, type] : cases) {
    const std::uint64_t size = dtype_bits(type) / 8;
    const std::vector<std::byte> whole = filled(rule, type, 103);
    for (std::uint64_t begin = 0; begin <= whole.size(); begin += size)
      for (std::uint64_t end = begin; end <= whole.size(); end += size) {
        std::vector<std::byte> piece(end - begin);
        fill_values(rule, type, 7, begin, piece);
        ASSERT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin() + static_cast<std::ptrdiff_t>(begin)))
            << static_cast<int>(rule.kind) << " from " << begin << " to " << end;
      }
  }
}

TEST(SynthValues, AroundZeroHasItsSizeAndBothSigns) {
  for (const double wanted : {1e-4, 0.0118, 0.3, 1.0, 40.0}) {
    const std::vector<double> values = numbers({ValueKind::around_zero, wanted}, Dtype::bf16, 20'000);
    EXPECT_GT(rms(values), wanted / 1.45);
    EXPECT_LT(rms(values), wanted * 1.45);
    double sum = 0;
    for (const double value : values) sum += value;
    EXPECT_LT(std::abs(sum / 20'000), 0.05 * wanted);
    EXPECT_GT(std::set<double>(values.begin(), values.end()).size(), 900u);  // of 2 x 4 x 128
  }
}

TEST(SynthValues, GainsAreNearOneAndDiffer) {
  for (const Dtype type : {Dtype::bf16, Dtype::f32}) {
    const std::vector<double> values = numbers({ValueKind::near_one}, type, 5'000);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    EXPECT_GE(*least, 0.75);
    EXPECT_LT(*most, 1.5);
    EXPECT_LT(*least, 0.77);
    EXPECT_GT(*most, 1.47);
  }
}

TEST(SynthValues, RampAndRange) {
  const std::vector<double> ramp = numbers({ValueKind::ramp, -0.5, 1.5, 5}, Dtype::f32, 8);
  EXPECT_EQ(ramp, (std::vector<double>{-0.5, 0, 0.5, 1, 1.5, 0, 0, 0}));
  for (const double value : numbers({ValueKind::between, -4, 0}, Dtype::f32, 5'000)) {
    EXPECT_GE(value, -4);
    EXPECT_LE(value, 0);
  }
}

TEST(SynthValues, ScalesAreSoundAndAllCodesOccur) {
  for (const double wanted : {1e-30, 0.0156, 1.0, 1e30}) {
    const std::vector<std::byte> scales = filled({ValueKind::e8m0_near, wanted}, Dtype::u8, 4'000);
    std::set<int> seen;
    for (const std::byte scale : scales) seen.insert(static_cast<int>(scale));
    const int centre = static_cast<int>(std::round(std::log2(wanted))) + 127;
    EXPECT_EQ(seen, (std::set<int>{centre - 1, centre, centre + 1, centre + 2}));
    EXPECT_LT(*seen.rbegin(), static_cast<int>(kE8m0FirstCorrupt));
  }
  std::set<std::byte> codes;
  double sum = 0;
  for (const std::byte byte : filled({ValueKind::e2m1_codes}, Dtype::u8, 20'000)) {
    codes.insert(byte);
    const double value = e2m1_to_f32(static_cast<unsigned>(byte));
    sum += value * value;
  }
  EXPECT_EQ(codes.size(), 256u);
  EXPECT_NEAR(std::sqrt(sum / 20'000), kE2m1Rms, 0.03);
}

TEST(SynthValues, IdsOfARowDiffer) {
  for (const auto& [below, count] : {std::pair{256, 6}, std::pair{12, 3}, std::pair{3, 3}, std::pair{1, 1}}) {
    const std::vector<std::byte> bytes =
        filled({ValueKind::distinct_ids, static_cast<double>(below), 0, static_cast<std::uint64_t>(count)}, Dtype::i64,
               static_cast<std::size_t>(400 * count));
    std::set<std::int64_t> all;
    for (int row = 0; row < 400; ++row) {
      std::set<std::int64_t> ids;
      for (int place = 0; place < count; ++place) {
        std::int64_t id = 0;
        std::memcpy(&id, bytes.data() + 8 * static_cast<std::size_t>(row * count + place), 8);
        EXPECT_GE(id, 0);
        EXPECT_LT(id, below);
        ids.insert(id);
      }
      EXPECT_EQ(ids.size(), static_cast<std::size_t>(count));
      all.insert(ids.begin(), ids.end());
    }
    EXPECT_EQ(all.size(), static_cast<std::size_t>(below));
  }
}

TEST(SynthValues, KeysDependOnSeedAndName) {
  std::set<std::uint64_t> keys;
  for (std::uint64_t seed = 0; seed < 50; ++seed)
    for (const char* name : {"a", "b", "ab", "ba", ""}) keys.insert(value_key(seed, name));
  EXPECT_EQ(keys.size(), 250u);
}

TEST(SynthValues, E4m3CodesAreFiniteAndOfTheirSize) {
  std::vector<double> values;
  std::set<double> different;
  for (const std::byte code : filled({ValueKind::e4m3_codes}, Dtype::f8_e4m3, 40'000)) {
    values.push_back(e4m3_to_f32(std::to_integer<std::uint8_t>(code)));
    different.insert(values.back());
  }
  EXPECT_NEAR(rms(values), kE4m3Rms, 0.01);
  EXPECT_EQ(different.size(), 64u);  // 2 x 4 x 8
  EXPECT_EQ(*different.begin(), -1.875);
}

}  // namespace
}  // namespace sluice
