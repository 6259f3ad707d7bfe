// Every run of bytes that is read at once when a model runs: what checksums are made of.
//
// Extents of the walk's steps and of experts, rows of the embedding one by one, and tables of ids in windows. A block
// of several runs is several runs here. Which they are depends on where tensors lie and on how the family cuts its
// blocks, not on a budget.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "checkpoint/block_layout.h"
#include "checkpoint/bound.h"

namespace sluice {

constexpr bool operator==(const FileRun& left, const FileRun& right) {
  return left.file == right.file && left.offset == right.offset && left.bytes == right.bytes;
}
constexpr bool operator<(const FileRun& left, const FileRun& right) {
  if (left.file != right.file) return left.file < right.file;
  return left.offset != right.offset ? left.offset < right.offset : left.bytes < right.bytes;
}

// Of a table on disk, read at a time.
inline constexpr std::uint64_t kIdWindowBytes = 1 << 20;

// `visit` gets each run with a call that makes the name of its block ("layer 3 expert 17"); it returns false to stop.
using RunVisitor = FunctionRef<bool(const FileRun& run, FunctionRef<std::string()> label)>;
void visit_runs(const BoundCensus& bound, RunVisitor visit);

// Sorted, each once.
std::vector<FileRun> runs_of(const BoundCensus& bound);

}  // namespace sluice
