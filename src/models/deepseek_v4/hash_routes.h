// Layers that are routed by a table: which experts a token meets there follows from its id alone (spec section 3.8).
//
// So their reads begin when the tokens of a pass are known, before anything was computed.
#pragma once

#include <span>
#include <vector>

#include "residency/expert_store.h"
#include "residency/id_table.h"

namespace sluice::deepseek_v4 {

// Tells the store what the layers of `tables` (0 and those that follow it) will ask for in a pass over `tokens`. Begins
// a pass.
void hint_experts(std::span<const IdTable> tables, std::span<const int> tokens, ExpertStore& experts);

// experts [tokens, width of the table] become those of each row by its token.
void given_experts(const IdTable& table, std::span<const int> tokens, std::vector<int>& experts);

}  // namespace sluice::deepseek_v4
