// Converting and packing as the user sees them: progress while shards are written, and a line about the outcome.
#pragma once

#include "checkpoint/convert.h"

namespace sluice::cli {

// `doing`: the word before the progress, "packing". What `conversion.finishing` shows comes after it.
Result<> write_converted(const char* doing, Conversion conversion, const ConversionRun& run);

}  // namespace sluice::cli
