// Writes one shard of a converted checkpoint: bands of rows are read, converted and written by several threads.
//
// Which thread takes which band changes nothing: a band's bytes and their place depend on the plan alone. The file gets
// its name when it is complete and on disk; until then, and after a failure, there is none.
#pragma once

#include <cstdint>
#include <string>

#include "base/cancel.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "checkpoint/conversion_plan.h"
#include "io/files.h"
#include "io/output_file.h"

namespace sluice {

struct ConversionRun {
  int threads = 1;
  Durability durability = Durability::synced;
  const CancelFlag* cancel = nullptr;  // optional
};

// `wrote` is called on the calling thread with bytes written since the last call. Cancelled between bands.
Result<> convert_shard(const ConvertedShard& shard, const Files& source, const std::string& path,
                       const ConversionRun& run, FunctionRef<void(std::uint64_t bytes)> wrote);

// Converts bands spread over the plan, without writing, for about `seconds`; returns how long the whole plan would take
// `run.threads` threads at that rate. Reading is part of it, writing is not.
Result<double> estimate_seconds(const ConversionPlan& plan, const Files& source, const ConversionRun& run,
                                double seconds);

}  // namespace sluice
