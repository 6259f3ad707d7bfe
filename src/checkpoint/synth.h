// Writes a checkpoint of random weights: real structure at any size, for tests and benchmarks.
//
// A family says which tensors stand in which shard and how their values are drawn (SynthCheckpoint); this part writes
// them at the speed of the disk. The config is written first under another name and gets its own at the very end, so a
// directory with a config.json is a finished checkpoint, and one that was left half-way is recognised and continued.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "checkpoint/safetensors_writer.h"
#include "checkpoint/synth_values.h"

namespace sluice {

struct SynthTensor {
  StoredTensor stored;
  ValueRule values;
};

struct SynthText {
  std::string name;  // of the file
  std::string text;
};

struct SynthCheckpoint {
  std::vector<std::vector<SynthTensor>> shards;
  std::vector<SynthText> texts;  // generation config, tokenizer, ...
  std::string config;            // text of config.json; two checkpoints with equal configs have equal bytes
  std::uint64_t seed = 0;
};

// What a person chooses; absent values are the scale's own.
enum class SynthScale { tiny, full };  // small widths for tests; the released widths
struct SynthOptions {
  SynthScale scale = SynthScale::tiny;
  std::optional<int> layers = {}, experts = {};
  bool fp8 = false;  // as the FP8 release of a family that has one
  std::uint64_t seed = 0;
};

enum class SynthOutcome { written, already_there };

struct SynthRun {
  int threads = 1;
  Durability durability = Durability::synced;
  const CancelFlag* cancel = nullptr;  // optional
};

// Called on the calling thread while shards are written.
using SynthProgress = FunctionRef<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

std::uint64_t synth_bytes(const SynthCheckpoint& checkpoint);  // of all shards together

// Makes `directory` if need be. A finished checkpoint of the same config: already_there, nothing is touched. An
// unfinished one of the same config is continued. Anything else in the directory: bad_input, and too little room on the
// disk: bad_input before the first byte is written.
Result<SynthOutcome> write_synth(const SynthCheckpoint& checkpoint, const std::string& directory, const SynthRun& run,
                                 SynthProgress progress);

}  // namespace sluice
