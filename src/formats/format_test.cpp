// Tests of format.h and its formats: bytes of a released checkpoint, round trips, slices, byte counts.
#include "formats/format.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "formats/fp8_block.h"
#include "formats/int_group.h"
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
  EXPECT_EQ(find_corrupt_scale(ScaleKind::e8m0, scales), -1);
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

// A matrix stored in every quantised format by PyTorch's own number types (tools/formats/make_format_goldens.py).
TEST(Formats, QuantisedFormatsAreThoseOfPyTorch) {
  std::ifstream file(SLUICE_SOURCE_DIR "/tests/golden/formats/quantised.json");
  const nlohmann::json fixture = nlohmann::json::parse(file);
  const Shape shape = {fixture["rows"], fixture["columns"]};
  const std::vector<std::byte> words = from_base64(fixture["bf16_base64"]);
  std::vector<float> values(words.size() / 2);
  const WeightView plain{FormatId::bf16, {1, static_cast<int>(values.size())}, words.data(), nullptr};
  kBf16.decode_row(plain, 0, values);
  for (unsigned code = 0; code < 256; ++code) {
    const float value = e4m3_to_f32(static_cast<std::uint8_t>(code));
    const nlohmann::json& expected = fixture["e4m3_values"][code];
    EXPECT_EQ(std::isnan(value), expected.is_null()) << code;
    if (!expected.is_null()) {
      EXPECT_EQ(value, expected.get<float>()) << code;
    }
  }
  std::size_t seen = 0;
  for (const auto& [name, golden] : fixture["formats"].items()) {
    const Format* const as = find_format(name);
    ASSERT_NE(as, nullptr) << name;
    std::vector<std::byte> weights(as->weight_bytes(shape)), scales(as->scale_bytes(shape));
    as->encode_rows(values, shape, weights.data(), scales.data());
    EXPECT_EQ(sha256(scales), golden["scales_sha256"].get<std::string>()) << name;
    EXPECT_EQ(sha256(weights), golden["weights_sha256"].get<std::string>()) << name;
    const WeightView view{as->id, shape, weights.data(), scales.data()};
    std::vector<float> decoded(values.size());
    for (int row = 0; row < shape.rows; ++row)
      as->decode_row(
          view, row,
          std::span(decoded).subspan(static_cast<std::size_t>(row * shape.cols), static_cast<std::size_t>(shape.cols)));
    for (std::size_t i = 0; i < golden["first_decoded"].size(); ++i)
      EXPECT_EQ(decoded[i], golden["first_decoded"][i].get<float>()) << name << " column " << i;
    EXPECT_EQ(sha256(bytes_of(decoded)), golden["decoded_f32le_sha256"].get<std::string>()) << name;
    ++seen;
  }
  EXPECT_EQ(seen, 7u);
}

TEST(Formats, CorruptScalesAreFound) {
  std::vector<std::byte> scales(1000, std::byte{252});
  EXPECT_EQ(find_corrupt_scale(ScaleKind::e8m0, scales), -1);
  scales[700] = std::byte{254};
  scales[900] = std::byte{255};
  EXPECT_EQ(find_corrupt_scale(ScaleKind::e8m0, scales), 700);
  scales[0] = std::byte{253};
  EXPECT_EQ(find_corrupt_scale(ScaleKind::e8m0, scales), 0);
  EXPECT_EQ(find_corrupt_scale(ScaleKind::e8m0, {}), -1);
}

TEST(Formats, ScalesThatAreNotFiniteAreFound) {
  std::vector<std::byte> scales(1 + 4 * 100);
  const auto put = [&](int index, float value) { store_f32(&scales[1 + 4 * static_cast<std::size_t>(index)], value); };
  const auto found = [&] { return find_corrupt_scale(ScaleKind::f32, std::span(scales).subspan(1)); };
  for (int index = 0; index < 100; ++index) put(index, index < 30 ? static_cast<float>(index) * 1e37f : -0.f);
  EXPECT_EQ(found(), -1);
  put(70, std::nanf(""));
  EXPECT_EQ(found(), 70);
  put(20, -INFINITY);
  EXPECT_EQ(found(), 20);
  EXPECT_EQ(find_corrupt_scale(ScaleKind::none, scales), -1);
}

class EveryFormat : public ::testing::TestWithParam<const Format*> {
 protected:
  const Format& as_ = *GetParam();

