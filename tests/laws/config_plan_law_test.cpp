// A plan from a config alone is that of the checkpoint: formats as the releases store them, bytes of the published
// totals, and memory as it is measured once the checkpoint is there, packed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "engine/config_survey.h"
#include "io/extent.h"
#include "models/deepseek_v4/synth.h"
#include "models/glm_dsa/synth.h"
#include "models/kimi_k3/synth.h"
#include "models/olmoe/synth.h"
#include "support/engine/packed.h"
#include "support/must.h"
#include "support/released_deepseek_v4.h"
#include "support/released_glm.h"
#include "support/released_kimi_k3.h"
#include "support/released_olmoe.h"
#include "support/temp_dir.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

struct Family {
  const char* name;
  Result<SynthCheckpoint> (*synth)(const SynthOptions&);
  bool fp8;
};

EngineOptions options_for(bool draft_head) {
  EngineOptions options;
  options.threads = 2;
  options.context = 64;
  options.draft_head = draft_head;
  return options;
}

class ConfigPlanLaw : public testing::TestWithParam<Family> {
 protected:
  ConfigPlanLaw() {
    const SynthOptions options{.layers = 5, .experts = 7, .fp8 = GetParam().fp8, .seed = 1};
    must(write_synth(must(GetParam().synth(options)), (scratch_ / "source").string(),
                     {.durability = Durability::cached}, [](auto, auto) {}));
    pack_checkpoint(scratch_ / "source", scratch_ / "packed", 1 << 20);
  }
  fs::path directory() const { return scratch_ / "packed"; }

 private:
  TempDir scratch_;
};

TEST_P(ConfigPlanLaw, IsThatOfTheCheckpoint) {
  for (const bool draft : {false, true}) {
    SCOPED_TRACE(draft);
    const EngineOptions options = options_for(draft);
    const Survey real = must(survey(must(know_model(directory().string())), options));
    const ConfigSurvey told = must(survey_config((directory() / "config.json").string(), options));
    EXPECT_GE(told.assumed.size(), 3u);
    const BoundCensus &is = real.bound, &assumed = told.survey.bound;

    ASSERT_EQ(assumed.walk.size(), is.walk.size());
    for (std::size_t step = 0; step < is.walk.size(); ++step) {
      SCOPED_TRACE(is.specs[step].label);
      ASSERT_EQ(assumed.walk[step].tensors.size(), is.walk[step].tensors.size());
      for (std::size_t tensor = 0; tensor < is.walk[step].tensors.size(); ++tensor)
        EXPECT_EQ(assumed.walk[step].tensors[tensor].format, is.walk[step].tensors[tensor].format)
            << is.specs[step].tensors[tensor].name;
      EXPECT_EQ(assumed.walk[step].payload_bytes, is.walk[step].payload_bytes);
      // Slices begin where the slice before ended, and those with scales are two runs.
      EXPECT_LE(assumed.walk[step].slot_bytes, is.walk[step].slot_bytes);
      EXPECT_GE(assumed.walk[step].slot_bytes + 2 * kDiskPage, is.walk[step].slot_bytes);
    }
    EXPECT_EQ(assumed.experts.payload_bytes(), is.experts.payload_bytes());
    EXPECT_EQ(assumed.experts.slot_bytes(), is.experts.slot_bytes());
    EXPECT_EQ(assumed.experts.count(), is.experts.count());
    EXPECT_EQ(assumed.embedding.format, is.embedding.format);

    const PlanNeeds &needs = real.needs, &guess = told.survey.needs;
    EXPECT_EQ(guess.state_bytes, needs.state_bytes);
    EXPECT_EQ(guess.scratch_bytes, needs.scratch_bytes);
    EXPECT_EQ(guess.embedding_bytes, needs.embedding_bytes);
    EXPECT_EQ(guess.experts_in_use, needs.experts_in_use);
    EXPECT_EQ(guess.expert_layers, needs.expert_layers);
    EXPECT_NEAR(static_cast<double>(guess.baseline_bytes), static_cast<double>(needs.baseline_bytes), 1 << 20);
  }
}

INSTANTIATE_TEST_SUITE_P(OfEveryFamily, ConfigPlanLaw,
                         testing::Values(Family{"k3", kimi_k3::synth_checkpoint, false},
                                         Family{"olmoe", olmoe::synth_checkpoint, false},
                                         Family{"glm", glm_dsa::synth_checkpoint, false},
                                         Family{"glm_fp8", glm_dsa::synth_checkpoint, true},
                                         Family{"v4", deepseek_v4::synth_checkpoint, false},
                                         Family{"v4_pro", deepseek_v4::synth_pro_checkpoint, false}),
                         [](const auto& tested) { return std::string(tested.param.name); });

std::uint64_t released_bytes(nlohmann::json config) {
  const TempDir scratch;
  const fs::path file = scratch / "config.json";
  std::ofstream(file) << config.dump();
  const ConfigSurvey told = must(survey_config(file.string(), options_for(true)));
  std::uint64_t bytes = 0;
  for (const auto& [role, formats] : told.survey.bound.totals)
    for (const auto& [name, total] : formats) bytes += total.bytes;
  return bytes;
}

// Specs: DeepSeek-V4, section 2.4; GLM-5.2, 0 and 2.3; OLMoE, 2; Kimi K3, 2.1 (text alone: trunk, experts, and its
// shard 94).
TEST(ConfigPlan, TotalsAreThePublishedOnes) {
  EXPECT_EQ(released_bytes(released_v4_flash_config()), 159'609'485'896u);
  EXPECT_EQ(released_bytes(released_v4_pro_config()), 864'704'792'696u);
  nlohmann::json glm = released_glm_config();
  EXPECT_EQ(released_bytes(glm), 1'506'659'919'872u);
  glm["quantization_config"] = {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}};
  EXPECT_EQ(released_bytes(glm), 755'617'140'416u);
  EXPECT_EQ(released_bytes(released_olmoe_config()), 13'838'323'712u);
  EXPECT_EQ(released_bytes(released_kimi_k3_config()), 108'811'877'376u + 1'446'456'066'048u + 4'697'663'488u);
}

TEST(ConfigPlan, WhatAConfigHasWrongIsTold) {
  const TempDir scratch;
  const fs::path file = scratch / "config.json";
  const auto refusal = [&](const std::string& text) {
    std::ofstream(file) << text;
    const auto told = survey_config(file.string(), options_for(false));
    return told ? std::string("none") : told.error().what;
  };
  EXPECT_NE(refusal("{").find("is not a JSON object"), std::string::npos);
  EXPECT_NE(refusal(R"({"model_type": "x"})").find("'x' is not a family"), std::string::npos);
  EXPECT_EQ(survey_config((scratch / "none").string(), {}).error().kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace sluice::test
