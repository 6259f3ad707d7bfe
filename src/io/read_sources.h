// Directories that hold the same files, each on a drive of its own: which of them the next piece should come from.
//
// Source 0 is the checkpoint itself, the others are mirrors. Whoever reads takes the next piece when he has nothing to
// do, so that a drive twice as fast takes twice as much; a slow one takes what the others would come to as late as it
// brings it, and leaves alone what would be there earlier without its help. How fast a source is, is what it brought in
// the last moments, and no more than what it has under way allows: one that became slow is found out while it keeps
// others waiting. One that is too slow to get anything gets a small piece now and then, so that it is found out too
// when it became fast. A mirror that fails, or that brought other bytes than the checkpoint holds, is taken out: it
// costs speed and changes no byte. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "io/files.h"

namespace sluice {

struct ReadSource {
  const Files* files = nullptr;  // must outlive the sources; the same files in the same order in all of them
  double bytes_per_second = 0;   // measured, until reads say better; 0: unknown, taken to be like the others
  std::string name = {};         // the directory, for people
};

// Bytes [begin, end) of a file, read from a source in one go.
struct SourcePiece {
  int source = 0, file = 0;
  std::uint64_t begin = 0, end = 0;

  bool operator==(const SourcePiece&) const = default;
};
struct SourcePieceHash {
  std::size_t operator()(const SourcePiece& piece) const;
};

struct SourceStats {
  std::string name;
  std::uint64_t bytes = 0;      // of pieces that it brought
  double bytes_per_second = 0;  // as it reads now
  int failures = 0;
  bool out = false;  // nothing is read from it any more
};

class ReadSources {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kMostFailures = 3;  // of a mirror

  // `tell`, if any, hears in a sentence when a mirror is taken out; any thread calls it.
  explicit ReadSources(std::vector<ReadSource> sources, std::function<void(const std::string&)> tell = {});

  int count() const { return static_cast<int>(all_.size()); }
  const Files& files(int source) const { return *all_[static_cast<std::size_t>(source)].files; }

  // Whether `source`, which has a reader free, should take a piece of `bytes` when `waiting` bytes, these among them,
  // are there to be read before or with it. At least one usable source always should take the first.
  bool takes(int source, std::uint64_t bytes, std::uint64_t waiting, Clock::time_point now) const;
  // The least that has to wait for `takes` to be true where another source is faster: to look down a long line.
  struct Reach {
    double base = 0, per_byte = 0;
    bool takes(std::uint64_t bytes, std::uint64_t waiting) const {
      return base + per_byte * static_cast<double>(bytes) <= static_cast<double>(waiting);
    }
  };
  Reach reach(int source, Clock::time_point now) const;
  // Whether a source that takes nothing is due to be tried with so many bytes: that takes 1 % of its time at most.
  static constexpr std::uint64_t kTrialBytes = std::uint64_t{64} << 10;
  bool trial_due(int source, Clock::time_point now);
  // A piece is read from now on / was brought, or not.
  void begin(int source, std::uint64_t bytes, Clock::time_point now);
  void end(int source, std::uint64_t bytes, bool brought, Clock::time_point now);
  // A mirror did not bring a piece that it has to have.
  void failed(int source, const Error& why);
  // A mirror brought other bytes than the checkpoint holds.
  void deceived(int source, const std::string& what);
  std::vector<SourceStats> stats() const;

  // With checksums: a piece is proven once bytes that this source brought were found right, or none is kept.
  void keep_proofs() { keeps_proofs_ = count() > 1; }  // before anything is read
  bool keeps_proofs() const { return keeps_proofs_; }
  bool proven(const SourcePiece& piece) const;
  void prove(std::span<const SourcePiece> pieces);
  static constexpr std::uint64_t kProofBytes = 96;  // of memory, for each piece of each source, at most

 private:
  struct Source {
    const Files* files = nullptr;
    SourceStats stats;
    std::uint64_t flying_bytes = 0;
    int flying = 0;
    // What it brought and how long it took for it; what is long ago counts less and less.
    double seen_bytes = 0, seen_seconds = 0;
    Clock::time_point seen{};        // the last piece; none yet: when it was first asked
    Clock::time_point busy_since{};  // since then nothing came of what is under way
  };
  static double kept(const Source& source, Clock::time_point now);
  static void measure(Source& source, std::uint64_t bytes, Clock::time_point now);
  double rate(const Source& source, Clock::time_point now) const;
  double seconds_of(const Source& source, std::uint64_t more, Clock::time_point now) const;
  void take_out(Source& source, const std::string& why);

  mutable std::mutex mutex_;
  std::vector<Source> all_;
  std::function<void(const std::string&)> tell_;
  bool keeps_proofs_ = false;
  std::unordered_set<SourcePiece, SourcePieceHash> proven_;
};

}  // namespace sluice