  struct Stored {
    std::vector<std::byte> weights, scales;
    WeightView view;
  };
  Stored stored(const std::vector<float>& values, Shape shape) const {
    Stored made;
    made.weights.resize(as_.weight_bytes(shape));
    made.scales.resize(as_.scale_bytes(shape));
    as_.encode_rows(values, shape, made.weights.data(), made.scales.data());
    made.view = {as_.id, shape, made.weights.data(), made.scales.empty() ? nullptr : made.scales.data()};
    return made;
  }
  // Values of very different size, so that scales differ.
  std::vector<float> numbers(Shape shape) {
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<std::size_t>(shape.rows) * static_cast<std::size_t>(shape.cols));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = std::ldexp(normal(random_), static_cast<int>(random_() % 4) - static_cast<int>(i / 40 % 10));
    return values;
  }
  static std::vector<float> decoded(const WeightView& view, int row) {
    std::vector<float> values(static_cast<std::size_t>(view.shape.cols));
    format(view.format).decode_row(view, row, values);
    return values;
  }
  static std::vector<float> decoded(const WeightView& view) {
    std::vector<float> all;
    for (int row = 0; row < view.shape.rows; ++row) {
      const std::vector<float> values = decoded(view, row);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }
  int usable(int cols) const { return (cols + as_.block_cols - 1) / as_.block_cols * as_.block_cols; }

  std::mt19937 random_{1};
};

TEST_P(EveryFormat, IsListedUnderItsIdAndName) {
  EXPECT_EQ(&format(as_.id), &as_);
  EXPECT_EQ(formats()[static_cast<std::size_t>(as_.id)], &as_);
  EXPECT_EQ(find_format(as_.name), &as_);
  EXPECT_EQ(find_format(std::string(as_.name) + "x"), nullptr);
}

// What a format can hold survives being stored again: bit for bit, or up to the last bit of an fp32 scale.
TEST_P(EveryFormat, EncodingWhatWasDecodedChangesNothing) {
  for (const Shape shape : {Shape{6, 96}, Shape{1, usable(1)}, Shape{3, usable(77)}, Shape{130, usable(300)}}) {
    const Stored once = stored(numbers(shape), shape);
    const std::vector<float> values = decoded(once.view);
    const Stored again = stored(values, shape);
    if (as_.id != FormatId::fp8_e8m0) {  // there a value may have two codes
      EXPECT_EQ(again.weights, once.weights);
    }
    if (as_.scales != ScaleKind::f32) {
      EXPECT_EQ(bytes_of(decoded(again.view)), bytes_of(values));
      continue;
    }
    for (std::size_t at = 0; at < once.scales.size(); at += 4)
      EXPECT_NEAR(load_f32(&again.scales[at]) / load_f32(&once.scales[at]), 1, 0x1p-22);
  }
}

// No stored value is further from the number than half a step of the format there.
TEST_P(EveryFormat, EncodingIsNearest) {
  const Shape shape = {200, usable(333)};
  const std::vector<float> values = numbers(shape), back = decoded(stored(values, shape).view);
  float worst = 0;
  std::map<std::pair<std::size_t, std::size_t>, float> largest_of;  // by group of a scale
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t row = i / static_cast<std::size_t>(shape.cols), col = i % static_cast<std::size_t>(shape.cols);
    const auto shares = [&](int rows, int cols) {  // the largest magnitude that shares the scale of number i
      const auto down = static_cast<std::size_t>(rows), across = static_cast<std::size_t>(cols ? cols : shape.cols);
      const auto [known, unknown] = largest_of.try_emplace({row / down, col / across});
      float& largest = known->second;
      if (!unknown) return largest;
      for (std::size_t r = row / down * down; r < std::min(row / down * down + down, std::size_t{200}); ++r)
        for (std::size_t c = col / across * across;
             c < std::min(col / across * across + across, static_cast<std::size_t>(shape.cols)); ++c)
          largest = std::max(largest, std::fabs(values[r * static_cast<std::size_t>(shape.cols) + c]));
      return largest;
    };
    const float size = std::fabs(values[i]);
    float step = 0;  // half of it is allowed
    switch (as_.id) {
      case FormatId::f32:
        step = 0;
        break;
      case FormatId::bf16:
        step = size * 0x1p-7f;
        break;
      case FormatId::f16:
        step = std::max(size * 0x1p-10f, 0x1p-24f);
        break;
      case FormatId::mxfp4:
        step = shares(1, 32);
        break;  // its own test is sharper
      case FormatId::fp8:
        step = std::max(size * 0x1p-3f, shares(128, 128) / 448 * 0x1p-9f);
        break;
      case FormatId::fp8_e8m0:
        step = std::max(size * 0x1p-3f, shares(128, 128) / 224 * 0x1p-9f);
        break;
      case FormatId::int8:
        step = shares(1, 0) / 127;
        break;
      case FormatId::int4:
        step = shares(1, 0) / 7;
        break;
      case FormatId::int4g32:
        step = shares(1, 32) / 7;
        break;
      case FormatId::int4g64:
        step = shares(1, 64) / 7;
        break;
      case FormatId::int4g128:
        step = shares(1, 128) / 7;
        break;
    }
    ASSERT_LE(std::fabs(back[i] - values[i]), step * 0.50001f) << "row " << row << " column " << col;
    worst = std::max(worst, step);
  }
  EXPECT_EQ(worst > 0, as_.id != FormatId::f32);
}

