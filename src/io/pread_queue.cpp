// A read queue on plain pread: a few threads take pieces of requests, demanded ones first.
//
// A request is cut lazily, piece by piece, so that queueing hundreds of gigabytes of read-ahead costs no memory. Reads
// of aligned files are widened to whole pages and land in the slot without a copy. Threads have small stacks and do not
// allocate on the usual path, since every resident byte counts against the budget.
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "io/background_thread.h"
#include "io/read_queue.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kLargestPiece = std::uint64_t{4} << 20;  // pieces of 2 to 4 MiB saturate an NVMe drive
constexpr int kFutileReads = 100;  // reads in a row that brought nothing usable before a file is given up

// A run of a file and where it lands: bytes [begin, end) go to `to`, of which those before `wanted_end` must come.
struct Window {
  int file = 0;
  std::uint64_t begin = 0, end = 0, wanted_end = 0;
  std::byte* to = nullptr;
};

struct Request {
  std::uint64_t tag = 0;
  Landings* landings = nullptr;
  std::vector<Window> windows;
  std::size_t window = 0;  // the next piece is cut from windows[window]
  int in_flight = 0;       // pieces
  std::optional<Error> error;

  bool exhausted() const { return window == windows.size(); }
};

struct Piece {
  std::shared_ptr<Request> request;
  Window window;
};

// The window of an extent: whole pages where the file wants that, else exactly the extent.
Window widen(const Files& files, const Extent& extent, std::span<std::byte> slot) {
  Window window{extent.file, extent.offset, extent.offset + extent.bytes, extent.offset + extent.bytes, nullptr};
  if (files.aligned_only(extent.file)) {
    window.begin = page_floor(window.begin);
    window.end = page_ceil(window.end);
    SLUICE_CHECK(extent.slot_offset % kDiskPage == extent.offset % kDiskPage);
  }
  const std::uint64_t before = extent.offset - window.begin;
  SLUICE_CHECK(extent.slot_offset >= before);
  const std::uint64_t begin = extent.slot_offset - before;
  SLUICE_CHECK(begin <= slot.size() && window.end - window.begin <= slot.size() - begin);
  window.to = slot.data() + begin;
  return window;
}

bool overlap(const Window& one, const Window& other) {
  return one.to < other.to + (other.end - other.begin) && other.to < one.to + (one.end - one.begin);
}

// Cuts the next piece off a request: equal parts of at most kLargestPiece, on pages.
Window cut(Request& request) {
  Window& rest = request.windows[request.window];
  const std::uint64_t bytes = rest.end - rest.begin;
  const std::uint64_t parts = (bytes + kLargestPiece - 1) / kLargestPiece;
  const std::uint64_t part = parts <= 1 ? bytes : page_ceil((bytes + parts - 1) / parts);
  Window piece = rest;
  piece.end = rest.begin + part;
  piece.wanted_end = std::min(rest.wanted_end, piece.end);
  rest.begin += part;
  rest.to += part;
  if (rest.begin >= rest.wanted_end) ++request.window;
  return piece;
}

tl::unexpected<Error> cut_short(const Files& files, const Window& window, std::uint64_t end) {
  return fail(ErrorKind::corrupt,
              fmt::format("{}: ends at byte {}, but bytes up to {} are needed", files.path(window.file), end,
                          window.wanted_end),
              "the file was cut short: fetch it again");
}

Result<> read_window(const Files& files, const Window& window) {
  const bool aligned = files.aligned_only(window.file);
  std::uint64_t at = window.begin;
  int futile = 0;
  while (at < window.wanted_end) {
    const std::span<std::byte> rest(window.to + (at - window.begin), window.end - at);
    TRY_TAKE(const std::size_t got, files.read_some(window.file, at, rest));
    const std::uint64_t reached = at + got;
    if (reached >= window.wanted_end) break;
    const std::uint64_t next = aligned ? page_floor(reached) : reached;  // a short direct read goes on from a page
    futile = next > at ? 0 : futile + 1;
    if (futile > 0 && reached >= files.size(window.file)) return cut_short(files, window, reached);
    if (futile == kFutileReads)
      return fail(ErrorKind::io, fmt::format("{}: reading at offset {} brings no data", files.path(window.file), at),
                  "check the disk, then try again");
    at = next;
  }
  return {};
}

class PreadQueue final : public ReadQueue {
 public:
  PreadQueue(const Files& files, int readers) : files_(files) { start(readers); }
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

  void submit(std::uint64_t tag, std::span<const Extent> extents, std::span<std::byte> slot, Urgency urgency,
              Landings& landings) override {
    auto request = std::make_shared<Request>();
    request->tag = tag;
    request->landings = &landings;
    std::uint64_t bytes = 0;
    for (const Extent& extent : extents) {
      if (extent.bytes == 0) continue;
      request->windows.push_back(widen(files_, extent, slot));
      bytes += extent.bytes;
      for (std::size_t other = 0; other + 1 < request->windows.size(); ++other)
        SLUICE_CHECK(!overlap(request->windows[other], request->windows.back()));
    }
    const bool nothing_to_read = request->exhausted();
    {
      const std::scoped_lock lock(mutex_);
      stats_.bytes += bytes;
      ++stats_.requests;
      if (!nothing_to_read) queue_of(urgency).push_back(std::move(request));
    }
    if (nothing_to_read)
      landings.land({tag, {}});
    else if (threads_.empty())
      serve();
    else
      work_.notify_all();
  }

