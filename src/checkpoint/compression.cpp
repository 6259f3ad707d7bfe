// See compression.h.
#include "checkpoint/compression.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/side_by_side.h"
#include "checkpoint/storage.h"

namespace sluice {

namespace {

constexpr std::uint64_t kChunkBytes = 2 * kChunkNumbers;
constexpr std::size_t kChunksRead = 64;                          // at a time: 2 MiB
constexpr std::uint64_t kLeastBytes = 8 << 10;                   // below, a stream saves less than a disk page
constexpr std::uint64_t kMostBytes = std::uint64_t{0xffffffff};  // of a tensor without a shape
constexpr std::uint64_t kGainOutOf = 16;                         // a matrix must become smaller by 1/16 at least

FileRun slice_run(const ModelTensor& tensor, const RowSlice& slice) {
  const auto row_bytes = 2 * static_cast<std::uint64_t>(tensor.shape.cols);
  return {tensor.weights.file, tensor.weights.offset + static_cast<std::uint64_t>(slice.first) * row_bytes,
          static_cast<std::uint64_t>(slice.rows) * row_bytes};
}

bool is_candidate(const ModelTensor& tensor) {
  if (tensor.format != FormatId::bf16 || tensor.slices.empty() || tensor.weights.bytes < kLeastBytes) return false;
  return std::ranges::all_of(tensor.slices,
                             [&](const RowSlice& slice) { return slice_run(tensor, slice).bytes <= kMostBytes; });
}

// Bytes of chunks [first, first + count) of a run.
FileRun chunks_of(const FileRun& run, std::size_t first, std::size_t count) {
  const std::uint64_t begin = first * kChunkBytes;
  return {run.file, run.offset + begin, std::min<std::uint64_t>(count * kChunkBytes, run.bytes - begin)};
}

// Slices are shared out among threads; what comes of each lands at its number.
class Measuring {
 public:
  struct Slice {
    FileRun run;
    Shape shape;
    Bf16Stream stream = {};
  };
  Measuring(std::vector<Slice> slices, const Files& files, const CompressionRun& run,
            FunctionRef<void(std::uint64_t)> progress)
      : slices_(std::move(slices)), files_(files), run_(run), progress_(progress) {}

  Result<std::vector<Slice>> measure() {
    work_side_by_side(std::min(slices_.size(), static_cast<std::size_t>(run_.threads)),
                      [this](bool reports) { work(reports); });
    if (error_) return tl::unexpected<Error>(std::move(*error_));
    return std::move(slices_);
  }

 private:
  void work(bool reports) {
    SourceReader reader(files_);
    while (!failed_.load(std::memory_order_relaxed)) {
      const std::size_t next = next_.fetch_add(1, std::memory_order_relaxed);
      if (next >= slices_.size()) return;
      if (Result<> done = look_at(slices_[next], reader, reports); !done) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::move(done.error());
        failed_.store(true, std::memory_order_relaxed);
      }
    }
  }

  Result<> look_at(Slice& slice, SourceReader& reader, bool reports) {
    std::vector<ExponentCounts> counts;
    const std::size_t chunks = (slice.run.bytes + kChunkBytes - 1) / kChunkBytes;
    for (std::size_t first = 0; first < chunks; first += kChunksRead) {
      if (run_.cancel != nullptr && run_.cancel->requested()) return fail(ErrorKind::cancelled, "interrupted");
      TRY_TAKE(const std::span<const std::byte> bytes, reader.read(chunks_of(slice.run, first, kChunksRead)));
      for (std::size_t at = 0; at < bytes.size(); at += kChunkBytes)
        counts.push_back(count_exponents(bytes.subspan(at, std::min<std::size_t>(kChunkBytes, bytes.size() - at))));
      const std::uint64_t done = done_.fetch_add(bytes.size(), std::memory_order_relaxed) + bytes.size();
      if (reports) progress_(done);
    }
    slice.stream = Bf16Stream::of(slice.shape, counts);
    return {};
  }

  std::vector<Slice> slices_;
  const Files& files_;
  const CompressionRun& run_;
  FunctionRef<void(std::uint64_t)> progress_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> done_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::optional<Error> error_;
};

// The blocks of the walk stand before those of experts, of which no tensor has slices.
std::vector<ModelTensor> candidates(const ModelTensors& tensors) {
  std::vector<ModelTensor> found;
  for (std::size_t number = 0; number < tensors.fixed_blocks(); ++number)
    for (ModelTensor& tensor : tensors.block(number))
      if (is_candidate(tensor)) found.push_back(std::move(tensor));
  return found;
}

}  // namespace

std::uint64_t Compression::bytes_to_read(const ModelTensors& tensors) {
  std::uint64_t bytes = 0;
  for (const ModelTensor& tensor : candidates(tensors)) bytes += tensor.weights.bytes;
  return bytes;
}

Result<Compression> Compression::measure(const ModelTensors& tensors, const Files& files, const CompressionRun& run,
                                         FunctionRef<void(std::uint64_t)> progress) {
  const std::vector<ModelTensor> all = candidates(tensors);
  std::vector<Measuring::Slice> slices;
  for (const ModelTensor& tensor : all)
    for (const RowSlice& slice : tensor.slices)
      slices.push_back({slice_run(tensor, slice), {slice.rows, tensor.shape.cols}});
  TRY_TAKE(slices, Measuring(std::move(slices), files, run, progress).measure());

  Compression compression;
  auto next = slices.begin();
  for (const ModelTensor& tensor : all) {
    std::vector<CompressedSlice> made;
    std::uint64_t bytes = 0;
    bool each_gains = true;
    for (const RowSlice& slice : tensor.slices) {
      bytes += next->stream.bytes();
      each_gains = each_gains && next->stream.bytes() < next->run.bytes;
      made.push_back({compressed_name(tensor.name, slice.first, slice.rows), next->run, std::move(next->stream)});
      ++next;
    }
    if (!each_gains || bytes > tensor.weights.bytes - tensor.weights.bytes / kGainOutOf) continue;
    compression.before_ += tensor.weights.bytes;
    compression.after_ += bytes;
    compression.tensors_.emplace(tensor.name, std::move(made));
  }
  return compression;
}

const std::vector<CompressedSlice>* Compression::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

Result<std::span<const std::byte>> ChunkCompressor::compress(const CompressedSlice& slice, std::size_t first,
                                                             std::size_t count) {
  SLUICE_CHECK(first + count <= slice.stream.chunks() && count > 0);
  TRY_TAKE(const std::span<const std::byte> numbers, reader_.read(chunks_of(slice.from, first, count)));
  const std::uint64_t begin = slice.stream.chunk(first).begin;
  const Bf16Chunk last = slice.stream.chunk(first + count - 1);
  bytes_.resize(last.begin + last.bytes - begin);
  for (std::size_t chunk = first; chunk < first + count; ++chunk) {
    const Bf16Chunk each = slice.stream.chunk(chunk);
    if (!encode_chunk(slice.stream.exponents(), each, numbers.subspan((chunk - first) * kChunkBytes, 2u * each.numbers),
                      std::span(bytes_).subspan(each.begin - begin, each.bytes)))
      return fail(ErrorKind::io, fmt::format("{}: its numbers changed while they were compressed", slice.name),
                  "pack the checkpoint again while nobody writes to it");
  }
  return std::span<const std::byte>(bytes_);
}

}  // namespace sluice
