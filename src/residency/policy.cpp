// The list of policies. See policy.h.
#include "residency/policy.h"

#include "residency/policies/expected_use.h"
#include "residency/policies/lru.h"

namespace sluice {

namespace {

constexpr std::string_view kNames[] = {"default", "lru"};

}  // namespace

std::span<const std::string_view> policy_names() { return kNames; }

std::unique_ptr<EvictionPolicy> make_policy(std::string_view name, PolicyShape shape) {
  if (name == "default") return make_expected_use(shape);
  if (name == "lru") return make_lru(shape);
  return nullptr;
}

}  // namespace sluice
