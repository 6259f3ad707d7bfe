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
#include "base/seconds.h"
#include "compute/kernel_table.h"
#include "io/aligned.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

double rate(std::uint64_t bytes, double seconds) { return static_cast<double>(bytes) / std::max(seconds, 1e-9); }

}  // namespace

// Keeps twice as many requests outstanding as there are readers, of each directory, so that no drive waits for the
// caller.
class JointProbe::Disk {
 public:
  static Result<std::unique_ptr<Disk>> open(std::span<const Files* const> directories, const JointProbeShape& shape) {
    std::unique_ptr<Disk> disk(new Disk(directories.size(), shape));
    for (const Files* files : directories) {
      SLUICE_CHECK(files->count() >= 1);
      Drive drive{files, {}, std::make_unique<ReadSources>(std::vector<ReadSource>{{files}}), nullptr};
      TRY_TAKE(OpenedQueue opened, open_read_queue(*drive.sources, shape.engine, shape.depth));
      drive.queue = std::move(opened.queue);
      std::uint64_t end = 0;
      for (int file = 0; file < files->count(); ++file) drive.ends.push_back(end += files->size(file));
      disk->drives_.push_back(std::move(drive));
    }
    return disk;
  }

  // The rate between the first landing and the last one in time, so that neither the start nor the end counts. `idle`
  // is called as long as nothing has landed.
  Result<double> measure(double seconds, FunctionRef<void()> idle) {
    const Clock::time_point begin = Clock::now();
    const std::uint64_t buffers = bytes_of_.size();
    for (std::uint64_t buffer = 0; buffer < buffers; ++buffer) submit(buffer);
    std::uint64_t counted = 0;
    int landings = 0;
    Clock::time_point first = begin, last = begin;
    Result<> outcome;
    for (std::uint64_t outstanding = buffers; outstanding > 0; --outstanding) {
      Landed landed;
      while (!landings_.poll(landed)) idle();
      if (!landed.status && outcome) outcome = std::move(landed.status);
      if (seconds_since(begin) > seconds && landings >= kFewestLandings * static_cast<int>(drives_.size())) continue;
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
  struct Drive {
    const Files* files = nullptr;
    std::vector<std::uint64_t> ends;  // of files, running
    std::unique_ptr<ReadSources> sources;
    std::unique_ptr<ReadQueue> queue;
  };

  Disk(std::size_t drives, const JointProbeShape& shape)
      : read_bytes_(page_floor(std::max(shape.read_bytes, kDiskPage))),
        buffers_of_drive_(2 * static_cast<std::uint64_t>(shape.depth)),
        memory_(drives * buffers_of_drive_ * read_bytes_, "reads that measure the disk"),
        bytes_of_(drives * buffers_of_drive_) {
    SLUICE_CHECK(drives >= 1);
  }

  // A buffer is read into from its own drive alone, so that a slow one holds no other up.
  void submit(std::uint64_t buffer) {
    const Drive& drive = drives_[buffer / buffers_of_drive_];
    const std::uint64_t at = counter_random(1, reads_++) % drive.ends.back();
    const auto file = static_cast<int>(std::upper_bound(drive.ends.begin(), drive.ends.end(), at) - drive.ends.begin());
    const std::uint64_t size = drive.files->size(file), bytes = std::min(read_bytes_, size);
    const std::uint64_t offset = page_floor(counter_random(2, reads_) % (size - bytes + 1));
    bytes_of_[buffer] = bytes;
    const Extent extent{file, offset, bytes, 0};
    drive.queue->submit(buffer, {&extent, 1}, memory_.slice(buffer * read_bytes_, read_bytes_), Urgency::demand,
                        landings_);
  }

  static constexpr int kFewestLandings = 4;
  std::uint64_t read_bytes_, buffers_of_drive_;
  PageArena memory_;
  std::vector<std::uint64_t> bytes_of_;  // of the read into each buffer
  std::uint64_t reads_ = 0;
  Landings landings_;
  std::vector<Drive> drives_;  // last: their queues use the others
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

Result<std::unique_ptr<JointProbe>> JointProbe::open(std::span<const Files* const> directories,
                                                     const JointProbeShape& shape) {
  TRY_TAKE(std::unique_ptr<Disk> disk, Disk::open(directories, shape));
  return std::unique_ptr<JointProbe>(new JointProbe(std::move(disk), shape));
}

JointProbe::JointProbe(std::unique_ptr<Disk> disk, const JointProbeShape& shape)
    : disk_(std::move(disk)),
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
