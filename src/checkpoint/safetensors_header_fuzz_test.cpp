// Random damage to a small header, twenty thousand times: never a crash, and whatever is still accepted is consistent.
//
// Seeded, so that a failure repeats; the round is printed. Meant to run under the sanitizers too.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "checkpoint/safetensors_header.h"
#include "support/shard_by_hand.h"

namespace sluice {
namespace {

constexpr int kRounds = 20'000;

std::string sound_header() {
  return R"({"__metadata__":{"format":"pt"},)" +
         test::hand_header({{"layers.0.A_log", "F32", {4}, std::string(16, 'a')},
                            {"layers.0.q.weight", "BF16", {3, 5}, std::string(30, 'b')},
                            {"layers.0.conv", "F32", {2, 1, 4}, std::string(32, 'c')},
                            {"experts.0.w1.weight_packed", "U8", {2, 16}, std::string(32, 'd')},
                            {"tall", "U8", {1, 2, 1, 2, 1, 3}, std::string(12, 'e')}})
             .substr(1) +
         "   ";
}

// One of: a bit, a byte, a piece removed, doubled, swapped with another, a number or a bracket put in.
void damage(std::string& text, std::mt19937& random) {
  const auto place = [&] { return random() % (text.size() + 1); };
  const std::size_t at = place() % std::max<std::size_t>(text.size(), 1), other = place();
  const std::size_t length = 1 + random() % 12;
  static const char* const kPieces[] = {"[",
                                        "]",
                                        "{",
                                        "}",
                                        ",",
                                        ":",
                                        "\"",
                                        "\\",
                                        "\\u0000",
                                        "-1",
                                        "18446744073709551615",
                                        "4294967296",
                                        "1e999",
                                        "null",
                                        "true",
                                        "\xff",
                                        "\xc3\xa9",
                                        "\"dtype\":",
                                        "\"F64\"",
                                        "\n",
                                        "__metadata__"};
  switch (random() % 7) {
    case 0:
      if (!text.empty()) text[at] = static_cast<char>(text[at] ^ (1 << random() % 8));
      break;
    case 1:
      if (!text.empty()) text[at] = static_cast<char>(random());
      break;
    case 2:
      text.erase(std::min(at, text.size()), length);
      break;
    case 3:
      text.insert(std::min(other, text.size()), text.substr(std::min(at, text.size()), 5 * length));
      break;
    case 4:
      text.insert(std::min(at, text.size()), kPieces[random() % std::size(kPieces)]);
      break;
    case 5:
      text.insert(std::min(at, text.size()), std::string(length * 300, random() % 2 ? '[' : '{'));
      break;
    default:
      for (char& letter : text)
        if (letter >= '0' && letter <= '9' && random() % 40 == 0) letter = static_cast<char>('0' + random() % 10);
  }
}

void expect_consistent(const SafetensorsHeader& header, const HeaderPlace& place) {
  std::vector<const TensorRecord*> tensors;
  for (const TensorRecord& tensor : header.tensors) {
    std::uint64_t bits = dtype_bits(tensor.dtype);
    for (std::uint32_t size : header.shape(tensor)) bits *= size;
    EXPECT_EQ(bits, 8 * tensor.bytes);
    EXPECT_GE(tensor.offset, place.data_begin);
    EXPECT_LE(tensor.offset + tensor.bytes, place.file_bytes);
    if (tensor.bytes > 0) tensors.push_back(&tensor);
  }
  std::sort(tensors.begin(), tensors.end(), [](auto* left, auto* right) { return left->offset < right->offset; });
  for (std::size_t next = 1; next < tensors.size(); ++next)
    EXPECT_GE(tensors[next]->offset, tensors[next - 1]->offset + tensors[next - 1]->bytes);
}

TEST(SafetensorsHeaderFuzz, DamageIsRefusedOrHarmless) {
  const std::string sound = sound_header();
  constexpr std::uint64_t kData = 16 + 30 + 32 + 32 + 12;
  HeaderParser parser;
  int refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    std::mt19937 random(static_cast<unsigned>(round));
    std::string text = sound;
    for (unsigned times = random() % 4; round > 0 && times-- > 0;) damage(text, random);
    const std::size_t length = text.size();
    // A buffer of just the size that is promised, so that the sanitizers see a step beyond it.
    std::vector<char> buffer(text.begin(), text.end());
    buffer.resize(length + HeaderParser::padding());
    buffer.shrink_to_fit();
    const HeaderPlace place{"fuzzed.safetensors", 0, 8 + length + kData, 8 + length};
    const auto header = parser.parse({buffer.data(), length}, place);
    if (header) {
      expect_consistent(*header, place);
    } else {
      ++refused;
      EXPECT_EQ(header.error().kind, ErrorKind::corrupt);
      EXPECT_NE(header.error().what.find("fuzzed.safetensors: "), std::string::npos);
    }
    ASSERT_TRUE(header || round > 0) << header.error().what;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(refused, kRounds / 2);
  EXPECT_LT(refused, kRounds);
}

}  // namespace
}  // namespace sluice
