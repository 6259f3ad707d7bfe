// See uring_queue.h.
//
// The thread sleeps in the kernel until a read is complete or an eventfd, of which a read is always in the ring as
// well, says that there is something new. Only that thread touches the ring.
#include "io/uring_queue.h"

#include <liburing.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>
#include <vector>

#include "base/check.h"
#include "io/background_thread.h"
#include "io/scheduled_queue.h"

namespace sluice {

namespace {

constexpr int kMostAttempts = 100;  // in a row that the kernel breaks off without a reason of the disk's
constexpr std::uint64_t kBell = 0;  // user data of the eventfd's read; flight n has n + 1

// Zero or a negative error number. A ring that does not know plain reads (before Linux 5.6) counts as none.
int open_ring(::io_uring& ring, unsigned entries) {
  if (const int status = ::io_uring_queue_init(entries, &ring, 0); status != 0) return status;
  ::io_uring_probe* const probe = ::io_uring_get_probe_ring(&ring);
  const bool reads = probe != nullptr && ::io_uring_opcode_supported(probe, IORING_OP_READ) != 0;
  if (probe != nullptr) ::io_uring_free_probe(probe);
  if (reads) return 0;
  ::io_uring_queue_exit(&ring);
  return -ENOSYS;
}

class RingQueue final : public ScheduledQueue {
 public:
  RingQueue(ReadSources& sources, int depth)
      : ScheduledQueue(sources), depth_(depth), flying_(static_cast<std::size_t>(sources.count())) {
    flights_.resize(flying_.size() * static_cast<std::size_t>(depth));
    for (std::size_t flight = flights_.size(); flight-- > 0;) free_.push_back(flight);
  }
  ~RingQueue() override {
    if (running_) {
      {
        const std::scoped_lock lock(mutex_);
        closing_ = true;
      }
      ring_bell();
      ::pthread_join(thread_, nullptr);
    }
    if (bell_ >= 0) ::close(bell_);
    if (has_ring_) ::io_uring_queue_exit(&ring_);
  }
  RingQueue(const RingQueue&) = delete;
  RingQueue& operator=(const RingQueue&) = delete;

  Result<> start() {
    const int status = open_ring(ring_, static_cast<unsigned>(flights_.size()) + 1);
    if (status != 0)
      return fail(ErrorKind::unsupported, "io_uring cannot be used: " + std::generic_category().message(-status));
    has_ring_ = true;
    bell_ = ::eventfd(0, EFD_CLOEXEC);
    const auto body = [](void* queue) -> void* {
      static_cast<RingQueue*>(queue)->serve();
      return nullptr;
    };
    running_ = bell_ >= 0 && start_background_thread(thread_, body, this);
    return running_ ? Result<>{} : fail(ErrorKind::unsupported, "io_uring cannot be used: the system gives no thread");
  }

 private:
  struct Flight {
    ReadPiece piece;
    std::optional<WindowReading> reading;
    Clock::time_point begun{};
    int attempts = 0;
  };

  void wake() override {
    if (asleep_.load()) ring_bell();
  }
  void ring_bell() const {
    const std::uint64_t one = 1;
    while (::write(bell_, &one, sizeof one) < 0 && errno == EINTR) {
    }
  }

  void serve() {
    listen();
    std::unique_lock lock(mutex_);
    while (true) {
      take_pieces();
      if (closing_ && schedule_.empty() && free_.size() == flights_.size()) return;
      asleep_ = true;
      const bool shared = schedule_.shared();
      lock.unlock();
      const int status = wait(shared);
      SLUICE_CHECK(status >= 0 || status == -EINTR || status == -EAGAIN || status == -EBUSY || status == -ETIME);
      asleep_ = false;
      ::io_uring_cqe* done = nullptr;
      while (::io_uring_peek_cqe(&ring_, &done) == 0) {
        const std::uint64_t who = done->user_data;
        const int outcome = done->res;
        ::io_uring_cqe_seen(&ring_, done);
        if (who == kBell)
          listen();
        else
          landed(who - 1, outcome);
      }
      lock.lock();
    }
  }

  // Until something lands or rings; with `shared` not for long.
  int wait(bool shared) {
    if (!shared) return ::io_uring_submit_and_wait(&ring_, 1);
    ::__kernel_timespec patience{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(ReadSchedule::kPatience).count()};
    ::io_uring_cqe* first = nullptr;
    return ::io_uring_submit_and_wait_timeout(&ring_, &first, 1, &patience, nullptr);
  }

