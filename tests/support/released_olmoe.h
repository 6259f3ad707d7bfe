// config.json of the released OLMoE-1B-7B: facts of its specification, section 1.
#pragma once

#include <nlohmann/json.hpp>

namespace sluice::test {

nlohmann::json released_olmoe_config();

}  // namespace sluice::test
