// What an E4M3 code means: the fp32 value, and its upper half in two byte tables (the values are exact in bf16), which
// serve where a byte shuffle is the lookup at hand.
#pragma once

#include <cstdint>

namespace sluice {

struct E4m3Tables {
  alignas(64) float value[256];
  alignas(64) std::uint8_t bf16_low[256], bf16_high[256];
};
extern const E4m3Tables kE4m3Tables;

}  // namespace sluice
