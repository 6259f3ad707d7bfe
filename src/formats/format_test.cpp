// Tests of format.h and its formats: bytes of a released checkpoint, round trips, slices, byte counts.
#include "formats/format.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "base/numbers.h"
#include "formats/mxfp4.h"
#include "formats/plain.h"

namespace sluice {
namespace {

std::vector<std::byte> from_base64(const std::string& text) {
  const std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::byte> decoded;
  unsigned bits = 0, held = 0;
  for (char c : text) {
    const std::size_t value = alphabet.find(c);
    if (value == std::string_view::npos) break;  // padding
    bits = bits << 6 | static_cast<unsigned>(value);
    held += 6;
    if (held >= 8) decoded.push_back(static_cast<std::byte>(bits >> (held -= 8)));
  }
  return decoded;
}

// FIPS 180-4; the round constants are the fractional parts of cube roots of primes, as defined there.
std::string sha256(std::vector<std::byte> message) {
  const auto fraction = [](long double root) {
    return static_cast<std::uint32_t>((root - std::floor(root)) * 4294967296.0L);
  };
  std::vector<std::uint32_t> k, h;
  for (int n = 2; k.size() < 64; ++n) {
    bool prime = true;
    for (int d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
    if (!prime) continue;
    if (h.size() < 8) h.push_back(fraction(std::sqrt(static_cast<long double>(n))));
    k.push_back(fraction(std::cbrt(static_cast<long double>(n))));
  }
  const std::uint64_t length = message.size() * 8;
  message.push_back(std::byte{0x80});
  while (message.size() % 64 != 56) message.push_back(std::byte{0});
  for (int shift = 56; shift >= 0; shift -= 8) message.push_back(static_cast<std::byte>(length >> shift));
  for (std::size_t block = 0; block < message.size(); block += 64) {
    std::array<std::uint32_t, 64> w{};
    for (std::size_t i = 0; i < 64; ++i) w[i / 4] = w[i / 4] << 8 | std::to_integer<std::uint32_t>(message[block + i]);
    for (std::size_t i = 16; i < 64; ++i)
      w[i] = w[i - 16] + (std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
             (std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10);
    std::vector<std::uint32_t> s = h;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::uint32_t t1 = s[7] + (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                               ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
      const std::uint32_t t2 = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) +
                               ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
      s = {t1 + t2, s[0], s[1], s[2], s[3] + t1, s[4], s[5], s[6]};
    }
    for (std::size_t i = 0; i < 8; ++i) h[i] += s[i];
  }
  std::string text;
  for (std::uint32_t word : h)
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 15];
  return text;
}

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(Formats, Sha256OfTheTestIsRight) {
  EXPECT_EQ(sha256({std::byte{'a'}, std::byte{'b'}, std::byte{'c'}}),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Formats, Mxfp4DecodesTheBytesOfTheRelease) {
  std::ifstream file(SLUICE_SOURCE_DIR "/tests/golden/formats/k3_mxfp4_rows.json");
  const nlohmann::json fixture = nlohmann::json::parse(file);
  const int rows = fixture["rows"], cols = fixture["columns"];
  const std::vector<std::byte> packed = from_base64(fixture["packed_base64"]);
  const std::vector<std::byte> scales = from_base64(fixture["scales_base64"]);
  const WeightView view{FormatId::mxfp4, {rows, cols}, packed.data(), scales.data()};
  ASSERT_EQ(packed.size(), kMxfp4.weight_bytes(view.shape));
  ASSERT_EQ(scales.size(), kMxfp4.scale_bytes(view.shape));
  EXPECT_EQ(find_corrupt_scale(scales), -1);
  std::vector<float> decoded;
  for (int row = 0; row < rows; ++row) {
    std::vector<float> values(static_cast<std::size_t>(cols));
    kMxfp4.decode_row(view, row, values);
    decoded.insert(decoded.end(), values.begin(), values.end());
  }
  const std::vector<float> first = fixture["expected_first_64"];
  for (std::size_t i = 0; i < first.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(decoded[i]), std::bit_cast<std::uint32_t>(first[i])) << i;
  EXPECT_EQ(sha256(bytes_of(decoded)), fixture["expected_f32le_sha256"].get<std::string>());
}

TEST(Formats, CorruptScalesAreFound) {
  std::vector<std::byte> scales(1000, std::byte{252});
  EXPECT_EQ(find_corrupt_scale(scales), -1);
  scales[700] = std::byte{254};
  scales[900] = std::byte{255};
  EXPECT_EQ(find_corrupt_scale(scales), 700);
  scales[0] = std::byte{253};
  EXPECT_EQ(find_corrupt_scale(scales), 0);
  EXPECT_EQ(find_corrupt_scale({}), -1);
}

class EveryFormat : public ::testing::TestWithParam<FormatId> {
 protected:
  struct Stored {
    std::vector<std::byte> weights, scales;
    WeightView view;
  };
  // Encodes random rows; values of very different size, so that scales differ.
  Stored random_matrix(int rows, int cols) {
    const Format& as = format(GetParam());
    Stored made;
    made.view = {GetParam(), {rows, cols}, nullptr, nullptr};
    made.weights.resize(as.weight_bytes(made.view.shape));
    made.scales.resize(as.scale_bytes(made.view.shape));
    std::normal_distribution<float> normal;
    for (int row = 0; row < rows; ++row) {
      std::vector<float> values(static_cast<std::size_t>(cols));
      for (float& value : values) value = std::ldexp(normal(random_), static_cast<int>(random_() % 20) - 10);
      as.encode_row(values, made.weights.data() + static_cast<std::uint64_t>(row) * as.row_weight_bytes(cols),
                    made.scales.data() + static_cast<std::uint64_t>(row) * as.row_scale_bytes(cols));
    }
    made.view.weights = made.weights.data();
    made.view.scales = made.scales.empty() ? nullptr : made.scales.data();
    return made;
  }
  static std::vector<float> decoded(const WeightView& view, int row) {
    std::vector<float> values(static_cast<std::size_t>(view.shape.cols));
    format(view.format).decode_row(view, row, values);
    return values;
  }

  std::mt19937 random_{1};
};

TEST_P(EveryFormat, IsListedUnderItsId) {
  EXPECT_EQ(format(GetParam()).id, GetParam());
  EXPECT_EQ(formats()[static_cast<std::size_t>(GetParam())], &format(GetParam()));
}

// What a format can hold survives being stored again, bit for bit.
TEST_P(EveryFormat, EncodingWhatWasDecodedChangesNothing) {
  const Format& as = format(GetParam());
  const Stored stored = random_matrix(6, 96);
  for (int row = 0; row < 6; ++row) {
    const std::vector<float> values = decoded(stored.view, row);
    std::vector<std::byte> weights(as.row_weight_bytes(96)), scales(as.row_scale_bytes(96));
    as.encode_row(values, weights.data(), scales.data());
    const WeightView again{GetParam(), {1, 96}, weights.data(), scales.data()};
    EXPECT_EQ(bytes_of(decoded(again, 0)), bytes_of(values));
  }
}

TEST_P(EveryFormat, SlicesAreRowsOfTheWhole) {
  const Stored stored = random_matrix(9, 64);
  for (int first = 0; first <= 9; ++first) {
    const WeightView slice = stored.view.row_slice(first, 9 - first);
    EXPECT_EQ(slice.shape, (Shape{9 - first, 64}));
    EXPECT_EQ(slice.scales == nullptr, stored.view.scales == nullptr);
    for (int row = 0; row < slice.shape.rows; ++row)
      EXPECT_EQ(bytes_of(decoded(slice, row)), bytes_of(decoded(stored.view, first + row)));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryFormat, ::testing::Values(FormatId::f32, FormatId::bf16, FormatId::mxfp4),
                         [](const auto& each) { return std::string(format(each.param).name); });

TEST(Formats, ByteCounts) {
  EXPECT_EQ(kF32.weight_bytes({3, 5}), 60u);
  EXPECT_EQ(kBf16.weight_bytes({3, 5}), 30u);
  EXPECT_EQ(kBf16.scale_bytes({3, 5}), 0u);
  EXPECT_EQ(kMxfp4.weight_bytes({3072, 3584}), 5'505'024u);  // spec of Kimi K3, 2.3
  EXPECT_EQ(kMxfp4.scale_bytes({3072, 3584}), 344'064u);
}

// Nothing is further from its stored value than half a step of the group's largest.
TEST(Formats, Mxfp4EncodingIsNearest) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::vector<float> values(kMxfp4Group), back(kMxfp4Group);
    for (float& value : values) value = std::ldexp(normal(random), repeat - 100);
    if (repeat == 0) values.assign(kMxfp4Group, 0.f);
    std::array<std::byte, 16> packed{};
    std::byte scale{};
    kMxfp4.encode_row(values, packed.data(), &scale);
    kMxfp4.decode_row({FormatId::mxfp4, {1, kMxfp4Group}, packed.data(), &scale}, 0, back);
    const float unit = e8m0_to_f32(std::to_integer<std::uint8_t>(scale));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float size = std::fabs(values[i]) / unit, error = std::fabs(back[i] - values[i]) / unit;
      EXPECT_LE(size, 8.f);
      EXPECT_LE(error, size < 2 ? 0.25f : size < 4 ? 0.5f : size <= 6 ? 1.f : 2.f);
    }
  }
}

}  // namespace
}  // namespace sluice