  void withdraw(std::uint64_t tag, const Landings& landings) override {
    std::unique_lock lock(mutex_);
    for (std::deque<std::shared_ptr<Request>>* queue : {&demand_, &next_, &idle_}) {
      const auto found = find(*queue, tag, landings);
      if (found == queue->end()) continue;
      const std::shared_ptr<Request> request = *found;
      queue->erase(found);
      if (request->exhausted()) return;  // failed: the last of its pieces reports
      request->error = Error{ErrorKind::cancelled, "the read was taken back"};
      request->window = request->windows.size();
      if (request->in_flight == 0) report(lock, *request);
      return;
    }
  }

  void hurry(std::uint64_t tag, const Landings& landings) override {
    const std::scoped_lock lock(mutex_);
    for (std::deque<std::shared_ptr<Request>>* queue : {&next_, &idle_}) {
      const auto found = find(*queue, tag, landings);
      if (found == queue->end()) continue;
      demand_.push_back(std::move(*found));
      queue->erase(found);
      return;
    }
  }

  ReadStats stats() const override {
    const std::scoped_lock lock(mutex_);
    ReadStats now = stats_;
    if (active_ > 0) now.busy_seconds += std::chrono::duration<double>(Clock::now() - busy_since_).count();
    return now;
  }

  const Files& files() const override { return files_; }

 private:
  std::deque<std::shared_ptr<Request>>& queue_of(Urgency urgency) {
    return urgency == Urgency::demand ? demand_ : urgency == Urgency::next ? next_ : idle_;
  }
  static std::deque<std::shared_ptr<Request>>::iterator find(std::deque<std::shared_ptr<Request>>& queue,
                                                             std::uint64_t tag, const Landings& landings) {
    return std::ranges::find_if(queue, [&](const std::shared_ptr<Request>& request) {
      return request->tag == tag && request->landings == &landings;
    });
  }

  void start(int readers) {
    const std::scoped_lock lock(mutex_);  // a reader looks at threads_: it waits until they are all there
    const auto body = [](void* queue) -> void* {
      static_cast<PreadQueue*>(queue)->serve();
      return nullptr;
    };
    for (int reader = 0; reader < readers; ++reader) {
      ::pthread_t thread{};
      if (start_background_thread(thread, body, this)) threads_.push_back(thread);
    }
  }

  // Reads pieces until the queue closes (a thread of ours) or is empty (a queue without threads).
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      std::optional<Piece> piece = take();
      if (!piece) {
        if (closing_ || threads_.empty()) return;
        work_.wait(lock);
        continue;
      }
      if (active_++ == 0) busy_since_ = Clock::now();
      lock.unlock();
      Result<> status = read_window(files_, piece->window);
      lock.lock();
      if (--active_ == 0) stats_.busy_seconds += std::chrono::duration<double>(Clock::now() - busy_since_).count();
      finish(lock, std::move(*piece), std::move(status));
    }
  }

  std::optional<Piece> take() {
    for (std::deque<std::shared_ptr<Request>>* queue : {&demand_, &next_, &idle_}) {
      while (!queue->empty() && queue->front()->exhausted()) queue->pop_front();
      if (queue->empty()) continue;
      std::shared_ptr<Request> request = queue->front();
      const Window window = cut(*request);
      ++request->in_flight;
      if (request->exhausted()) queue->pop_front();
      return Piece{std::move(request), window};
    }
    return std::nullopt;
  }

  void finish(std::unique_lock<std::mutex>& lock, Piece piece, Result<> status) {
    Request& request = *piece.request;
    if (!status) {
      if (!request.error) request.error = std::move(status.error());
      request.window = request.windows.size();  // the rest need not be read
    }
    if (--request.in_flight == 0 && request.exhausted()) report(lock, request);
  }

  // Called and left with the lock held; without it in between. The requester may be gone afterwards.
  static void report(std::unique_lock<std::mutex>& lock, Request& request) {
    lock.unlock();
    Landed landed{request.tag, {}};
    if (request.error) landed.status = tl::unexpected<Error>(std::move(*request.error));
    request.landings->land(std::move(landed));
    lock.lock();
  }

  const Files& files_;
  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::deque<std::shared_ptr<Request>> demand_, next_, idle_;
  ReadStats stats_;
  int active_ = 0;  // pieces being read
  Clock::time_point busy_since_;
  bool closing_ = false;
  std::vector<::pthread_t> threads_;
};

}  // namespace

std::unique_ptr<ReadQueue> make_pread_queue(const Files& files, int readers) {
  return std::make_unique<PreadQueue>(files, readers);
}

}  // namespace sluice
