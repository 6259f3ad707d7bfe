// Formats that store each weight as a number of its own: f32, bf16 and f16. See format.h.
#pragma once

#include "formats/format.h"

namespace sluice {
extern const Format kF32;
extern const Format kBf16;
extern const Format kF16;
}  // namespace sluice
