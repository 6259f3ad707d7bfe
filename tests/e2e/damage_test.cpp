// Damaged checkpoints: a sentence that names the culprit, the right exit code, and not one character of text.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "support/damage.h"
#include "support/plain_safetensors.h"
#include "support/sluice_program.h"

namespace sluice::test {
namespace {

class Damage : public testing::Test {
 protected:
  Damage() { copy_checkpoint(demo_model(), model()); }

  std::filesystem::path model() const { return scratch_ / "model"; }
  std::filesystem::path last_shard() const { return shards_of(model()).back(); }

  void expect_refusal(int exit_code, const std::vector<std::string>& named, const Arguments& more = {}) {
    const Outcome outcome = sluice(Arguments{"run", model().string(), "--prompt", "hi", "--max-tokens", "2"} + more);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    for (const std::string& name : named)
      EXPECT_NE(outcome.err.find(name), std::string::npos) << "does not name " << name << ":\n" << outcome.err;
  }
  void edit(const std::function<void(nlohmann::json& text_config)>& change) {
    edit_config(model(), [&](nlohmann::json& config) { change(config.at("text_config")); });
  }
  // A routed expert's packed weights or scales of the first layer that has experts.
  PlainTensor expert_tensor(const std::string& ending) const {
    for (const auto& [name, tensor] : read_plain_checkpoint(model()))
      if (name.find(".experts.") != std::string::npos && name.ends_with(ending)) return tensor;
    throw std::runtime_error("no expert tensor " + ending);
  }

 private:
  TempDir scratch_;
};

TEST_F(Damage, NoneIsFine) {
  const Outcome outcome = sluice({"run", model().string(), "--prompt", "hi", "--max-tokens", "2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out, "");
}

TEST_F(Damage, AConfigFieldIsMissing) {
  edit([](nlohmann::json& config) { config.erase("q_lora_rank"); });
  expect_refusal(1, {"config.json", "q_lora_rank"});
}

TEST_F(Damage, EveryMissingFieldIsNamedAtOnce) {
  edit([](nlohmann::json& config) {
    config.erase("kv_lora_rank");
    config.erase("attn_res_block_size");
    config.at("linear_attn_config").erase("gate_lower_bound");
  });
  expect_refusal(1, {"kv_lora_rank", "attn_res_block_size", "gate_lower_bound"});
}

TEST_F(Damage, ConfigFieldsContradictEachOther) {
  edit([](nlohmann::json& config) { config["num_experts_per_token"] = 9999; });
  expect_refusal(1, {"num_experts_per_token", "9999"});
}

TEST_F(Damage, TheConfigContradictsTheWeights) {
  edit([](nlohmann::json& config) { config["intermediate_size"] = config["intermediate_size"].get<int>() + 32; });
  const Outcome outcome = sluice({"run", model().string(), "--prompt", "hi"});
  EXPECT_TRUE(outcome.exit_code == 1 || outcome.exit_code == 4) << outcome.exit_code;
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("mlp.down_proj.weight"), std::string::npos) << outcome.err;
}

TEST_F(Damage, TheConfigIsNoJson) {
  std::ofstream(model() / "config.json") << "{\"model_type\": ";
  expect_refusal(1, {"config.json"});
}

TEST_F(Damage, TheConfigIsGone) {
  std::filesystem::remove(model() / "config.json");
  expect_refusal(1, {"config.json"});
}

TEST_F(Damage, TheFamilyIsUnknown) {
  edit_config(model(), [](nlohmann::json& config) { config["model_type"] = "kimi_k4"; });
  expect_refusal(1, {"kimi_k4", "kimi-k3"});
}

TEST_F(Damage, AHeaderByteIsFlipped) {
  // The length of the header (its low and high bytes), its opening brace, the first name's quote.
  for (const std::uint64_t offset : {0u, 3u, 7u, 8u, 9u}) {
    SCOPED_TRACE(offset);
    flip_byte(last_shard(), offset);
    expect_refusal(4, {last_shard().filename().string()});
    flip_byte(last_shard(), offset);
  }
}

TEST_F(Damage, AHeaderByteIs255) {
  const std::string name = last_shard().filename().string();
  for (const std::uint64_t offset : {12u, 40u, 60u}) {
    SCOPED_TRACE(offset);
    TempDir scratch;
    std::filesystem::copy_file(last_shard(), scratch / name);
    overwrite(last_shard(), offset, "\xff");
    expect_refusal(4, {name});
    std::filesystem::copy_file(scratch / name, last_shard(), std::filesystem::copy_options::overwrite_existing);
  }
}

TEST_F(Damage, AShardIsCutShort) {
  const std::string name = last_shard().filename().string();
  for (const bool half : {false, true})
    for (const std::uint64_t bytes : {1u, 4096u}) {
      SCOPED_TRACE(bytes);
      const std::uint64_t size = std::filesystem::file_size(last_shard());
      TempDir scratch;
      std::filesystem::copy_file(last_shard(), scratch / name);
      cut_tail(last_shard(), half ? size / 2 : std::min(bytes, size - 1));
      expect_refusal(4, {name});
      std::filesystem::copy_file(scratch / name, last_shard(), std::filesystem::copy_options::overwrite_existing);
    }
}

TEST_F(Damage, AShardIsEmpty) {
  std::filesystem::resize_file(last_shard(), 0);
  expect_refusal(4, {last_shard().filename().string()});
}

TEST_F(Damage, AShardIsGone) {
  // One of a layer, and the last, whose tensors the text path does not use.
  for (const std::filesystem::path& gone : {shards_of(model()).at(1), shards_of(model()).back()}) {
    TempDir scratch;
    std::filesystem::copy_file(gone, scratch / "kept");
    std::filesystem::remove(gone);
    expect_refusal(4, {gone.filename().string()});
    std::filesystem::copy_file(scratch / "kept", gone);
  }
}

TEST_F(Damage, AnExpertIsMissing) {
  // Renamed in the header, in place: one character of its number becomes a letter.
  const PlainTensor expert = expert_tensor("w2.weight_packed");
  std::ifstream in(expert.file, std::ios::binary);
  const std::string head(std::istreambuf_iterator<char>(in), {});
  const std::size_t at = head.find("\"" + expert.name + "\"");
  ASSERT_NE(at, std::string::npos);
  overwrite(expert.file, at + 1 + expert.name.find(".experts.") + 1, "E");
  expect_refusal(4, {expert.name.substr(0, expert.name.rfind('_')), expert.file.filename().string()});
}

TEST_F(Damage, AScaleIs255) {
  // Found when an expert is read, so all experts of the layer are damaged: whichever is chosen first is refused.
  const PlainTensor scale = expert_tensor("w2.weight_scale");
  const std::string experts = scale.name.substr(0, scale.name.find(".experts.")) + ".experts.";
  for (const auto& [name, tensor] : read_plain_checkpoint(model()))
    if (name.starts_with(experts) && name.ends_with("w2.weight_scale"))
      overwrite(tensor.file, tensor.offset + 3, "\xff");
  expect_refusal(4, {"layer 1 expert", "255", scale.file.filename().string()});
}

}  // namespace
}  // namespace sluice::test
