// Rules that the configs of several families share: bounds of sizes, and switches that have only one value here.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace sluice {

// Far above any real model and low enough that no width, row count or product of a few of them overflows an int.
inline constexpr IntRange kWidth{1, 1 << 17};
inline constexpr IntRange kInner{1, 1 << 20};
inline constexpr IntRange kHeads{1, 4096};
inline constexpr IntRange kHeadDim{1, 4096};
inline constexpr IntRange kLayers{1, 1000};
inline constexpr IntRange kExperts{1, 65536};
inline constexpr std::int64_t kMostExpertsInAll = 1 << 24;  // of all layers together
inline constexpr IntRange kPositions{1, 1 << 28};           // angles stay where sines are exact
inline constexpr NumberRange kEps{1e-12, 0.1};

// A field that must hold `wanted`, because nothing else is built: refused otherwise, never ignored. must: it has to be
// there; may: missing means `wanted`.
void must_say(const Fields& fields, const char* name, std::string_view wanted);
void may_say(const Fields& fields, const char* name, std::string_view wanted);
void must_be(const Fields& fields, const char* name, bool wanted);
void may_be(const Fields& fields, const char* name, bool wanted);
void may_be(const Fields& fields, const char* name, int wanted);

// A field that is one id or a list of them: rising, each once. Empty if it is not there.
std::vector<int> one_or_more_ids(const Fields& fields, const char* name, IntRange ids);

}  // namespace sluice
