// The list of policies. See policy.h.
#include "residency/policy.h"

#include <algorithm>
#include <array>

#include "residency/policies/blended_use.h"
#include "residency/policies/expected_use.h"
#include "residency/policies/layer_recency.h"
#include "residency/policies/lfu.h"
#include "residency/policies/lru.h"
#include "residency/policies/pinned_experts.h"

namespace sluice {

namespace {

using Make = std::unique_ptr<EvictionPolicy> (*)(PolicyShape);
constexpr std::array<std::string_view, 6> kNames = {"default", "expected_use", "layer_recency", "lfu", "lru", "pinned"};
constexpr std::array<Make, kNames.size()> kMakers = {make_blended_use, make_expected_use, make_layer_recency,
                                                     make_lfu,         make_lru,          make_pinned_experts};

}  // namespace

std::span<const std::string_view> policy_names() { return kNames; }

std::unique_ptr<EvictionPolicy> make_policy(std::string_view name, PolicyShape shape) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return nullptr;
  return kMakers[static_cast<std::size_t>(found - kNames.begin())](shape);
}

}  // namespace sluice
