// What a 4-bit code means under each of the 256 scale bytes: E2M1 value x 2^(scale - 127), as decode_row computes it.
//
// One lookup instead of a lookup and a multiplication per group, and scale bytes 0 and 253..255 need no branch. Only
// the few rows that a checkpoint uses become hot. The values are exact in bf16, so two byte tables serve where a
// byte shuffle is the only lookup there is.
#pragma once

#include <cstdint>

namespace sluice {

struct Mxfp4Tables {
  alignas(64) float value[256][16];
  alignas(64) std::uint8_t bf16_low[256][16], bf16_high[256][16];  // bytes of the upper half of `value`
};
extern const Mxfp4Tables kMxfp4Tables;

}  // namespace sluice
