// sluice bench index: how long it takes to know where half a million tensors lie.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/safetensors_writer.h"

namespace CLI {
class App;
}

namespace sluice::cli {

// The tensors of every file of the released Kimi K3, in the order of the files: 497,220 in 96 (spec section 2).
Result<std::vector<std::vector<StoredTensor>>> released_shards();

// Writes files with these headers and holes for data into `directory`; returns their paths.
Result<std::vector<std::string>> write_sparse_shards(const std::string& directory,
                                                     std::vector<std::vector<StoredTensor>> shards);

struct IndexTimes {
  int threads = 1;
  std::vector<double> seconds;  // ascending
  double best() const { return seconds.front(); }
  double median() const { return seconds[seconds.size() / 2]; }
};
struct IndexBench {
  std::size_t tensors = 0, files = 0;
  std::vector<IndexTimes> times;
};
struct BenchIndexOptions {
  std::string directory = "/tmp";  // for the files, which are gone afterwards
  int threads = 2;                 // and 1, to compare
  int rounds = 15;
};
Result<IndexBench> bench_index(const BenchIndexOptions& options);

}  // namespace sluice::cli
