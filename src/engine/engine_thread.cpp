// See engine_thread.h.
#include "engine/engine_thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/idle_work.h"

namespace sluice {

// Passes everything on, and gives the place in the queue back before the end is told: whoever hears of it may come
// again at once.
class EngineThread::Placed final : public RequestListener {
 public:
  Placed(EngineThread& home, std::shared_ptr<RequestListener> inner) : home_(home), inner_(std::move(inner)) {}
  bool cancelled() const override { return inner_->cancelled(); }
  void prefilled(std::size_t done, std::size_t of) override { inner_->prefilled(done, of); }
  void prompt_token(const TokenEvent& token) override { inner_->prompt_token(token); }
  void logits(std::span<const float> row) override { inner_->logits(row); }
  bool token(const TokenEvent& token) override { return inner_->token(token); }
  void finished(Result<Generation> made) override {
    {
      const std::lock_guard lock(home_.mutex_);
      --home_.inside_;
    }
    inner_->finished(std::move(made));
  }

 private:
  EngineThread& home_;
  std::shared_ptr<RequestListener> inner_;
};

EngineThread::EngineThread(Engine& engine, int queue)
    : engine_(engine),
      capacity_(static_cast<std::size_t>(engine.options().slots + queue)),
      thread_([this] { work(); }) {}

EngineThread::~EngineThread() {
  {
    const std::lock_guard lock(mutex_);
    draining_ = stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

Result<> EngineThread::submit(std::vector<Job> jobs) {
  {
    const std::lock_guard lock(mutex_);
    if (draining_) return fail(ErrorKind::refused, "the server is shutting down");
    if (jobs.size() > capacity_)
      return fail(ErrorKind::bad_input,
                  fmt::format("{} answers at once are more than the {} that run and wait here", jobs.size(), capacity_),
                  "ask for fewer at a time");
    if (jobs.size() > capacity_ - inside_)
      return fail(ErrorKind::refused,
                  fmt::format("{} requests are running or waiting, and the queue has room for no more", inside_),
                  "try again later");
    inside_ += jobs.size();
    for (Job& job : jobs)
      incoming_.push_back({std::move(job.request), std::make_shared<Placed>(*this, std::move(job.listener))});
  }
  wake_.notify_one();
  return {};
}

void EngineThread::drain() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
}

bool EngineThread::draining() const {
  const std::lock_guard lock(mutex_);
  return draining_;
}

bool EngineThread::idle() const {
  const std::lock_guard lock(mutex_);
  return inside_ == 0;
}

EngineLoad EngineThread::load() const {
  const std::lock_guard lock(mutex_);
  EngineLoad load = load_;
  load.waiting = inside_ - std::min(inside_, load.running);
  return load;
}

void EngineThread::work() {
  Batcher batcher(engine_);
  std::unique_lock lock(mutex_);
  while (true) {
    const auto called = [&] { return stopping_ || !incoming_.empty() || !batcher.idle(); };
    while (!called()) {
      lock.unlock();
      const bool more = engine_.tend();
      engine_.write_usage_now_and_then();
      const EngineStats stats = engine_.stats();
      lock.lock();
      load_.stats = stats;
      wake_.wait_for(lock, more ? kTendEvery : kLookEvery, called);
    }
    const bool stop = stopping_;
    std::vector<Job> taken = std::exchange(incoming_, {});
    lock.unlock();
    for (Job& job : taken) batcher.add(std::move(job.request), std::move(job.listener));
    if (stop) return batcher.cancel_all();
    batcher.step();
    const EngineStats stats = engine_.stats();
    lock.lock();
    load_ = {.running = batcher.running(), .waiting = 0, .steps = batcher.steps(), .stats = stats};
  }
}

}  // namespace sluice
