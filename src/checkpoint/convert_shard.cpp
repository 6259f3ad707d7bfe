// See convert_shard.h.
#include "checkpoint/convert_shard.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <vector>

#include "base/side_by_side.h"
#include "checkpoint/band_converter.h"
#include "formats/format.h"

namespace sluice {

namespace {

constexpr std::uint64_t kCopiedPiece = std::uint64_t{1} << 20;

constexpr std::uint64_t kCompressedChunks = 32;  // a megabyte of numbers

// Rows of a converted tensor, or bytes of a copied one (which stand behind the converted ones), or chunks of a
// compressed one (behind those).
struct Job {
  std::size_t tensor = 0;
  std::uint64_t first = 0, count = 0;
};

std::vector<Job> jobs_of(const ConvertedShard& shard) {
  std::vector<Job> jobs;
  const auto cut = [&](std::size_t tensor, std::uint64_t all, std::uint64_t step) {
    for (std::uint64_t first = 0; first < all; first += step)
      jobs.push_back({tensor, first, std::min(step, all - first)});
  };
  for (std::size_t tensor = 0; tensor < shard.converted.size(); ++tensor) {
    const ConvertedTensor& one = shard.converted[tensor];
    cut(tensor, static_cast<std::uint64_t>(one.from.shape.rows),
        static_cast<std::uint64_t>(band_rows(one.from.format, one.to, one.from.shape)));
  }
  for (std::size_t tensor = 0; tensor < shard.copied.size(); ++tensor)
    cut(shard.converted.size() + tensor, shard.copied[tensor].from.bytes, kCopiedPiece);
  for (std::size_t tensor = 0; tensor < shard.compressed.size(); ++tensor)
    cut(shard.converted.size() + shard.copied.size() + tensor, shard.compressed[tensor].slice->stream.chunks(),
        kCompressedChunks);
  return jobs;
}

// What one thread needs to do jobs. Writes nothing if `out` is null. Returns the bytes made.
class Hand {
 public:
  Hand(const ConvertedShard& shard, const Files& source, OutputFile* out)
      : shard_(shard), converter_(source), reader_(source), compressor_(source), out_(out) {}

  Result<std::uint64_t> work(const Job& job) {
    if (job.tensor < shard_.converted.size()) return convert(shard_.converted[job.tensor], job);
    if (job.tensor >= shard_.converted.size() + shard_.copied.size())
      return compress(shard_.compressed[job.tensor - shard_.converted.size() - shard_.copied.size()], job);
    const CopiedTensor& copied = shard_.copied[job.tensor - shard_.converted.size()];
    TRY_TAKE(const std::span<const std::byte> bytes,
             reader_.read({copied.from.file, copied.from.offset + job.first, job.count}));
    return write(copied.number, job.first, bytes);
  }

 private:
  Result<std::uint64_t> convert(const ConvertedTensor& tensor, const Job& job) {
    const int first = static_cast<int>(job.first);
    TRY_TAKE(const BandConverter::Band band,
             converter_.convert(tensor.from, tensor.to, first, static_cast<int>(job.count)));
    const Format& stored = format(tensor.to);
    const Shape before{first, tensor.from.shape.cols};
    TRY_TAKE(std::uint64_t bytes, write(tensor.weights, stored.weight_bytes(before), band.weights));
    if (!band.scales.empty()) {
      TRY_TAKE(const std::uint64_t more, write(tensor.scales, stored.scale_bytes(before), band.scales));
      bytes += more;
    }
    return bytes;
  }

  Result<std::uint64_t> compress(const StreamTensor& tensor, const Job& job) {
    const Bf16Stream& stream = tensor.slice->stream;
    TRY_TAKE(const std::span<const std::byte> chunks, compressor_.compress(*tensor.slice, job.first, job.count));
    TRY_TAKE(std::uint64_t bytes, write(tensor.number, stream.chunk(job.first).begin, chunks));
    if (job.first == 0) {
      TRY_TAKE(const std::uint64_t more, write(tensor.number, 0, stream.front()));
      bytes += more;
    }
    return bytes;
  }