// A matrix that is stored in bands of whole rows of scales is the matrix stored at once.
TEST_P(EveryFormat, BandsAreTheWhole) {
  const Shape shape = {2 * as_.scale_rows + 5, usable(150)};
  const std::vector<float> values = numbers(shape);
  const Stored whole = stored(values, shape);
  std::vector<std::byte> weights, scales;
  for (int row = 0; row < shape.rows; row += as_.scale_rows) {
    const Shape band = {std::min(as_.scale_rows, shape.rows - row), shape.cols};
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(row) * shape.cols;
    const Stored part = stored({first, first + static_cast<std::ptrdiff_t>(band.rows) * band.cols}, band);
    weights.insert(weights.end(), part.weights.begin(), part.weights.end());
    scales.insert(scales.end(), part.scales.begin(), part.scales.end());
  }
  EXPECT_EQ(weights, whole.weights);
  EXPECT_EQ(scales, whole.scales);
}

// Also slices of slices, and where rows share scales slices that begin and end inside of a block.
TEST_P(EveryFormat, SlicesAreRowsOfTheWhole) {
  const int rows = as_.scale_rows == 1 ? 9 : 300;
  const Stored whole = stored(numbers({rows, 64}), {rows, 64});
  for (int first = 0; first <= rows; first += 1 + first / 9) {
    const WeightView slice = whole.view.row_slice(first, rows - first);
    EXPECT_EQ(slice.shape, (Shape{rows - first, 64}));
    EXPECT_EQ(slice.scales == nullptr, whole.view.scales == nullptr);
    for (int row = 0; row < slice.shape.rows; ++row)
      EXPECT_EQ(bytes_of(decoded(slice, row)), bytes_of(decoded(whole.view, first + row)));
    const WeightView inner = slice.row_slice(slice.shape.rows / 2, slice.shape.rows - slice.shape.rows / 2);
    for (int row = 0; row < inner.shape.rows; ++row)
      EXPECT_EQ(bytes_of(decoded(inner, row)), bytes_of(decoded(slice, slice.shape.rows / 2 + row)));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryFormat, ::testing::ValuesIn(formats()),
                         [](const auto& each) { return std::string(each.param->name); });

TEST(Formats, ByteCounts) {
  EXPECT_EQ(kF32.weight_bytes({3, 5}), 60u);
  EXPECT_EQ(kBf16.weight_bytes({3, 5}), 30u);
  EXPECT_EQ(kBf16.scale_bytes({3, 5}), 0u);
  EXPECT_EQ(kMxfp4.weight_bytes({3072, 3584}), 5'505'024u);  // spec of Kimi K3, 2.3
  EXPECT_EQ(kMxfp4.scale_bytes({3072, 3584}), 344'064u);
  // Spec of GLM-5.2, 2.2 and 2.3: kv_a's lowest blocks have 64 rows; an expert in every form.
  EXPECT_EQ(kFp8.scale_bytes({576, 6144}), 4u * 5 * 48);
  EXPECT_EQ(kFp8E8m0.scale_bytes({129, 129}), 4u);
  const auto expert = [](const Format& as) {
    return 2 * (as.weight_bytes({2048, 6144}) + as.scale_bytes({2048, 6144})) + as.weight_bytes({6144, 2048}) +
           as.scale_bytes({6144, 2048});
  };
  EXPECT_EQ(expert(kFp8), 37'757'952u);
  EXPECT_EQ(expert(kInt4), 18'915'328u);
  EXPECT_EQ(expert(kInt4Group64), 21'233'664u);
  EXPECT_EQ(expert(kInt4Group128), 20'054'016u);
  EXPECT_EQ(kInt4.weight_bytes({2, 5}), 6u);
  EXPECT_EQ(kInt4Group32.scale_bytes({2, 33}), 16u);
  EXPECT_EQ(kInt8.scale_bytes({7, 100}), 28u);
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
    kMxfp4.encode_rows(values, {1, kMxfp4Group}, packed.data(), &scale);
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
