// See hash_routes.h.
#include "models/deepseek_v4/hash_routes.h"

#include <map>
#include <vector>

namespace sluice::deepseek_v4 {

void hint_experts(std::span<const IdTable> tables, std::span<const int> tokens, ExpertStore& experts) {
  for (std::size_t layer = 0; layer < tables.size(); ++layer) {
    std::map<int, int> rows;  // by expert, as group_by_expert counts them
    for (const int token : tokens)
      for (const std::uint16_t expert : tables[layer].of(token)) ++rows[expert];
    std::vector<ExpertUse> uses;
    for (const auto& [expert, count] : rows) uses.push_back({expert, count});
    experts.hint(static_cast<int>(layer), uses);
  }
}

Routes hash_routes(const IdTable& table, std::span<const int> tokens, Rows scores, const RouterRule& rule) {
  std::vector<int> experts;
  for (const int token : tokens) {
    const std::span<const std::uint16_t> ids = table.of(token);
    experts.insert(experts.end(), ids.begin(), ids.end());
  }
  return weigh_experts(scores, experts, rule);
}

}  // namespace sluice::deepseek_v4
