// Turns windows of tokens into single entries that attention can see long afterwards (spec 3.6).
//
//   values, gates = wkv x, wgate x + ape[p mod ratio]     one row a token, kept until nobody needs it
//   e_i = rope(rms(Σ_s softmax_s(gates) · values; norm), position of the window's first token)
// channel by channel over the slots s of window i. Where windows overlap a row has two halves: the first is a slot of
// the window after its own, the second of its own; the first window has no predecessor and only its own slots.
#pragma once

#include <vector>

#include "compute/workspace.h"
#include "models/deepseek_v4/rope.h"

namespace sluice::deepseek_v4 {

struct CompressorWeights {
  WeightView ape, norm, wkv, wgate;
};
struct CompressorLogs {
  int partial = -1, entries = -1;
};

class Compressor {
 public:
  // Whose entries: they differ in width, and in how the parity mode rounds them.
  enum class For { attention, indexer };
  // `angles` outlives it.
  Compressor(const V4Config& config, For whom, const RopeAngles& angles, Workspace& work, int rows);

  // Remembers the rows of pass.x, and an entry for every window that they close.
  void run(Pass& pass, int layer, const CompressorWeights& w, const CompressorLogs& logs);

 private:
  void project(Pass& pass, int layer, const CompressorWeights& w, int log);
  void gather(RowLog& partial, int layer, int window);

  const V4Config& config_;
  For whom_;
  int width_;
  const RopeAngles& angles_;
  Rows rows_, ape_, pooled_;
  Rotation rotation_;
  std::vector<const float*> values_, gates_;  // slots of the windows that close
  std::vector<int> begin_;
};

}  // namespace sluice::deepseek_v4
