// Carries on what an engine reads ahead of any need while its owner waits for something else.
//
// An engine belongs to one thread. Who is about to wait (for a line, say) lends it to a thread of this object, which
// gives it back in the destructor, at once: it never waits for a read.
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "engine/engine.h"

namespace sluice {

// How often the engine is tended: a disk reads a few experts in this time.
inline constexpr std::chrono::milliseconds kTendEvery{2};
// And if nothing is read ahead: how soon it gives way to others who need memory.
inline constexpr std::chrono::milliseconds kLookEvery{500};

class IdleWork {
 public:
  explicit IdleWork(Engine& engine);
  ~IdleWork();
  IdleWork(const IdleWork&) = delete;
  IdleWork& operator=(const IdleWork&) = delete;

 private:
  void work();

  Engine& engine_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false, running_ = false;
  ::pthread_t thread_{};
};

}  // namespace sluice
