// What the page's panel shows while an answer is written: the memory plan, and running totals of where weights came
// from. The page asks for it again and again and shows the differences.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/engine_thread.h"

namespace sluice::serve {

// Totals are as of the last forward pass; all sizes in bytes, times in seconds.
nlohmann::ordered_json live_json(const std::string& model, const Engine& engine, const EngineLoad& load,
                                 std::uint64_t resident_bytes);

}  // namespace sluice::serve
