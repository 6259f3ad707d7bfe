// Damaged checkpoints of DeepSeek-V4, where they differ from those of Kimi K3 (damage_test.cpp): scales of their own
// type in a run of their own, a table that routes, fields that must never be guessed.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "support/damage.h"
#include "support/plain_safetensors.h"
#include "support/sluice_program.h"

namespace sluice::test {
namespace {

class DamageOfV4 : public testing::Test {
 protected:
  DamageOfV4() { copy_checkpoint(std::filesystem::path(SLUICE_SOURCE_DIR) / "demo/deepseek-v4", model()); }

  std::filesystem::path model() const { return scratch_ / "model"; }
  Outcome run() const { return sluice({"run", model().string(), "--prompt", "hi", "--max-tokens", "2"}); }
  void expect_refusal(int exit_code, const std::vector<std::string>& named) {
    const Outcome outcome = run();
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    for (const std::string& name : named)
      EXPECT_NE(outcome.err.find(name), std::string::npos) << "does not name " << name << ":\n" << outcome.err;
  }
  void edit(const std::function<void(nlohmann::json& config)>& change) { edit_config(model(), change); }
  PlainTensor tensor(const std::string& name) const { return read_plain_checkpoint(model()).at(name); }
  // Spoils a name in a header, in place: the letter at `place` of it.
  void rename(const std::string& name, std::size_t place) {
    const std::filesystem::path file = tensor(name).file;
    const std::string head = head_of(file);
    const std::size_t at = head.find("\"" + name + "\"");
    ASSERT_NE(at, std::string::npos);
    overwrite(file, at + 1 + place, "E");
  }
  void set_byte_of_all(const std::string& prefix, const std::string& ending, std::uint64_t offset, const char* byte) {
    for (const auto& [name, found] : read_plain_checkpoint(model()))
      if (name.starts_with(prefix) && name.ends_with(ending)) overwrite(found.file, found.offset + offset, byte);
  }

 private:
  static std::string head_of(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  TempDir scratch_;
};

TEST_F(DamageOfV4, NoneIsFine) {
  const Outcome outcome = run();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out, "");
}

TEST_F(DamageOfV4, FieldsThatHaveNoDefaultAreNamedTogether) {
  edit([](nlohmann::json& config) {
    for (const char* field : {"compress_ratios", "hc_mult", "swiglu_limit"}) config.erase(field);
  });
  expect_refusal(1, {"config.json", "compress_ratios", "hc_mult", "swiglu_limit"});
}

TEST_F(DamageOfV4, WhatIsNotBuiltIsRefusedByName) {
  const nlohmann::json whole = nlohmann::json::parse(std::ifstream(model() / "config.json"));
  const auto refused = [&](const char* field, const nlohmann::json& value) {
    SCOPED_TRACE(field);
    edit([&](nlohmann::json& config) {
      config = whole;
      config[field] = value;
    });
    expect_refusal(1, {field == std::string("model_type") ? value.get<std::string>() : std::string(field)});
  };
  refused("scoring_func", "softmax");
  refused("expert_dtype", "nvfp4");
  refused("model_type", "deepseek_v41");
  refused("hidden_act", "gelu");
}

TEST_F(DamageOfV4, AScaleOfAnExpertIs255) {
  // All experts of the layer: whichever is chosen first is refused.
  set_byte_of_all("layers.2.ffn.experts.", "w2.scale", 3, "\xff");
  expect_refusal(4, {"layer 2 expert", "255", tensor("layers.2.ffn.experts.0.w2.scale").file.filename().string()});
}

TEST_F(DamageOfV4, AScaleOfTheTrunkIs255) {
  set_tensor_byte(model(), "layers.1.attn.wq_b.scale", 0, 255);
  expect_refusal(4, {"layers.1.attn.wq_b", "255", tensor("layers.1.attn.wq_b.scale").file.filename().string()});
}

TEST_F(DamageOfV4, ATableNamesAnExpertThatThereIsNot) {
  set_tensor_byte(model(), "layers.1.ffn.gate.tid2eid", 8 * 37 + 2, 1);  // 65536 and more
  expect_refusal(4, {"layers.1.ffn.gate.tid2eid", tensor("layers.1.ffn.gate.tid2eid").file.filename().string()});
}

TEST_F(DamageOfV4, ATensorIsMissing) {
  for (const char* name : {"layers.3.ffn.experts.5.w1.scale", "layers.0.attn.wkv.scale", "layers.1.ffn.gate.tid2eid",
                           "layers.2.ffn.experts.1.w3.weight"}) {
    SCOPED_TRACE(name);
    const std::string file = tensor(name).file.filename().string();
    rename(name, 10);
    expect_refusal(4, {name, file});
    std::filesystem::remove_all(model());
    copy_checkpoint(std::filesystem::path(SLUICE_SOURCE_DIR) / "demo/deepseek-v4", model());
  }
}

TEST_F(DamageOfV4, AShardIsCutInTheWeightsOfItsExperts) {
  const PlainTensor last = tensor("layers.2.ffn.experts.9.w3.weight");
  cut_tail(last.file, last.bytes / 2);
  expect_refusal(4, {last.file.filename().string()});
}

// `verify` finds what a run may not meet: each kind of scale and number.
TEST_F(DamageOfV4, VerifyNamesEveryDamagedTensor) {
  const char* const damaged[] = {"layers.0.attn.wo_a.scale", "layers.3.ffn.experts.7.w1.scale", "mtp.0.e_proj.scale",
                                 "layers.0.ffn.shared_experts.w2.weight"};
  for (const char* name : damaged) set_tensor_byte(model(), name, 0, std::string(name).ends_with("scale") ? 255 : 0x7f);
  const Outcome outcome = sluice({"verify", model().string()});
  EXPECT_EQ(outcome.exit_code, 4);
  for (const char* name : damaged)
    EXPECT_NE((outcome.out + outcome.err).find(name), std::string::npos) << name << "\n" << outcome.out << outcome.err;
}

}  // namespace
}  // namespace sluice::test
