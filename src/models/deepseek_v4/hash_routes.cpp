// See hash_routes.h.
#include "models/deepseek_v4/hash_routes.h"

#include <algorithm>

namespace sluice::deepseek_v4 {

void hint_experts(std::span<const IdTable> tables, std::span<const int> tokens, ExpertStore& experts) {
  std::vector<int> given;
  std::vector<ExpertUse> uses;  // ascending, as ExpertGroups has them
  for (std::size_t layer = 0; layer < tables.size(); ++layer) {
    given_experts(tables[layer], tokens, given);
    std::ranges::sort(given);
    uses.clear();
    uses.reserve(given.size());
    for (const int expert : given) {
      if (uses.empty() || uses.back().expert != expert) uses.push_back({expert, 0});
      ++uses.back().rows;
    }
    experts.hint(static_cast<int>(layer), uses);
  }
}

void given_experts(const IdTable& table, std::span<const int> tokens, std::vector<int>& experts) {
  experts.clear();
  for (const int token : tokens) {
    const std::span<const std::uint16_t> ids = table.of(token);
    experts.insert(experts.end(), ids.begin(), ids.end());
  }
}

}  // namespace sluice::deepseek_v4
