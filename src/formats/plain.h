// Formats that store each weight as a number of its own: f32 and bf16. See format.h.
#pragma once

#include "formats/format.h"

namespace sluice {
extern const Format kF32;
extern const Format kBf16;
}  // namespace sluice
