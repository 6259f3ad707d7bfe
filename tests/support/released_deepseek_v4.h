// config.json of the released DeepSeek-V4-Flash and DeepSeek-V4-Pro: facts of the family's specification, section 1.1.
#pragma once

#include <nlohmann/json.hpp>

namespace sluice::test {

nlohmann::json released_v4_flash_config();
nlohmann::json released_v4_pro_config();

}  // namespace sluice::test
