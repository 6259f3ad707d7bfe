// What an E4M3 code means: the fp32 value, and its upper half in two byte tables (the values are exact in bf16), which
// serve where a byte shuffle is the lookup at hand. Times an E8M0 scale it is exact in bf16, too, from the scale byte
// kE4m3FirstScaled on: one lookup instead of a lookup and a multiplication. Only the few rows that a checkpoint uses
// become hot.
#pragma once

#include <cstdint>

namespace sluice {

constexpr int kE4m3FirstScaled = 3;

struct E4m3Tables {
  alignas(64) float value[256];
  // By the seven bits below the sign.
  alignas(64) std::uint8_t bf16_low[128], bf16_high[128];
  alignas(64) std::uint8_t scaled_low[256][128], scaled_high[256][128];  // by scale byte
};
extern const E4m3Tables kE4m3Tables;

}  // namespace sluice
