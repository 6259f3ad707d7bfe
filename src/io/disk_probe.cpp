// See disk_probe.h.
#include "io/disk_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/seconds.h"
#include "io/aligned.h"
#include "io/open_queue.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kTrialBytes = std::uint64_t{256} << 10, kFewestBytes = std::uint64_t{64} << 10;
constexpr std::chrono::milliseconds kGlance{20};  // how long an interrupt may wait to be seen

Result<DiskSpeed> read_parts(const Files& source, const DiskProbe& probe) {
  const std::uint64_t size = source.size(0);
  const std::uint64_t part = page_ceil(std::min(probe.read_bytes, size));
  const std::uint64_t parts = std::max<std::uint64_t>(1, std::min(size, probe.most_bytes) / part);
  const std::uint64_t stride = page_floor(size / parts);  // spread over the file
  const auto depth = static_cast<std::uint64_t>(probe.depth);
  const PageArena memory(depth * part);
  ReadSources sources({{&source}});
  TRY_TAKE(const OpenedQueue opened, open_read_queue(sources, probe.engine, probe.depth));
  const std::unique_ptr<ReadQueue>& queue = opened.queue;
  Landings landings;
  std::uint64_t begun = 0;
  const auto begin_next = [&](std::uint64_t buffer) {
    const std::uint64_t offset = page_floor((probe.from + begun++ * stride) % size);
    const Extent extent{0, offset, std::min(part, size - offset), 0};
    queue->submit(buffer, {&extent, 1}, memory.slice(buffer * part, part), Urgency::demand, landings);
  };
  const Clock::time_point begin = Clock::now();
  DiskSpeed speed;
  speed.read_bytes = part;
  speed.engine = opened.engine;
  Result<> outcome;
  std::uint64_t landed = 0;
  while (begun < std::min(depth, parts)) begin_next(begun);
  bool withdrawn = false;
  while (landed < begun) {
    const bool cancelled = !unless_requested(probe.cancel);
    if (cancelled && !std::exchange(withdrawn, true))
      for (std::uint64_t buffer = 0; buffer < depth; ++buffer) queue->withdraw(buffer, landings);
    Landed read;
    if (!landings.wait_for(read, kGlance)) continue;
    ++landed;
    if (!read.status) outcome = std::move(read.status);
    if (outcome && !cancelled && begun < parts && seconds_since(begin) < probe.most_seconds) begin_next(read.tag);
  }
  TRY(unless_requested(probe.cancel));
  speed.seconds = seconds_since(begin);
  if (!outcome) return tl::unexpected<Error>(std::move(outcome.error()));
  speed.bytes = queue->stats().bytes;
  speed.bytes_per_second = static_cast<double>(speed.bytes) / std::max(speed.seconds, 1e-6);
  return speed;
}

// Reads of which `depth` come in the time that there is, by one small read before them: on a slow disk large ones take
// minutes, and cannot be taken back once they have begun.
Result<DiskProbe> fitted(const Files& files, DiskProbe probe) {
  const auto depth = static_cast<std::uint64_t>(probe.depth);
  const std::uint64_t read_bytes = std::min(probe.read_bytes, files.size(0));
  if (probe.as_told || read_bytes * depth < 4 * kTrialBytes) return probe;
  DiskProbe trial = probe;
  trial.read_bytes = trial.most_bytes = kTrialBytes;
  trial.depth = 1;
  TRY_TAKE(const DiskSpeed tried, read_parts(files, trial));
  const double bytes = tried.bytes_per_second * probe.most_seconds / static_cast<double>(depth);
  if (bytes < static_cast<double>(read_bytes))
    probe.read_bytes = std::max(page_floor(static_cast<std::uint64_t>(bytes)), std::min(kFewestBytes, read_bytes));
  probe.from += kTrialBytes;
  return probe;
}

}  // namespace

Result<DiskSpeed> probe_disk(const Files& files, const DiskProbe& probe) {
  if (files.size(0) == 0) return fail(ErrorKind::io, fmt::format("{}: is empty, nothing to measure", files.path(0)));
  TRY_TAKE(const DiskProbe fitting, fitted(files, probe));
  return read_parts(files, fitting);
}

Result<DiskSpeed> probe_disk(const std::string& path, const DiskProbe& probe) {
  TRY_TAKE(std::unique_ptr<Files> files, open_files({path}, probe.cached ? IoMode::buffered : IoMode::automatic));
  const bool direct = files->aligned_only(0);
  if (!direct && !probe.cached) {
    TRY_TAKE(files, open_files({path}, IoMode::drop));
  }
  TRY_TAKE(DiskSpeed speed, probe_disk(*files, probe));
  speed.direct = direct;
  return speed;
}

}  // namespace sluice
