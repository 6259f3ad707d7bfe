// See read_sources.h.
#include "io/read_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/counter_random.h"
#include "base/seconds.h"

namespace sluice {

namespace {

constexpr double kMemory = 0.2;  // seconds after which what was seen counts for a third
// Seconds of reading that it counts for at least: a piece that takes less does not say much.
constexpr double kLeastMemory = 4e-3;
constexpr double kRest = 100;  // times as long as it takes, before a source is tried again

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
    one.seen_seconds = source.bytes_per_second > 0 ? kLeastMemory : 0;
    one.seen_bytes = source.bytes_per_second * one.seen_seconds;
    SLUICE_CHECK(one.files->count() == sources.front().files->count());
    all_.push_back(std::move(one));
  }
}

// The share of what was seen that counts now.
double ReadSources::kept(const Source& source, Clock::time_point now) {
  if (source.seen_seconds <= kLeastMemory) return 1;
  return std::max(std::exp(-in_seconds(now - source.seen) / kMemory), kLeastMemory / source.seen_seconds);
}

// Bytes a second that it brings; if all that is under way came now, it would not be more.
double ReadSources::rate(const Source& source, Clock::time_point now) const {
  double rate = source.stats.bytes_per_second;
  if (rate <= 0)
    for (const Source& other : all_) rate = std::max(rate, other.stats.bytes_per_second);
  if (source.flying > 0 && source.seen_seconds > 0) {
    const double share = kept(source, now);
    const double at_most = (share * source.seen_bytes + static_cast<double>(source.flying_bytes)) /
                           (share * source.seen_seconds + in_seconds(now - source.busy_since));
    rate = std::min(rate, at_most);
  }
  return std::max(rate, 1.0);
}

// To bring what it has under way and so many bytes more.
double ReadSources::seconds_of(const Source& source, std::uint64_t more, Clock::time_point now) const {
  return static_cast<double>(source.flying_bytes + more) / rate(source, now);
}

bool ReadSources::takes(int source, std::uint64_t bytes, std::uint64_t waiting, Clock::time_point now) const {
  {
    const std::scoped_lock lock(mutex_);
    const Source& self = all_[static_cast<std::size_t>(source)];
    if (self.stats.out) return false;
    const double mine = seconds_of(self, bytes, now);
    const bool soonest = std::ranges::none_of(all_, [&](const Source& other) {
      return &other != &self && !other.stats.out && seconds_of(other, bytes, now) < mine;
    });
    if (soonest) return true;
  }
  return reach(source, now).takes(bytes, waiting);
}

// It would bring a piece as soon as the others together come to it, if all that waits until then were theirs.
ReadSources::Reach ReadSources::reach(int source, Clock::time_point now) const {
  const std::scoped_lock lock(mutex_);
  const Source& self = all_[static_cast<std::size_t>(source)];
  Reach reach;
  if (self.stats.out) return {.base = std::numeric_limits<double>::infinity()};
  for (const Source& other : all_) {
    if (&other == &self || other.stats.out) continue;
    reach.per_byte += rate(other, now) / rate(self, now);
    reach.base -= static_cast<double>(other.flying_bytes);
  }
  reach.base += reach.per_byte * static_cast<double>(self.flying_bytes);
  return reach;
}

bool ReadSources::trial_due(int source, Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  Source& self = all_[static_cast<std::size_t>(source)];
  if (self.stats.out || self.flying > 0) return false;
  if (self.seen == Clock::time_point{}) self.seen = now;
  return in_seconds(now - self.seen) > kRest * static_cast<double>(kTrialBytes) / rate(self, now);
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
  const double share = kept(source, now);
  source.seen_bytes = share * source.seen_bytes + static_cast<double>(bytes);
  source.seen_seconds = share * source.seen_seconds + in_seconds(now - source.busy_since);
  source.seen = source.busy_since = now;
  source.stats.bytes_per_second = source.seen_bytes / std::max(source.seen_seconds, 1e-9);
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
  for (const Source& source : all_) stats.push_back(source.stats);
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
