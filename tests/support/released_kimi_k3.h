// config.json of the released Kimi K3, as far as text is concerned: facts of spec section 1.2.
#pragma once

#include <nlohmann/json.hpp>

namespace sluice::test {

nlohmann::json released_kimi_k3_config();

}  // namespace sluice::test
