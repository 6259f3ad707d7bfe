// What is to be read and in which order: requests cut into pieces, demanded ones first, each piece from one source.
//
// A request is cut lazily, piece by piece, so that queueing hundreds of gigabytes of read-ahead costs no memory. Reads
// of aligned files are widened to whole pages and land in the slot without a copy. It has no threads, no lock and no
// clock: a queue that reads (pread_queue.cpp) holds the lock and says what time it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "io/read_queue.h"
#include "io/read_sources.h"

namespace sluice {

// A run of a file and where it lands: bytes [begin, end) go to `to`; those that are wanted must come.
struct Window {
  int file = 0;
  std::uint64_t begin = 0, end = 0, wanted_begin = 0, wanted_end = 0;
  std::byte* to = nullptr;

  std::uint64_t bytes() const { return end - begin; }
};

// How far the reading of a window has come, one attempt after the other.
class WindowReading {
 public:
  WindowReading(const Files& files, const Window& window) : files_(files), window_(window), at_(window.begin) {}
  std::uint64_t at() const { return at_; }
  std::span<std::byte> rest() const { return {window_.to + (at_ - window_.begin), window_.end - at_}; }
  // What an attempt to read rest() at at() brought. True: all that is wanted is there.
  Result<bool> got(std::size_t bytes);

 private:
  const Files& files_;
  Window window_;
  std::uint64_t at_;
  int futile_ = 0;
};

// A mirror that brought less than was wanted.
tl::unexpected<Error> came_short(const Files& files, const Window& window);

struct ReadRequest {
  std::uint64_t tag = 0;
  Landings* landings = nullptr;
  std::vector<Window> windows;
  std::size_t window = 0;  // the next piece is cut from windows[window]
  int in_flight = 0;       // pieces
  std::optional<Error> error;
  std::vector<SourcePiece> unproven;
  bool odd = false;  // a trial was cut off it

  bool exhausted() const { return window == windows.size(); }
  std::uint64_t left() const;  // bytes that are not in a piece yet
  Landed landed();             // what the requester is told
};

struct ReadPiece {
  std::shared_ptr<ReadRequest> request;
  Window window;
  int source = 0;
};

class ReadSchedule {
 public:
  using Clock = ReadSources::Clock;
  // `sources` must outlive it.
  explicit ReadSchedule(ReadSources& sources) : sources_(sources), many_(sources.count() > 1) {}
  // Source 0 alone is read. Before the first request.
  void leave_mirrors() { many_ = false; }

  // Null if there is nothing to read. Needs no lock.
  std::shared_ptr<ReadRequest> request(std::uint64_t tag, std::span<const Extent> extents, std::span<std::byte> slot,
                                       Landings& landings) const;
  void add(std::shared_ptr<ReadRequest> request, Urgency urgency, std::span<const Extent> extents);
  // Counted and no more, for a request with nothing to read.
  void add_nothing() { ++stats_.requests; }

  // The next piece for a source that can begin one; nothing if there is none, or none that it should read.
  std::optional<ReadPiece> take(int source, Clock::time_point now);
  // A mirror did not bring it: source 0 is to.
  void fall_back(ReadPiece& piece, const Error& why, Clock::time_point now);
  // It was read, or could not be. Returns the request if nothing of it is left: its landing is due.
  std::shared_ptr<ReadRequest> finish(ReadPiece piece, Result<> status, Clock::time_point now);

  // As ReadQueue's. `withdraw` returns the request if its landing is due.
  std::shared_ptr<ReadRequest> withdraw(std::uint64_t tag, const Landings& landings);
  void hurry(std::uint64_t tag, const Landings& landings);
  ReadStats stats(Clock::time_point now) const;

  bool empty() const { return demand_.requests.empty() && next_.requests.empty() && idle_.requests.empty(); }
  // Whether what one source leaves may become another's, when a piece ends or merely when it takes long: who waits then
  // asks again after kPatience.
  bool shared() const { return many_ && !empty(); }
  static constexpr std::chrono::milliseconds kPatience{10};

 private:
  struct Line {
    std::deque<std::shared_ptr<ReadRequest>> requests;  // none of them exhausted, but for those that failed
    std::uint64_t left = 0;                             // bytes
    using Place = std::deque<std::shared_ptr<ReadRequest>>::iterator;
    Place find(std::uint64_t tag, const Landings& landings);
  };
  // The first request of a line that `source` should take a piece of, where so many bytes wait before the line.
  Line::Place place_for(int source, Line& line, std::uint64_t before, Clock::time_point now) const;
  ReadPiece begin(int source, Line& line, Line::Place at, std::uint64_t most_bytes, Clock::time_point now);
  Window widen(const Extent& extent, std::span<std::byte> slot) const;

  ReadSources& sources_;
  bool many_;
  Line demand_, next_, idle_;  // by urgency
  ReadStats stats_;
  int active_ = 0;  // pieces being read
  Clock::time_point busy_since_{};
};

}  // namespace sluice
