// What the program itself holds resident, beside weights, state and activations: the parts of the plan's baseline.
//
// These are formulas, not measurements, so that `plan` and `run` agree to the byte; tests/e2e measures that they are
// enough.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/bound.h"
#include "models/model.h"

namespace sluice {

inline constexpr int kReaders = 4;  // threads that read from disk

// Code, libraries, heap of small things, thread stacks.
std::uint64_t program_bytes(int threads);
// The tensor index while it is built, and what binding leaves of it.
std::uint64_t index_bytes(const std::vector<std::string>& files, const BoundCensus& bound);
// Rows of logits, and what sampling one of them takes.
std::uint64_t logits_bytes(const ModelConfig& config, int rows);
// The last vectors of a step's rows, for a draft head.
std::uint64_t hidden_bytes(const ModelConfig& config, int rows);
std::uint64_t io_bytes();  // of one directory
// What knowing takes of which pieces a directory brought right, where there are checksums and mirrors.
std::uint64_t proof_bytes(const BoundCensus& bound);
// Distinct embedding rows kept in memory for a prefill chunk of this size.
int embedding_rows_kept(int chunk);

}  // namespace sluice
