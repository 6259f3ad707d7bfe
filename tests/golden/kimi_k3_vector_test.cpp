// The generator of Kimi K3's golden vector against the checks its specification gives, before any arithmetic uses it.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/numbers.h"
#include "support/golden_vector.h"
#include "support/plain_safetensors.h"
#include "support/relayout.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

std::uint64_t from_hex(const nlohmann::json& text) { return std::stoull(text.get<std::string>(), nullptr, 16); }

double element(const GoldenTensor& tensor, const std::vector<std::byte>& bytes, std::size_t index) {
  if (tensor.stored.type == Dtype::u8) return static_cast<double>(bytes[index]);
  if (tensor.stored.type == Dtype::f32) {
    float value = 0;
    std::memcpy(&value, bytes.data() + 4 * index, 4);
    return value;
  }
  std::uint16_t word = 0;
  std::memcpy(&word, bytes.data() + 2 * index, 2);
  return bf16_to_f32(word);
}

TEST(KimiK3Vector, WorkedValues) {
  std::map<std::string, GoldenTensor> by_name;
  for (const GoldenTensor& tensor : golden_tensors()) by_name.emplace(tensor.stored.name, tensor);
  const auto& checks = golden_vector().at("generator_checks");
  ASSERT_EQ(checks.size(), 13u);
  for (const auto& check : checks) {
    const auto name = check.at("name").get<std::string>();
    SCOPED_TRACE(name);
    const GoldenTensor& tensor = by_name.at(name);
    EXPECT_EQ(dtype_name(tensor.stored.type), check.at("dtype").get<std::string>());
    EXPECT_EQ(tensor.stored.shape, check.at("shape").get<std::vector<std::uint64_t>>());
    const std::uint64_t hash = fnv1a64(std::as_bytes(std::span(name)));
    EXPECT_EQ(hash, from_hex(check.at("h")));
    EXPECT_EQ(golden_word(hash, 0), from_hex(check.at("z0")));
    EXPECT_EQ(golden_word(hash, 1), from_hex(check.at("z1")));
    const std::vector<std::byte> bytes = tensor.bytes();
    for (std::size_t index = 0; index < 4; ++index)
      EXPECT_EQ(element(tensor, bytes, index), check.at("first4").at(index).get<double>());
    EXPECT_EQ(fnv1a64(bytes), from_hex(check.at("fnv1a64_of_stored_bytes")));
  }
}

// Over the files and not over the generator, so that the writer is checked with it.
TEST(KimiK3Vector, WholeCheckpointHashesToTheSpecifiedSum) {
  const TempDir dir;
  write_golden_vector(dir / "golden");
  relayout(dir / "golden", dir / "odd", 1);
  for (const char* layout : {"golden", "odd"}) {
    const auto tensors = read_plain_checkpoint(dir / layout);
    EXPECT_EQ(tensors.size(), golden_vector().at("tensor_count").get<std::size_t>());
    std::uint64_t sum = 0;
    for (const auto& [name, tensor] : tensors) sum += fnv1a64(read_plain_bytes(tensor));
    EXPECT_EQ(sum, from_hex(golden_vector().at("sum_of_fnv1a64_of_stored_bytes_over_all_tensors"))) << layout;
  }
}

// Section 9.7 names the scale bytes that occur; one missing or one more would weaken every test that uses the vector.
TEST(KimiK3Vector, ScaleBytesAndNibblesOfTheSpec) {
  std::set<int> scales, nibbles;
  for (const GoldenTensor& tensor : golden_tensors())
    for (const std::byte byte : tensor.stored.type == Dtype::u8 ? tensor.bytes() : std::vector<std::byte>{}) {
      if (tensor.rule == GoldenRule::scales) scales.insert(static_cast<int>(byte));
      if (tensor.rule == GoldenRule::packed)
        nibbles.insert({static_cast<int>(byte & std::byte{15}), static_cast<int>(byte >> 4)});
    }
  EXPECT_EQ(scales, (std::set<int>{0, 1, 97, 100, 102, 115, 118, 120, 121, 122, 123, 124, 125, 126, 127, 129}));
  EXPECT_EQ(nibbles.size(), 16u);
}

// Lexicographic experts and everything sleeping behind everything always active: what the released files look like.
TEST(KimiK3Vector, ShardsAreLaidOutAsReleased) {
  const TempDir dir;
  write_golden_vector(dir / "golden");
  const auto tensors = read_plain_file(dir / "golden/model-00013-of-000014.safetensors");
  std::vector<std::string> first_of_expert;
  for (const PlainTensor& tensor : tensors)
    if (tensor.name.ends_with("w1.weight_packed"))
      first_of_expert.push_back(tensor.name.substr(tensor.name.rfind("experts.")));
  EXPECT_EQ(first_of_expert.at(1), "experts.1.w1.weight_packed");
  EXPECT_EQ(first_of_expert.at(2), "experts.10.w1.weight_packed");
  EXPECT_EQ(first_of_expert.at(4), "experts.2.w1.weight_packed");
  for (std::size_t index = 1; index < tensors.size(); ++index)
    EXPECT_EQ(tensors[index].offset, tensors[index - 1].offset + tensors[index - 1].bytes);
}

}  // namespace
}  // namespace sluice::test
