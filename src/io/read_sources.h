// Directories that hold the same files, each on a drive of its own: which of them the next piece should come from.
//
// Source 0 is the checkpoint itself, the others are mirrors. Whoever reads takes the next piece when he has nothing to
// do, so that a drive twice as fast takes twice as much; a slow one leaves a piece alone where all that is asked for
// would be there earlier without its help. A mirror that fails, or that brought other bytes than the checkpoint holds,
// is taken out: it costs speed and changes no byte. Thread-safe.
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
  // are there to be read. At least one usable source always should.
  bool takes(int source, std::uint64_t bytes, std::uint64_t waiting) const;
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
    // Of the stretch that the next reading of its rate is made from.
    std::uint64_t stretch_bytes = 0;
    double stretch_seconds = 0;
    Clock::time_point busy_since{};
  };
  static void measure(Source& source, std::uint64_t bytes, Clock::time_point now);
  double seconds_of(const Source& source, std::uint64_t more) const;
  void take_out(Source& source, const std::string& why);

  mutable std::mutex mutex_;
  std::vector<Source> all_;
  std::function<void(const std::string&)> tell_;
  bool keeps_proofs_ = false;
  std::unordered_set<SourcePiece, SourcePieceHash> proven_;
};

}  // namespace sluice
