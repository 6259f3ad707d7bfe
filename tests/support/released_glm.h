// config.json of the released GLM-5.2, and of two relatives as far as their numbers are known: facts of the GLM-5.2
// specification, section 1.1, and of OLMoE's, section 6.
#pragma once

#include <nlohmann/json.hpp>

namespace sluice::test {

nlohmann::json released_glm_config();
nlohmann::json released_deepseek_v3_config();
nlohmann::json released_kimi_k2_config();

}  // namespace sluice::test
