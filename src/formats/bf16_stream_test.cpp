// Tests of bf16_stream.h: what goes in comes out, streams are as long as they say, and nothing that was not made by
// this code is taken for a stream.
#include "formats/bf16_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>

#include "support/bf16_numbers.h"

namespace sluice {
namespace {

using test::bf16_numbers;
using test::Numbers;

// The numbers of a stream, or why there are none.
struct Decoded {
  std::string refusal;
  std::vector<std::byte> numbers;
};
Decoded decode(std::span<const std::byte> bytes, Shape shape) {
  Bf16Stream stream;
  if (auto problem = Bf16Stream::read(bytes, shape, bytes.size(), stream)) return {*problem, {}};
  std::vector<std::byte> numbers(2 * stream.numbers());
  for (std::size_t number = 0; number < stream.chunks(); ++number) {
    const Bf16Chunk chunk = stream.chunk(number);
    if (!decode_chunk(stream.exponents(), chunk, bytes.subspan(chunk.begin, chunk.bytes),
                      std::span(numbers).subspan(2 * kChunkNumbers * number, 2u * chunk.numbers)))
      return {"chunk", {}};
  }
  return {"", std::move(numbers)};
}

TEST(Bf16Stream, GivesBackWhatWentIn) {
  for (const Numbers like : test::kAllNumbers)
    for (const Shape shape : {Shape{1, 1}, {1, 63}, {3, 171}, {1, 512}, {27, 19}, {128, 128}, {5, 3277}, {113, 509}}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(like) << " [" << shape.rows << ", " << shape.cols << "]");
      const auto count = static_cast<std::size_t>(shape.rows * shape.cols);
      const std::vector<std::byte> numbers = bf16_numbers(count, like, count);
      const std::vector<std::byte> stream = encode_matrix(shape, numbers);
      const Decoded decoded = decode(stream, shape);
      EXPECT_EQ(decoded.refusal, "");
      EXPECT_TRUE(decoded.numbers == numbers);
      EXPECT_LE(stream.size(), Bf16Stream::front_bytes(count) + numbers.size());
    }
}

// What a bell curve gives in theory: 11 bits, and 2.5 % escapes of 8; a little more for heads and round sizes.
TEST(Bf16Stream, TakesLessThanThreeQuartersOfTrainedWeights) {
  const Shape shape{256, 1024};
  const std::vector<std::byte> numbers = bf16_numbers(256 * 1024, Numbers::trained, 1);
  const double ratio = static_cast<double>(encode_matrix(shape, numbers).size()) / static_cast<double>(numbers.size());
  EXPECT_LT(ratio, 0.708);
  EXPECT_GT(ratio, 0.695);
}

TEST(Bf16Stream, NoChunkIsLargerThanItsNumbers) {
  for (const Numbers like : test::kAllNumbers) {
    const Shape shape{100, 701};
    const std::vector<std::byte> bytes = encode_matrix(shape, bf16_numbers(70'100, like, 5));
    Bf16Stream stream;
    ASSERT_EQ(Bf16Stream::read(bytes, shape, bytes.size(), stream), std::nullopt);
    for (std::size_t number = 0; number < stream.chunks(); ++number) {
      EXPECT_LE(stream.chunk(number).bytes, 2u * stream.chunk(number).numbers);
      EXPECT_EQ(stream.chunk(number).is_plain(), like == Numbers::noise || (like == Numbers::noisy_end && number >= 2));
    }
  }
}

TEST(Bf16Stream, NumbersThatChangedAreNotEncoded) {
  std::vector<std::byte> numbers = bf16_numbers(1024, Numbers::trained, 1);
  const ExponentCounts counts = count_exponents(numbers);
  const Bf16Stream stream = Bf16Stream::of({1, 1024}, {&counts, 1});
  std::vector<std::byte> to(stream.chunk(0).bytes);
  EXPECT_TRUE(encode_chunk(stream.exponents(), stream.chunk(0), numbers, to));
  for (std::size_t at = 0; at < 256; ++at) numbers[2 * at + 1] = std::byte{0x7f};
  EXPECT_FALSE(encode_chunk(stream.exponents(), stream.chunk(0), numbers, to));
}

class DamagedStream : public testing::Test {
 protected:
  std::string refusal_of(std::size_t at, unsigned value) const {
    std::vector<std::byte> damaged = bytes_;
    damaged[at] = static_cast<std::byte>(value);
    return decode(damaged, shape_).refusal;
  }

  const Shape shape_{30, 600};  // two chunks, the second not full
  const std::vector<std::byte> bytes_ = encode_matrix(shape_, bf16_numbers(18'000, Numbers::trained, 3));
};

TEST_F(DamagedStream, IsRefusedForWhatItIs) {
  EXPECT_NE(refusal_of(0, 'X').find("does not begin"), std::string::npos);
  EXPECT_NE(refusal_of(8, 2).find("version 2, and this program knows version 1"), std::string::npos);
  EXPECT_NE(refusal_of(12, 31).find("[31, 600], wanted is [30, 600]"), std::string::npos);
  EXPECT_NE(refusal_of(22, 0).find("names exponent 0 after"), std::string::npos);
  EXPECT_NE(refusal_of(30, 1).find("nothing"), std::string::npos);
  EXPECT_NE(refusal_of(64 + 1, 0x7f).find("gives a chunk of 16384 numbers"), std::string::npos);
  EXPECT_NE(refusal_of(64, std::to_integer<unsigned>(bytes_[64]) ^ 64).find("its table tells of"), std::string::npos);
  EXPECT_NE(refusal_of(64 + 4, 1).find("nothing"), std::string::npos);
  EXPECT_EQ(refusal_of(bytes_.size() - 1, 7), "chunk");  // behind the last escape
  EXPECT_NE(decode(std::span(bytes_).first(100), shape_).refusal.find("its table alone needs 128"), std::string::npos);
  EXPECT_NE(decode(std::span(bytes_).first(bytes_.size() - 64), shape_).refusal, "");
}

// Any byte: refused, or a stream of as many numbers that differ (a sign, a fraction, another exponent).
TEST_F(DamagedStream, IsNeverReadBeyondItsEnd) {
  std::mt19937 random(11);
  const std::vector<std::byte> numbers = decode(bytes_, shape_).numbers;
  std::size_t refused = 0;
  for (int round = 0; round < 600; ++round) {
    std::vector<std::byte> damaged = bytes_;
    const std::size_t bytes = round % 2 == 0 ? 192 : damaged.size();  // the front as often as all
    for (int fault = 0; fault <= round % 5; ++fault) {
      const std::size_t at = random() % bytes;
      damaged[at] ^= static_cast<std::byte>(1u << random() % 8);
    }
    const Decoded decoded = decode(damaged, shape_);
    refused += decoded.refusal.empty() ? 0 : 1;
    if (decoded.refusal.empty()) {
      EXPECT_EQ(decoded.numbers.size(), numbers.size());
    }
  }
  EXPECT_GT(refused, 200u);
}

TEST_F(DamagedStream, AnEscapeThatHasACodeIsNoEscape) {
  Bf16Stream stream;
  ASSERT_EQ(Bf16Stream::read(bytes_, shape_, bytes_.size(), stream), std::nullopt);
  const Bf16Chunk chunk = stream.chunk(0);
  ASSERT_GT(chunk.escapes, 0);
  EXPECT_EQ(refusal_of(chunk.begin + 32 * kGroupBytes, stream.exponents()[2]), "chunk");
}

}  // namespace
}  // namespace sluice
