// See joint_probe.h.
#include "residency/joint_probe.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/counter_random.h"
#include "base/function_ref.h"
#include "compute/kernel_table.h"
#include "io/aligned.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double rate(std::uint64_t bytes, double seconds) { return static_cast<double>(bytes) / std::max(seconds, 1e-9); }

}  // namespace

// Keeps twice as many requests outstanding as there are readers, so that the disk never waits for the caller.
class JointProbe::Disk {
 public:
  Disk(const Files& files, std::uint64_t read_bytes, int depth)
      : files_(files),
        read_bytes_(page_floor(std::max(read_bytes, kDiskPage))),
        buffers_(static_cast<std::uint64_t>(2 * depth)),
        memory_(buffers_ * read_bytes_),
        bytes_of_(buffers_),
        queue_(make_pread_queue(files, depth)) {
    SLUICE_CHECK(files.count() >= 1 && memory_.size() == buffers_ * read_bytes_);
    std::uint64_t end = 0;
    for (int file = 0; file < files.count(); ++file) ends_.push_back(end += files.size(file));
  }

  // The rate between the first landing and the last one in time, so that neither the start nor the end counts. `idle`
  // is called as long as nothing has landed.
  Result<double> measure(double seconds, FunctionRef<void()> idle) {
    const Clock::time_point begin = Clock::now();
    for (std::uint64_t buffer = 0; buffer < buffers_; ++buffer) submit(buffer);
    std::uint64_t counted = 0;
    int landings = 0;
    Clock::time_point first = begin, last = begin;
    Result<> outcome;
    for (std::uint64_t outstanding = buffers_; outstanding > 0; --outstanding) {
      Landed landed;
      while (!landings_.poll(landed)) idle();
      if (!landed.status && outcome) outcome = std::move(landed.status);
      if (seconds_since(begin) > seconds && landings >= kFewestLandings) continue;
      last = Clock::now();
      if (landings++ == 0)
        first = last;
      else
        counted += bytes_of_[landed.tag];
      if (!outcome) continue;
      submit(landed.tag);
      ++outstanding;
    }
    if (!outcome) return tl::unexpected<Error>(std::move(outcome.error()));
    return rate(counted, std::chrono::duration<double>(last - first).count());
  }

 private:
  void submit(std::uint64_t buffer) {
    const std::uint64_t at = counter_random(1, reads_++) % ends_.back();
    const auto file = static_cast<int>(std::upper_bound(ends_.begin(), ends_.end(), at) - ends_.begin());
    const std::uint64_t size = files_.size(file), bytes = std::min(read_bytes_, size);
    const std::uint64_t offset = page_floor(counter_random(2, reads_) % (size - bytes + 1));
    bytes_of_[buffer] = bytes;
    const Extent extent{file, offset, bytes, 0};
    queue_->submit(buffer, {&extent, 1}, memory_.slice(buffer * read_bytes_, read_bytes_), Urgency::demand, landings_);
  }

  static constexpr int kFewestLandings = 4;
  const Files& files_;
  std::uint64_t read_bytes_, buffers_;
  PageArena memory_;
  std::vector<std::uint64_t> ends_, bytes_of_;  // of files, running; of the read into each buffer
  std::uint64_t reads_ = 0;
  Landings landings_;
  std::unique_ptr<ReadQueue> queue_;
};

// Passes over memory larger than the caches, with the pattern that reads fastest here.
class JointProbe::Memory {
 public:
  Memory(int threads, std::uint64_t bytes) : pool_(threads), memory_(bytes / kPart * kPart) {
    SLUICE_CHECK(memory_.size() >= kPart);
    std::memset(memory_.data(), 0, memory_.size());  // untouched pages would all be the same one
    double best = 0;
    int best_streams = 0;
    for (const int streams : {4, 8, 16}) {
      streams_ = streams;
      const double found = measure(0.03);
      if (found > best) best = found, best_streams = streams;
    }
    streams_ = best_streams;
  }

  void pass() {
    pool_.parallel_ranges(static_cast<int>(memory_.size() / kPart), 1, [&](int begin, int end) {
      float part = 0;
      for (int index = begin; index < end; ++index)
        part += best_kernels().read_probe(
            reinterpret_cast<const std::uint8_t*>(memory_.data()) + static_cast<std::uint64_t>(index) * kPart, kPart,
            streams_);
      if (part != 0) wrong_ = true;
    });
    bytes_ += memory_.size();
  }
  std::uint64_t bytes() const { return bytes_; }

  double measure(double seconds) {
    const std::uint64_t before = bytes_;
    const Clock::time_point begin = Clock::now();
    do pass();
    while (seconds_since(begin) < seconds);
    return wrong_ ? 0 : rate(bytes_ - before, seconds_since(begin));
  }

 private:
  static constexpr std::int64_t kPart = 1 << 20;
  ThreadPool pool_;
  PageArena memory_;
  int streams_ = 16;
  std::uint64_t bytes_ = 0;
  std::atomic<bool> wrong_{false};
};

JointProbe::JointProbe(const Files& files, const JointProbeShape& shape)
    : disk_(std::make_unique<Disk>(files, shape.read_bytes, shape.depth)),
      memory_(std::make_unique<Memory>(shape.threads, shape.memory_bytes)),
      seconds_(shape.seconds) {}

JointProbe::~JointProbe() = default;

Result<JointRates> JointProbe::measure() {
  JointRates rates;
  TRY_TAKE(rates.disk_alone,
           disk_->measure(seconds_, [] { std::this_thread::sleep_for(std::chrono::microseconds(100)); }));
  rates.memory_alone = memory_->measure(seconds_);
  const std::uint64_t before = memory_->bytes();
  const Clock::time_point begin = Clock::now();
  TRY_TAKE(rates.disk_beside, disk_->measure(seconds_, [&] { memory_->pass(); }));
  rates.memory_beside = rate(memory_->bytes() - before, seconds_since(begin));
  return rates;
}

}  // namespace sluice
