// The tiny checkpoints of tests/golden that came from an oracle, of every family. Tests of what all families promise
// run on each; a new family is its lines here.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace sluice::test {

inline constexpr const char* kGoldenModels[] = {"kimi_k3/a", "kimi_k3/b",     "olmoe/a",      "olmoe/b",
                                                "olmoe/c",   "glm_dsa/a",     "glm_dsa/b",    "glm_dsa/c",
                                                "glm_dsa/d", "deepseek_v4/a", "deepseek_v4/b"};

// "olmoe_a", for names of tests.
inline std::string golden_model_name(const testing::TestParamInfo<const char*>& instance) {
  std::string name(instance.param);
  std::ranges::replace(name, '/', '_');
  return name;
}

}  // namespace sluice::test
