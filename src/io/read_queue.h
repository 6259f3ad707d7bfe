// The one owner of the disks: reads blocks into slots in the background.
//
// A request is a list of extents and the slot they belong to. The queue widens it to whole disk pages where a file
// wants that, splits it into pieces that are read in parallel, retries short reads, and reports once, to the
// requester's own Landings. Demand overtakes read-ahead, and both overtake what is read while the disk is idle. A
// landing is success only if every byte was written. Where the files lie in several directories (read_sources.h), each
// has readers of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "io/extent.h"
#include "io/files.h"
#include "io/read_sources.h"

namespace sluice {

enum class Urgency { demand, next, idle };  // somebody waits; somebody will soon; while there is nothing else to read

struct Landed {
  std::uint64_t tag = 0;
  Result<> status;
  std::vector<SourcePiece> unproven = {};  // where sources keep proofs: what it is made of and has none yet
  bool odd = false;  // its pieces are cut as they will not be again: a proof of them is not worth keeping
};

// Where a requester waits for its own reads. Thread-safe; must outlive the requests that name it.
class Landings {
 public:
  Landings();
  ~Landings();
  Landings(const Landings&) = delete;
  Landings& operator=(const Landings&) = delete;

  Landed wait();           // Requires: at least one request is outstanding or landed.
  bool poll(Landed& out);  // false if nothing has landed
  bool wait_for(Landed& out, std::chrono::milliseconds patience);  // the same, if nothing lands in this time
  void land(Landed landed);

 private:
  struct Box;
  std::unique_ptr<Box> box_;
};

struct ReadStats {
  std::uint64_t bytes = 0;  // asked for (extents)
  std::uint64_t requests = 0;
  double busy_seconds = 0;  // time in which at least one read was in flight
};

class ReadQueue {
 public:
  virtual ~ReadQueue() = default;  // waits for everything in flight
  // `slot` must start on a disk page and hold the widened extents; it must stay until the request has landed.
  virtual void submit(std::uint64_t tag, std::span<const Extent> extents, std::span<std::byte> slot, Urgency urgency,
                      Landings& landings) = 0;
  // Takes back what has not begun: the request lands soon, as `cancelled` unless it was complete. No effect on a
  // request that has landed.
  virtual void withdraw(std::uint64_t tag, const Landings& landings) = 0;
  // Somebody waits for it now: what is left of the request goes with the demanded ones, behind those that are there.
  virtual void hurry(std::uint64_t tag, const Landings& landings) = 0;
  virtual ReadStats stats() const = 0;
  virtual const Files& files() const = 0;  // that it reads from
};

// A pool of threads that use pread, `readers` for each source, which must outlive the queue; with 0 readers, submit
// itself reads, and from source 0 alone.
std::unique_ptr<ReadQueue> make_pread_queue(ReadSources& sources, int readers);
// The same from one directory. `files` must outlive the queue.
std::unique_ptr<ReadQueue> make_pread_queue(const Files& files, int readers);

}  // namespace sluice
