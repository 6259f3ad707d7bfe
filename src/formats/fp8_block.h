// FP8: E4M3 ("fn") bytes with one scale for each block of 128 rows x 128 columns, the grid of blocks clipped at the
// right and lower edges. A decoded weight is E4M3 value x scale, rounded once to fp32 (exact with E8M0 scales).
//
// Sources: docs/specs of GLM-5.2, section 2.4 (fp32 scales), and of DeepSeek-V4, section 2.3 (E8M0). See format.h.
#pragma once

#include "formats/format.h"

namespace sluice {

inline constexpr int kFp8Block = 128;  // rows and columns
extern const Format kFp8;
extern const Format kFp8E8m0;

}  // namespace sluice
