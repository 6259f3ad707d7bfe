// A census bound to files that nobody has: for plans made before a checkpoint was fetched.
//
// Every block lies in one piece on pages of its own, as in a packed checkpoint; a released one needs up to two pages
// more for each piece that a block lies in. Formats are the caller's assumption.
#pragma once

#include "base/function_ref.h"
#include "checkpoint/bound.h"

namespace sluice {

BoundCensus assume_bound(const Census& census, FunctionRef<FormatId(const TensorSpec& tensor)> format_of);

}  // namespace sluice
