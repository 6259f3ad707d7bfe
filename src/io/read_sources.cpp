// See read_sources.h.
#include "io/read_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/counter_random.h"

namespace sluice {

namespace {

constexpr std::uint64_t kStretchBytes = std::uint64_t{16} << 20;  // from which a rate is read off
constexpr double kNewShare = 0.3;                                 // of the last stretch in the rate

}  // namespace

std::size_t SourcePieceHash::operator()(const SourcePiece& piece) const {
  const auto place = static_cast<std::uint64_t>(piece.file) << 8 ^ static_cast<std::uint64_t>(piece.source);
  return counter_random(piece.begin, piece.end, place);
}

ReadSources::ReadSources(std::vector<ReadSource> sources, std::function<void(const std::string&)> tell)
    : tell_(std::move(tell)) {
  SLUICE_CHECK(!sources.empty());
  for (ReadSource& source : sources) {
    Source one;
    one.files = source.files;
    one.stats.name = std::move(source.name);
    one.stats.bytes_per_second = source.bytes_per_second;
    SLUICE_CHECK(one.files->count() == sources.front().files->count());
    all_.push_back(std::move(one));
  }
}

// To bring what it has under way and so many bytes more.
double ReadSources::seconds_of(const Source& source, std::uint64_t more) const {
  double rate = source.stats.bytes_per_second;
  if (rate <= 0)
    for (const Source& other : all_) rate = std::max(rate, other.stats.bytes_per_second);
  return static_cast<double>(source.flying_bytes + more) / std::max(rate, 1.0);
}

bool ReadSources::takes(int source, std::uint64_t bytes, std::uint64_t waiting) const {
  const std::scoped_lock lock(mutex_);
  const Source& self = all_[static_cast<std::size_t>(source)];
  if (self.stats.out) return false;
  const double mine = seconds_of(self, bytes);
  // The others together, if all that waits were theirs: the sum of rates, as of parallel resistors.
  double soonest = mine, rates = 0;
  std::uint64_t theirs = waiting;
  for (const Source& other : all_) {
    if (&other == &self || other.stats.out) continue;
    soonest = std::min(soonest, seconds_of(other, bytes));
    rates += static_cast<double>(other.flying_bytes + bytes) / seconds_of(other, bytes);
    theirs += other.flying_bytes;
  }
  return mine <= soonest || mine * rates <= static_cast<double>(theirs);
}

void ReadSources::begin(int source, std::uint64_t bytes, Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  Source& self = all_[static_cast<std::size_t>(source)];
  if (self.flying++ == 0) self.busy_since = now;
  self.flying_bytes += bytes;
}

void ReadSources::end(int source, std::uint64_t bytes, bool brought, Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  Source& self = all_[static_cast<std::size_t>(source)];
  --self.flying;
  self.flying_bytes -= bytes;
  if (brought) self.stats.bytes += bytes;
  measure(self, brought ? bytes : 0, now);
}

void ReadSources::measure(Source& source, std::uint64_t bytes, Clock::time_point now) {
  source.stretch_bytes += bytes;
  source.stretch_seconds += std::chrono::duration<double>(now - source.busy_since).count();
  source.busy_since = now;
  if (source.stretch_bytes < kStretchBytes) return;
  const double rate = static_cast<double>(source.stretch_bytes) / std::max(source.stretch_seconds, 1e-9);
  double& known = source.stats.bytes_per_second;
  known = known <= 0 ? rate : (1 - kNewShare) * known + kNewShare * rate;
  source.stretch_bytes = 0;
  source.stretch_seconds = 0;
}

void ReadSources::failed(int source, const Error& why) {
  const std::scoped_lock lock(mutex_);
  Source& self = all_[static_cast<std::size_t>(source)];
  SLUICE_CHECK(source > 0);
  if (++self.stats.failures == kMostFailures)
    take_out(self, fmt::format("{} reads failed, the last one so: {}", kMostFailures, why.what));
}

void ReadSources::deceived(int source, const std::string& what) {
  const std::scoped_lock lock(mutex_);
  Source& self = all_[static_cast<std::size_t>(source)];
  SLUICE_CHECK(source > 0);
  ++self.stats.failures;
  take_out(self, what);
}

void ReadSources::take_out(Source& source, const std::string& why) {
  if (source.stats.out) return;
  source.stats.out = true;
  if (tell_) tell_(fmt::format("the mirror {} is not read any more: {}", source.stats.name, why));
}

std::vector<SourceStats> ReadSources::stats() const {
  const std::scoped_lock lock(mutex_);
  std::vector<SourceStats> stats;
  for (const Source& source : all_) {
    stats.push_back(source.stats);
    // Until there is a stretch to read a rate off, what came so far says it for people.
    if (double& rate = stats.back().bytes_per_second; rate <= 0 && source.stretch_seconds > 0)
      rate = static_cast<double>(source.stretch_bytes) / source.stretch_seconds;
  }
  return stats;
}

bool ReadSources::proven(const SourcePiece& piece) const {
  const std::scoped_lock lock(mutex_);
  return proven_.contains(piece);
}

void ReadSources::prove(std::span<const SourcePiece> pieces) {
  const std::scoped_lock lock(mutex_);
  proven_.insert(pieces.begin(), pieces.end());
}

}  // namespace sluice
