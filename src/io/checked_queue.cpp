// See checked_queue.h.
#include "io/checked_queue.h"

#include <pthread.h>

#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "io/background_thread.h"

namespace sluice {

namespace {

constexpr std::uint64_t kStop = std::numeric_limits<std::uint64_t>::max();  // the tag that ends the thread

class CheckedQueue final : public ReadQueue {
 public:
  CheckedQueue(std::unique_ptr<ReadQueue> inside, std::unique_ptr<ReadCheck> check)
      : check_(std::move(check)), inside_(std::move(inside)), files_(inside_->files()) {}
  ~CheckedQueue() override {
    inside_.reset();  // all that is in flight lands, in landed_ or at its requester
    if (!running_) return;
    landed_.land({kStop, {}});
    ::pthread_join(thread_, nullptr);
  }
  CheckedQueue(const CheckedQueue&) = delete;
  CheckedQueue& operator=(const CheckedQueue&) = delete;

  bool start() {
    const auto body = [](void* queue) -> void* {
      static_cast<CheckedQueue*>(queue)->forward();
      return nullptr;
    };
    return running_ = start_background_thread(thread_, body, this);
  }

  void submit(std::uint64_t tag, std::span<const Extent> extents, std::span<std::byte> slot, Urgency urgency,
              Landings& landings) override {
    if (!check_->due(extents)) return inside_->submit(tag, extents, slot, urgency, landings);
    std::uint64_t ticket = 0;
    {
      const std::scoped_lock lock(mutex_);
      ticket = next_ticket_++;
      waiting_.emplace(ticket, Waiting{tag, &landings, {extents.begin(), extents.end()}, slot.data()});
    }
    inside_->submit(ticket, extents, slot, urgency, landed_);
  }

  void withdraw(std::uint64_t tag, const Landings& landings) override {
    if (const auto ticket = ticket_of(tag, landings)) return inside_->withdraw(*ticket, landed_);
    inside_->withdraw(tag, landings);
  }
  void hurry(std::uint64_t tag, const Landings& landings) override {
    if (const auto ticket = ticket_of(tag, landings)) return inside_->hurry(*ticket, landed_);
    inside_->hurry(tag, landings);
  }
  ReadStats stats() const override { return inside_->stats(); }
  const Files& files() const override { return files_; }

 private:
  struct Waiting {
    std::uint64_t tag = 0;
    Landings* landings = nullptr;
    std::vector<Extent> extents;
    const std::byte* slot = nullptr;
  };

  std::optional<std::uint64_t> ticket_of(std::uint64_t tag, const Landings& landings) const {
    const std::scoped_lock lock(mutex_);
    for (const auto& [ticket, request] : waiting_)
      if (request.tag == tag && request.landings == &landings) return ticket;
    return std::nullopt;
  }

  Waiting take(std::uint64_t ticket) {
    const std::scoped_lock lock(mutex_);
    return std::move(waiting_.extract(ticket).mapped());
  }

  // The thread: checks what lands and hands it on.
  void forward() {
    while (true) {
      Landed landed = landed_.wait();
      if (landed.tag == kStop) return;
      const Waiting request = take(landed.tag);
      if (landed.status) landed.status = check_->check(request.extents, request.slot, files_);
      request.landings->land({request.tag, std::move(landed.status)});
    }
  }

  std::unique_ptr<ReadCheck> check_;
  Landings landed_;  // tag: ticket
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Waiting> waiting_;  // by ticket
  std::uint64_t next_ticket_ = 0;
  ::pthread_t thread_{};
  bool running_ = false;
  std::unique_ptr<ReadQueue> inside_;
  const Files& files_;
};

}  // namespace

Result<std::unique_ptr<ReadQueue>> make_checked_queue(std::unique_ptr<ReadQueue> inside,
                                                      std::unique_ptr<ReadCheck> check) {
  auto queue = std::make_unique<CheckedQueue>(std::move(inside), std::move(check));
  if (!queue->start()) return fail(ErrorKind::io, "the system gives no thread to check what is read");
  return std::unique_ptr<ReadQueue>(std::move(queue));
}

}  // namespace sluice
