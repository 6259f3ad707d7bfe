// The random Kimi K3 against what is known of the released one: counts, sizes of files, and the rules for small ones.
#include "models/kimi_k3/synth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "models/kimi_k3/census.h"
#include "models/kimi_k3/config.h"
#include "support/golden_vector.h"
#include "support/must.h"
#include "support/synth_wants.h"

namespace sluice::kimi_k3 {
namespace {

std::uint64_t file_bytes(const std::vector<SynthTensor>& shard) {
  std::vector<StoredTensor> stored;
  for (const SynthTensor& tensor : shard) stored.push_back(tensor.stored);
  return test::must(lay_out_safetensors(std::move(stored))).file_bytes();
}

SynthCheckpoint made(SynthOptions options) { return test::must(synth_checkpoint(options)); }

// Spec section 2.1 gives the exact size of every released shard: one wrong name, shape or type would change it.
void expect_released_sizes(const SynthCheckpoint& full) {
  ASSERT_EQ(full.shards.size(), 95u);
  EXPECT_EQ(file_bytes(full.shards[0]), 2'341'216'112u);
  EXPECT_EQ(file_bytes(full.shards[1]), 16'990'911'504u);   // KDA, one digit
  EXPECT_EQ(file_bytes(full.shards[3]), 16'567'501'776u);   // MLA, one digit
  EXPECT_EQ(file_bytes(full.shards[10]), 16'990'916'912u);  // KDA, two digits
  EXPECT_EQ(file_bytes(full.shards[91]), 16'567'507'176u);  // MLA, two digits
  EXPECT_EQ(file_bytes(full.shards[92]), 16'567'507'176u);
  EXPECT_EQ(file_bytes(full.shards[93]), 4'697'664'072u);
  std::uint64_t text_bytes = 0;
  for (std::size_t shard = 0; shard < 94; ++shard) text_bytes += file_bytes(full.shards[shard]);
  EXPECT_EQ(text_bytes, 1'560'936'091'448u - 92'289'328u - 802'448'352u);
}

void expect_released_config(const nlohmann::json& config) {
  EXPECT_EQ(config["bos_token_id"], 163584);
  EXPECT_EQ(config["eos_token_id"], 163586);
  EXPECT_EQ(config["pad_token_id"], 163839);
  EXPECT_EQ(config["media_placeholder_token_id"], 163605);
  const auto& linear = config["text_config"]["linear_attn_config"];
  EXPECT_EQ(linear["full_attn_layers"], nlohmann::json::parse("[4,8,12,16,20,24,28,32,36,40,44,48,52,56,60,64,68,72,76,"
                                                              "80,84,88,92,93]"));
  EXPECT_EQ(linear["kda_layers"].size(), 69u);
}

// One test, because the list of half a million tensors is made once.
TEST(KimiK3Synth, FullIsTheReleasedModel) {
  const SynthCheckpoint full = made({.scale = SynthScale::full});
  expect_released_sizes(full);
  expect_released_config(nlohmann::json::parse(full.config));
  std::map<Dtype, std::size_t> counts;
  for (std::size_t shard = 0; shard < 94; ++shard)
    for (const SynthTensor& tensor : full.shards[shard]) ++counts[tensor.stored.type];
  EXPECT_EQ(counts[Dtype::u8], 494'592u);
  EXPECT_EQ(counts[Dtype::bf16], 2'122u - 168u);  // without the vision parts
  EXPECT_EQ(counts[Dtype::f32], 506u);
  const std::string& vocabulary = full.texts.at(1).text;
  EXPECT_EQ(std::count(vocabulary.begin(), vocabulary.end(), '\n'), 163'584);
}

// Every field of the golden vector's config, which a loader must accept, is there.
TEST(KimiK3Synth, ConfigIsComplete) {
  const auto& golden = test::golden_vector().at("config");
  for (const int layers : {1, 2, 13}) {
    const auto config = nlohmann::json::parse(made({.layers = layers}).config);
    for (const auto& [field, value] : golden.items()) EXPECT_TRUE(config.contains(field)) << field;
    for (const auto& [field, value] : golden["text_config"].items())
      EXPECT_TRUE(config["text_config"].contains(field)) << field;
    for (const auto& [field, value] : golden["text_config"]["linear_attn_config"].items())
      EXPECT_TRUE(config["text_config"]["linear_attn_config"].contains(field)) << field;
  }
}

TEST(KimiK3Synth, LayerKindsForAnyNumberOfLayers) {
  const std::map<int, std::vector<int>> expected{
      {1, {}}, {2, {2}}, {3, {3}}, {4, {4}}, {5, {4, 5}}, {8, {4, 8}}, {13, {4, 8, 12, 13}}};
  for (const auto& [layers, mla] : expected) {
    const auto config = nlohmann::json::parse(made({.layers = layers}).config);
    const auto& linear = config["text_config"]["linear_attn_config"];
    EXPECT_EQ(linear["full_attn_layers"].get<std::vector<int>>(), mla) << layers;
    EXPECT_EQ(linear["kda_layers"].size() + mla.size(), static_cast<std::size_t>(layers));
  }
}

// Tiny: the same names and types as the golden vector for the same layers and experts; only the widths differ.
TEST(KimiK3Synth, TinyHasTheTensorsOfTheGoldenVector) {
  std::map<std::string, std::pair<Dtype, std::size_t>> golden, tiny;
  for (const test::GoldenTensor& tensor : test::golden_tensors())
    golden[tensor.stored.name] = {tensor.stored.type, tensor.stored.shape.size()};
  const SynthCheckpoint checkpoint = made({.layers = 13, .experts = 12});
  for (std::size_t shard = 0; shard + 1 < checkpoint.shards.size(); ++shard)
    for (const SynthTensor& tensor : checkpoint.shards[shard])
      tiny[tensor.stored.name] = {tensor.stored.type, tensor.stored.shape.size()};
  EXPECT_TRUE(golden == tiny);
}

// What the family asks of a checkpoint is what is written: each tensor, its shape, and none besides the skipped ones.
TEST(KimiK3Synth, IsWhatTheCensusWants) {
  for (const SynthOptions& options :
       {SynthOptions{.layers = 13}, SynthOptions{.layers = 1}, SynthOptions{.layers = 2, .experts = 1},
        SynthOptions{.scale = SynthScale::full, .layers = 5, .experts = 11}}) {
    const SynthCheckpoint checkpoint = made(options);
    const KimiK3Config config = test::must(parse_config(checkpoint.config, "config.json"));
    test::expect_what_is_wanted(checkpoint, census(config, *options.layers));
  }
}

TEST(KimiK3Synth, RefusesTheImpossible) {
  for (const SynthOptions& options :
       {SynthOptions{.layers = 0}, SynthOptions{.layers = -1}, SynthOptions{.experts = 0}}) {
    const auto checkpoint = synth_checkpoint(options);
    ASSERT_FALSE(checkpoint.has_value());
    EXPECT_EQ(checkpoint.error().kind, ErrorKind::bad_input);
  }
  const auto config = nlohmann::json::parse(made({.experts = 2}).config);
  EXPECT_EQ(config["text_config"]["num_experts_per_token"], 2);
}

std::string decoded(const std::string& base64) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned held = 0, bits = 0;
  for (const char digit : base64) {
    if (digit == '=') break;
    held = held << 6 | static_cast<unsigned>(digits.find(digit));
    bits += 6;
    if (bits >= 8) bytes += static_cast<char>(held >> (bits -= 8) & 255u);
  }
  return bytes;
}

TEST(KimiK3Synth, VocabularyIsMergeable) {
  for (const int ranks : {256, 512, 5'000}) {
    std::istringstream lines(synth_tiktoken(ranks, 1));
    std::map<std::string, int> rank_of;
    std::vector<std::string> entries;
    std::string code;
    for (int rank = 0; lines >> code >> rank; entries.push_back(decoded(code))) {
      ASSERT_EQ(rank, static_cast<int>(entries.size()));
      ASSERT_TRUE(rank_of.emplace(decoded(code), rank).second) << "rank " << rank << " repeats an entry";
    }
    ASSERT_EQ(entries.size(), static_cast<std::size_t>(ranks));
    EXPECT_EQ(rank_of["!"], 0);  // spec section 5.1
    EXPECT_EQ(rank_of[std::string(1, '\0')], 188);
    EXPECT_EQ(rank_of["\n"], 198);
    EXPECT_EQ(rank_of[" "], 220);
    EXPECT_EQ(rank_of["\x7f"], 221);
    for (std::size_t rank = 256; rank < entries.size(); ++rank) {
      bool from_two = false;
      for (std::size_t cut = 1; cut < entries[rank].size(); ++cut) {
        const auto left = rank_of.find(entries[rank].substr(0, cut)), right = rank_of.find(entries[rank].substr(cut));
        from_two |= left != rank_of.end() && right != rank_of.end() &&
                    static_cast<std::size_t>(std::max(left->second, right->second)) < rank;
      }
      ASSERT_TRUE(from_two) << "rank " << rank;
    }
  }
}

}  // namespace
}  // namespace sluice::kimi_k3
