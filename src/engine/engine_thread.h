// The one thread that owns a model and runs everybody's requests on it, in batches.
//
// Requests come in through a bounded queue from any thread; what becomes of them is told to their listeners on the
// engine's thread. The engine must outlive this object and belongs to it meanwhile.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/batcher.h"

namespace sluice {

// How things stand, as of the last step.
struct EngineLoad {
  std::size_t running = 0, waiting = 0;
  std::uint64_t steps = 0;  // forward passes
  EngineStats stats;
};

class EngineThread {
 public:
  struct Job {
    Request request;
    std::shared_ptr<RequestListener> listener;
  };

  // `queue`: requests that may wait beside those that run.
  EngineThread(Engine& engine, int queue);
  // Ends what still runs or waits as if it had been cancelled, and waits for the thread.
  ~EngineThread();
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  // All of them or none: bad_input if there never is room for so many, refused if there is none now, or after drain().
  // Does not wait.
  Result<> submit(std::vector<Job> jobs);
  // Nothing new is taken from now on; what was taken goes on.
  void drain();
  bool draining() const;
  bool idle() const;
  EngineLoad load() const;

 private:
  class Placed;
  void work();

  Engine& engine_;
  const std::size_t capacity_;  // running and waiting
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Job> incoming_;
  std::size_t inside_ = 0;  // submitted and not ended
  bool draining_ = false, stopping_ = false;
  EngineLoad load_;
  std::thread thread_;
};

}  // namespace sluice
