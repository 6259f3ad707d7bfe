// Layers that are routed by a table: which experts a token meets there follows from its id alone (spec section 3.8).
//
// So their reads begin when the tokens of a pass are known, before anything was computed.
#pragma once

#include <span>

#include "moe/router.h"
#include "residency/expert_store.h"
#include "residency/id_table.h"

namespace sluice::deepseek_v4 {

// Tells the store what the layers of `tables` (0 and those that follow it) will ask for in a pass over `tokens`. Begins
// a pass.
void hint_experts(std::span<const IdTable> tables, std::span<const int> tokens, ExpertStore& experts);

// The experts of each row by its token, with the weights that the rule makes of scores [rows, experts]. Requires:
// rule.top_k numbers in a row of the table.
Routes hash_routes(const IdTable& table, std::span<const int> tokens, Rows scores, const RouterRule& rule);

}  // namespace sluice::deepseek_v4
