// A read queue on plain pread: a few threads for each source take pieces of requests, demanded ones first.
//
// Threads have small stacks and do not allocate on the usual path, since every resident byte counts against the budget.
#include <pthread.h>

#include <condition_variable>
#include <memory>
#include <utility>
#include <vector>

#include "io/background_thread.h"
#include "io/read_queue.h"
#include "io/scheduled_queue.h"

namespace sluice {

namespace {

Result<> read_window(const Files& files, const Window& window) {
  WindowReading reading(files, window);
  while (true) {
    TRY_TAKE(const std::size_t bytes, files.read_some(window.file, reading.at(), reading.rest()));
    TRY_TAKE(const bool done, reading.got(bytes));
    if (done) return {};
  }
}

// A mirror has one attempt: source 0 is always there.
Result<> read_mirror(const Files& files, const Window& window) {
  WindowReading reading(files, window);
  TRY_TAKE(const std::size_t bytes, files.read_some(window.file, reading.at(), reading.rest()));
  TRY_TAKE(const bool done, reading.got(bytes));
  return done ? Result<>{} : came_short(files, window);
}

class PreadQueue final : public ScheduledQueue {
 public:
  PreadQueue(ReadSources& sources, std::unique_ptr<ReadSources> own, int readers)
      : ScheduledQueue(sources), own_(std::move(own)) {
    start(readers);
  }
  ~PreadQueue() override {
    {
      const std::scoped_lock lock(mutex_);
      closing_ = true;
    }
    work_.notify_all();
    for (const ::pthread_t thread : threads_) ::pthread_join(thread, nullptr);
  }
  PreadQueue(const PreadQueue&) = delete;
  PreadQueue& operator=(const PreadQueue&) = delete;

 private:
  struct Seat {
    PreadQueue* queue = nullptr;
    int source = 0;
  };

  void start(int readers) {
    const std::scoped_lock lock(mutex_);  // a reader waits until all is as it stays
    const auto body = [](void* seat) -> void* {
      const Seat& at = *static_cast<Seat*>(seat);
      at.queue->serve(at.source);
      return nullptr;
    };
    seats_.resize(static_cast<std::size_t>(sources_.count()), {this, 0});
    bool all = readers > 0;
    for (int source = 0; source < sources_.count(); ++source) {
      Seat& seat = seats_[static_cast<std::size_t>(source)];
      seat.source = source;
      for (int reader = 0; reader < readers; ++reader) {
        ::pthread_t thread{};
        if (start_background_thread(thread, body, &seat))
          threads_.push_back(thread);
        else
          all = false;
      }
      if (source == 0) callers_read_ = threads_.empty();
    }
    if (!all) schedule_.leave_mirrors();  // what one source leaves to another must have a reader there
  }

  void wake() override {
    if (callers_read_)
      serve(0);
    else
      work_.notify_all();
  }

  // Reads pieces until the queue closes (a thread of ours) or has none (a caller that reads).
  void serve(int source) {
    std::unique_lock lock(mutex_);
    while (true) {
      std::optional<ReadPiece> piece = schedule_.take(source, Clock::now());
      if (!piece) {
        if (callers_read_ || (closing_ && schedule_.empty())) return;
        if (schedule_.shared())
          work_.wait_for(lock, ReadSchedule::kPatience);
        else
          work_.wait(lock);
        continue;
      }
      lock.unlock();
      Result<> status = read(*piece);
      lock.lock();
      finish(lock, std::move(*piece), std::move(status));
      if (schedule_.shared()) work_.notify_all();
    }
  }

  Result<> read(ReadPiece& piece) {
    if (piece.source != 0) {
      const Result<> brought = read_mirror(sources_.files(piece.source), piece.window);
      if (brought) return {};
      const std::scoped_lock lock(mutex_);
      schedule_.fall_back(piece, brought.error(), Clock::now());
    }
    return read_window(sources_.files(0), piece.window);
  }

  std::unique_ptr<ReadSources> own_;
  std::condition_variable work_;
  bool closing_ = false, callers_read_ = false;
  std::vector<Seat> seats_;  // by source
  std::vector<::pthread_t> threads_;
};

}  // namespace

std::unique_ptr<ReadQueue> make_pread_queue(ReadSources& sources, int readers) {
  return std::make_unique<PreadQueue>(sources, nullptr, readers);
}

std::unique_ptr<ReadQueue> make_pread_queue(const Files& files, int readers) {
  auto own = std::make_unique<ReadSources>(std::vector<ReadSource>{{&files}});
  ReadSources& sources = *own;
  return std::make_unique<PreadQueue>(sources, std::move(own), readers);
}

}  // namespace sluice
