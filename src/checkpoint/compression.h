// Which tensors `pack --compress` stores as streams (formats/bf16_stream.h), and what their streams will be.
//
// bf16 matrices of the walk, each slice that a step holds as a stream of its own. How long a stream is depends on its
// numbers, so all of them are read once before anything is written; of that, a few bytes for each chunk are kept.
// A matrix that does not gain stays as it is. Immutable once measured; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "checkpoint/model_tensors.h"
#include "checkpoint/source_reader.h"
#include "formats/bf16_stream.h"
#include "io/files.h"

namespace sluice {

struct CompressedSlice {
  std::string name;  // of its tensor in the file
  FileRun from;      // its numbers in the source
  Bf16Stream stream;
};

struct CompressionRun {
  int threads = 1;
  const CancelFlag* cancel = nullptr;  // optional
};

class Compression {
 public:
  // `progress` is called on the calling thread with the bytes read so far.
  static Result<Compression> measure(const ModelTensors& tensors, const Files& files, const CompressionRun& run,
                                     FunctionRef<void(std::uint64_t done_bytes)> progress);
  // Of the matrices that measure looks at.
  static std::uint64_t bytes_to_read(const ModelTensors& tensors);

  // The slices of a tensor, first to last; null if it stays as it is.
  const std::vector<CompressedSlice>* find(const std::string& name) const;
  bool empty() const { return tensors_.empty(); }
  std::uint64_t bytes_before() const { return before_; }  // of what is compressed
  std::uint64_t bytes_after() const { return after_; }

 private:
  std::map<std::string, std::vector<CompressedSlice>> tensors_;
  std::uint64_t before_ = 0, after_ = 0;
};

// Chunks [first, first + count) of a slice, from numbers of the source to bytes of the file. One thread.
class ChunkCompressor {
 public:
  explicit ChunkCompressor(const Files& files) : reader_(files) {}
  // Good until the next call; they lie in the stream where its chunk `first` begins.
  Result<std::span<const std::byte>> compress(const CompressedSlice& slice, std::size_t first, std::size_t count);

 private:
  SourceReader reader_;
  std::vector<std::byte> bytes_;
};

}  // namespace sluice
