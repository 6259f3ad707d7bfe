// Where the time of a run went, as a file in Chrome's trace format: Perfetto (ui.perfetto.dev) and chrome://tracing
// open it.
//
// A profile looks at the seams: it wraps the stores and the files of an engine and writes down when each was called and
// when it answered. One track is the engine's own thread: passes, within them the steps of the walk, and every wait for
// weights; each reading thread has another, with its reads. Without a profile nothing is wrapped and nothing is spent.
// Events are written as they happen, so a profile takes no memory to speak of. Thread-safe.
#pragma once

#include <chrono>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "io/files.h"
#include "residency/expert_store.h"
#include "residency/trunk_store.h"

namespace sluice {

class Profile {
 public:
  using Clock = std::chrono::steady_clock;

  // Begins the file; fails if it cannot be written.
  static Result<std::unique_ptr<Profile>> open(const std::string& path);

  // The same, seen by the profile, which must outlive it.
  std::unique_ptr<Files> watch(std::unique_ptr<Files> files);
  std::unique_ptr<TrunkStore> watch(std::unique_ptr<TrunkStore> trunk, const std::vector<BlockSpec>& steps);
  std::unique_ptr<ExpertStore> watch(std::unique_ptr<ExpertStore> experts, const ExpertTable& table);

  // A span of the calling thread, from `begin` to now.
  void add(std::string_view category, std::string_view name, Clock::time_point begin, std::uint64_t bytes = 0);
  // Ends the file; fails if something could not be written. Reads that are still under way are left out.
  Result<> finish();

 private:
  explicit Profile(const std::string& path);
  int track_of_caller();

  std::string path_;
  std::mutex mutex_;
  std::ofstream file_;
  bool finished_ = false;
  Clock::time_point zero_ = Clock::now();
  std::vector<std::thread::id> tracks_;
};

}  // namespace sluice
