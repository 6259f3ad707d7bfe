// Requests in which every expert is used by one row.
#pragma once

#include <span>
#include <vector>

#include "residency/policy.h"

namespace sluice::test {

inline std::vector<ExpertUse> used_once(std::span<const int> experts) {
  std::vector<ExpertUse> uses;
  for (const int expert : experts) uses.push_back({expert, 1});
  return uses;
}

}  // namespace sluice::test