  Result<std::uint64_t> write(std::size_t number, std::uint64_t offset, std::span<const std::byte> bytes) {
    if (out_ != nullptr) TRY(out_->write_at(shard_.layout.begins[number] + offset, bytes));
    return std::uint64_t{bytes.size()};
  }

  const ConvertedShard& shard_;
  BandConverter converter_;
  SourceReader reader_;
  ChunkCompressor compressor_;
  OutputFile* out_;
};

// Hands the jobs to several threads and keeps the first error.
class Hands {
 public:
  Hands(const ConvertedShard& shard, const Files& source, OutputFile& out, const ConversionRun& run,
        FunctionRef<void(std::uint64_t)> wrote)
      : shard_(shard), source_(source), out_(out), run_(run), wrote_(wrote), jobs_(jobs_of(shard)) {}

  Result<> work_all() {
    work_side_by_side(std::min(jobs_.size(), static_cast<std::size_t>(run_.threads)),
                      [this](bool reports) { work(reports); });
    wrote_(unreported_.exchange(0));
    if (error_) return tl::unexpected<Error>(std::move(*error_));
    return {};
  }

 private:
  void work(bool reports) {
    Hand hand(shard_, source_, &out_);
    while (!failed_.load(std::memory_order_relaxed)) {
      const std::size_t job = next_.fetch_add(1, std::memory_order_relaxed);
      if (job >= jobs_.size()) return;
      if (run_.cancel != nullptr && run_.cancel->requested())
        return keep({ErrorKind::cancelled, "stopped, unfinished", "the same command goes on where this one stopped"});
      Result<std::uint64_t> bytes = hand.work(jobs_[job]);
      if (!bytes) return keep(std::move(bytes.error()));
      unreported_.fetch_add(*bytes, std::memory_order_relaxed);
      if (reports) wrote_(unreported_.exchange(0, std::memory_order_relaxed));
    }
  }

  void keep(Error error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    failed_.store(true, std::memory_order_relaxed);
  }

  const ConvertedShard& shard_;
  const Files& source_;
  OutputFile& out_;
  const ConversionRun& run_;
  FunctionRef<void(std::uint64_t)> wrote_;
  const std::vector<Job> jobs_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> unreported_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace

Result<> convert_shard(const ConvertedShard& shard, const Files& source, const std::string& path,
                       const ConversionRun& run, FunctionRef<void(std::uint64_t bytes)> wrote) {
  TRY_TAKE(const std::unique_ptr<OutputFile> out, OutputFile::create(path, shard.layout.file_bytes(), run.durability));
  TRY(out->write_at(0, std::as_bytes(std::span(shard.layout.head))));
  wrote(shard.layout.head.size());
  TRY(Hands(shard, source, *out, run, wrote).work_all());
  return out->commit();
}

Result<double> estimate_seconds(const ConversionPlan& plan, const Files& source, const ConversionRun& run,
                                double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t kShardsTried = 8, kJobsOfAShard = 16;
  double spent = 0;
  std::uint64_t bytes = 0;
  const std::size_t shards = std::min(plan.shards(), kShardsTried);
  for (std::size_t pick = 0; pick < shards; ++pick) {
    TRY_TAKE(const ConvertedShard shard, plan.shard(plan.shards() * pick / shards));
    const std::vector<Job> jobs = jobs_of(shard);
    Hand hand(shard, source, nullptr);
    const auto begin = Clock::now();
    const std::size_t tried = std::min(jobs.size(), kJobsOfAShard);
    double here = 0;
    for (std::size_t job = 0; job < tried && here < seconds / static_cast<double>(shards); ++job) {
      TRY_TAKE(const std::uint64_t made, hand.work(jobs[jobs.size() * job / tried]));
      bytes += made;
      here = std::chrono::duration<double>(Clock::now() - begin).count();
    }
    spent += here;
  }
  if (bytes == 0) return 0.0;
  return spent * static_cast<double>(plan.file_bytes()) / static_cast<double>(bytes) / run.threads;
}

}  // namespace sluice
