// Every tensor of a checkpoint of many safetensors files: name -> file, offset, bytes, dtype, shape. No weight is read.
//
// Built for half a million tensors (Kimi K3: 497,220 in 96 files, 75 MB of headers): names lie in arenas, records have
// 48 bytes, a hash table of numbers finds them. Headers are read into buffers that are used again, never mapped, so
// that they do not count as resident memory of the program. Immutable once read; any thread may ask.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "checkpoint/safetensors_header.h"

namespace sluice {

class TensorIndex {
 public:
  // Reads the headers of `paths` with up to `threads` threads. If several files are damaged, the first is told in full
  // and the others are named. Requires: threads >= 1.
  static Result<TensorIndex> read(std::vector<std::string> paths, int threads);

  const std::vector<std::string>& files() const { return paths_; }
  std::size_t count() const { return first_.back(); }
  // Null if there is no such tensor.
  const TensorRecord* find(std::string_view name) const;

  // Tensors have numbers 0..count()-1, in the order of files and, within a file, of its header.
  const TensorRecord& tensor(std::size_t number) const;
  std::size_t number(const TensorRecord& tensor) const;
  std::span<const TensorRecord> tensors_of(int file) const { return headers_[static_cast<std::size_t>(file)].tensors; }
  std::span<const std::uint32_t> shape(const TensorRecord& tensor) const { return headers_[tensor.file].shape(tensor); }

 private:
  struct Slot {
    std::uint32_t tag;     // upper half of the name's hash
    std::uint32_t number;  // kEmpty: free
  };
  Result<> build_table(const std::vector<std::vector<std::uint64_t>>& hashes);

  std::vector<std::string> paths_;
  std::vector<SafetensorsHeader> headers_;  // by file
  std::vector<std::size_t> first_;          // number of each file's first tensor, and the count at the end
  std::vector<Slot> slots_;                 // open addressing, a power of two
};

}  // namespace sluice
