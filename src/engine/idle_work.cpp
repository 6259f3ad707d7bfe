// See idle_work.h.
#include "engine/idle_work.h"

#include "io/background_thread.h"

namespace sluice {

IdleWork::IdleWork(Engine& engine) : engine_(engine) {
  const auto body = [](void* self) -> void* {
    static_cast<IdleWork*>(self)->work();
    return nullptr;
  };
  running_ = start_background_thread(thread_, body, this);
}

IdleWork::~IdleWork() {
  if (!running_) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  ::pthread_join(thread_, nullptr);
}

void IdleWork::work() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    lock.unlock();
    const bool more = engine_.tend();
    lock.lock();
    wake_.wait_for(lock, more ? kTendEvery : kLookEvery, [&] { return ending_; });
  }
}

}  // namespace sluice
