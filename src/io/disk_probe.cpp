// See disk_probe.h.
#include "io/disk_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "io/aligned.h"
#include "io/open_queue.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

}  // namespace

Result<DiskSpeed> probe_disk(const std::string& path, const DiskProbe& probe) {
  TRY_TAKE(std::unique_ptr<Files> files, open_files({path}, probe.cached ? IoMode::buffered : IoMode::automatic));
  const bool direct = files->aligned_only(0);
  if (!direct && !probe.cached) {
    TRY_TAKE(files, open_files({path}, IoMode::drop));
  }
  const Files& source = *files;
  const std::uint64_t size = source.size(0);
  if (size == 0) return fail(ErrorKind::io, fmt::format("{}: is empty, nothing to measure", path));

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
  speed.direct = direct;
  speed.engine = opened.engine;
  Result<> outcome;
  std::uint64_t landed = 0;
  while (begun < std::min(depth, parts)) begin_next(begun);
  while (landed < begun) {
    Landed read = landings.wait();
    ++landed;
    if (!read.status) outcome = std::move(read.status);
    if (outcome && begun < parts && seconds_since(begin) < probe.most_seconds) begin_next(read.tag);
  }
  speed.seconds = seconds_since(begin);
  if (!outcome) return tl::unexpected<Error>(std::move(outcome.error()));
  speed.bytes = queue->stats().bytes;
  speed.bytes_per_second = static_cast<double>(speed.bytes) / std::max(speed.seconds, 1e-6);
  return speed;
}

}  // namespace sluice
