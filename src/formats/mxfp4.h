// MXFP4: E2M1 nibbles (low nibble = even column) with one E8M0 scale byte per 32 columns. Source: docs/specs of Kimi
// K3, section 2.4. A decoded weight is E2M1 value x 2^(scale - 127), exact in fp32. See format.h.
#pragma once

#include "formats/format.h"

namespace sluice {

inline constexpr int kMxfp4Group = 32;
extern const Format kMxfp4;

}  // namespace sluice
