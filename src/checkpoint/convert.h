// Converts a checkpoint into a new directory, shard by shard, so that it can be interrupted at any moment.
//
// The result depends on source and plan alone: not on threads, nor on how often and where it was interrupted. Besides
// what is finished, the disk holds one shard in work; memory holds the source's tensor index, a shard's plan and a few
// megabytes for each thread (ConversionPlan::band_bytes).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/function_ref.h"
#include "base/result.h"
#include "checkpoint/convert_shard.h"

namespace sluice {

struct Conversion {
  const ConversionPlan* plan = nullptr;
  const Files* source = nullptr;  // files of the source's index
  std::string from, to;           // directories
  std::string config;             // converted_config of the plan
  // Called when all shards are written and before the directory is finished; may be empty. What it writes must depend
  // on the shards alone.
  std::function<Result<>()> finishing = {};
};

enum class ConversionOutcome { written, already_there };

// Called on the calling thread: bytes written by this run, and that it will write in all.
using ConversionProgress = FunctionRef<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

// A finished conversion of the same source and plan: already_there, nothing is touched. An unfinished one is gone on
// with. Anything else at `to`, or too little room on the disk: bad_input before the first byte is written.
Result<ConversionOutcome> convert(const Conversion& conversion, const ConversionRun& run, ConversionProgress progress);

}  // namespace sluice
