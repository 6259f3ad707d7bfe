// Collects everything that keeps a model from being bound to a checkpoint, and says it in one Error.
//
// The first dozen of each kind are told by name, the rest counted. A missing tensor is told with the file it should be
// in: the one that holds its neighbours, or that holds a name so like it that a byte of the header must be damaged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "checkpoint/tensor_index.h"

namespace sluice {

inline constexpr int kUnknownFile = -1;

// Where to look for a missing tensor.
struct Neighbours {
  int block = kUnknownFile;   // file of other tensors of its block
  int before = kUnknownFile;  // file of the block before it
};

class BindReport {
 public:
  explicit BindReport(const TensorIndex& index) : index_(index) {}

  // Slices of one tensor follow each other and count once.
  void missing(std::string_view name, Neighbours neighbours);
  void wrong(std::string problem);
  void surplus(const TensorRecord& tensor);
  // A tensor that nobody asked for: perhaps a missing one with a damaged name.
  void unused(const TensorRecord& tensor);

  bool clean() const { return missing_count_ + wrong_.size() + surplus_count_ == 0; }
  bool anything_missing() const { return missing_count_ > 0; }
  // Requires: not clean.
  Error error(const std::string& directory, const std::vector<std::string>& missing_shards) const;

 private:
  struct Missing {
    std::string name;
    Neighbours neighbours;
    const TensorRecord* look_alike = nullptr;
  };
  std::string file_name(int file) const;
  std::string tell_missing() const;

  const TensorIndex& index_;
  std::vector<Missing> missing_;  // the first dozen
  std::size_t missing_count_ = 0;
  std::string last_missing_;
  std::vector<std::string> wrong_;
  std::vector<const TensorRecord*> surplus_;  // the first dozen
  std::size_t surplus_count_ = 0;
};

}  // namespace sluice
