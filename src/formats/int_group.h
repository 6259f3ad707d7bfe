// Whole numbers with an fp32 scale for each row, or for each group of columns of a row: a decoded weight is
// number x scale, rounded once to fp32.
//
// int8: two's complement. int4: a nibble holds number + 8, the low nibble the even column; a row takes whole bytes (the
// spare nibble of an odd width holds 8, that is 0). Groups begin anew in every row and the last may be shorter.
// The quantiser: scale = max(largest / 127 or 7, 1e-8), number = scaled value rounded half to even. Source: docs/specs
// of GLM-5.2, section 6.2. See format.h.
#pragma once

#include "formats/format.h"

namespace sluice {

extern const Format kInt8;
extern const Format kInt4;
extern const Format kInt4Group32;
extern const Format kInt4Group64;
extern const Format kInt4Group128;

}  // namespace sluice
