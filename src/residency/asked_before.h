// When a layer's router was asked for its experts, if it was before its time: how a prediction is known in a trace.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

namespace sluice {

enum class AskedBefore {
  attention,     // of its own layer: the stream lacks all that this layer does
  last_experts,  // those of the layer before, or its dense feed-forward half: it lacks these, and the attention
};
inline constexpr AskedBefore kAskedBefore[] = {AskedBefore::attention, AskedBefore::last_experts};
inline constexpr std::size_t kForesights = std::size(kAskedBefore);

// In traces and reports.
inline constexpr std::string_view name_of(AskedBefore when) {
  return when == AskedBefore::attention ? "attention" : "last-experts";
}

}  // namespace sluice