  // With the lock held: all pieces that there is room for.
  void take_pieces() {
    for (int source = 0; source < sources_.count(); ++source) {
      int& flying = flying_[static_cast<std::size_t>(source)];
      while (flying < depth_) {
        std::optional<ReadPiece> piece = schedule_.take(source, Clock::now());
        if (!piece) break;
        ++flying;
        const std::size_t number = free_.back();
        free_.pop_back();
        Flight& flight = flights_[number];
        flight.piece = std::move(*piece);
        flight.reading.emplace(sources_.files(source), flight.piece.window);
        flight.attempts = 0;
        go_on(number);
      }
    }
  }

  ::io_uring_sqe& entry(std::uint64_t who) {
    ::io_uring_sqe* sqe = ::io_uring_get_sqe(&ring_);
    if (sqe == nullptr) {
      ::io_uring_submit(&ring_);
      sqe = ::io_uring_get_sqe(&ring_);
    }
    SLUICE_CHECK(sqe != nullptr);  // there are as many as flights, and one for the bell
    sqe->user_data = who;
    return *sqe;
  }
  void listen() {
    ::io_uring_sqe& sqe = entry(kBell);
    ::io_uring_prep_read(&sqe, bell_, &rung_, sizeof rung_, 0);
    sqe.user_data = kBell;
  }
  void go_on(std::size_t number) {
    Flight& flight = flights_[number];
    const std::span<std::byte> rest = flight.reading->rest();
    const int descriptor = sources_.files(flight.piece.source).descriptor(flight.piece.window.file);
    ::io_uring_sqe& sqe = entry(number + 1);
    ::io_uring_prep_read(&sqe, descriptor, rest.data(), static_cast<unsigned>(std::min(rest.size(), kLargestRead)),
                         flight.reading->at());
    sqe.user_data = number + 1;
    flight.begun = Clock::now();
  }

  void landed(std::size_t number, int outcome) {
    Flight& flight = flights_[number];
    if ((outcome == -EINTR || outcome == -EAGAIN) && ++flight.attempts < kMostAttempts) return go_on(number);
    flight.attempts = 0;
    Result<bool> done = judge(flight, outcome);
    const Files& files = sources_.files(flight.piece.source);
    if (flight.piece.source != 0 && !(done && *done)) {  // a mirror has one attempt: source 0 is always there
      const Error why = done ? came_short(files, flight.piece.window).value() : std::move(done.error());
      --flying_[static_cast<std::size_t>(flight.piece.source)];
      ++flying_[0];
      const std::scoped_lock lock(mutex_);
      schedule_.fall_back(flight.piece, why, Clock::now());
      flight.reading.emplace(sources_.files(0), flight.piece.window);
      return go_on(number);
    }
    if (done && !*done) return go_on(number);
    --flying_[static_cast<std::size_t>(flight.piece.source)];
    free_.push_back(number);
    std::unique_lock lock(mutex_);
    finish(lock, std::move(flight.piece), done ? Result<>{} : tl::unexpected<Error>(std::move(done.error())));
  }

  Result<bool> judge(Flight& flight, int outcome) {
    const ReadPiece& piece = flight.piece;
    TRY_TAKE(const std::size_t bytes,
             sources_.files(piece.source)
                 .completed({piece.window.file, flight.reading->at(), flight.reading->rest(), outcome, flight.begun}));
    return flight.reading->got(bytes);
  }

  const int depth_;
  // The ring's thread alone.
  ::io_uring ring_{};
  std::vector<int> flying_;  // by source
  std::vector<Flight> flights_;
  std::vector<std::size_t> free_;  // flights
  std::uint64_t rung_ = 0;

  std::atomic<bool> asleep_{false};
  bool closing_ = false;  // guarded by mutex_
  int bell_ = -1;
  bool has_ring_ = false, running_ = false;
  ::pthread_t thread_{};
};

}  // namespace

std::optional<std::string> ring_refusal() {
  ::io_uring ring{};
  if (const int status = open_ring(ring, 1); status != 0) return std::generic_category().message(-status);
  ::io_uring_queue_exit(&ring);
  return std::nullopt;
}

Result<std::unique_ptr<ReadQueue>> make_ring_queue(ReadSources& sources, int depth) {
  for (int source = 0; source < sources.count(); ++source)
    for (int file = 0; file < sources.files(source).count(); ++file)
      if (sources.files(source).descriptor(file) < 0)
        return fail(ErrorKind::unsupported, "io_uring cannot be used: every read is watched, as by --profile");
  auto queue = std::make_unique<RingQueue>(sources, depth);
  TRY(queue->start());
  return std::unique_ptr<ReadQueue>(std::move(queue));
}

}  // namespace sluice
