// See checked_queue.h.
#include "io/checked_queue.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
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
  CheckedQueue(std::unique_ptr<ReadQueue> inside, std::unique_ptr<ReadCheck> check, ReadSources* sources)
      : check_(std::move(check)),
        sources_(sources != nullptr && sources->keeps_proofs() ? sources : nullptr),
        inside_(std::move(inside)),
        files_(inside_->files()) {}
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
    if (sources_ == nullptr && !check_->due(extents)) return inside_->submit(tag, extents, slot, urgency, landings);
    std::uint64_t ticket = 0;
    {
      const std::scoped_lock lock(mutex_);
      ticket = next_ticket_++;
      waiting_.emplace(ticket, Waiting{tag, &landings, {extents.begin(), extents.end()}, slot});
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
    std::span<std::byte> slot;
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
      if (landed.status) landed.status = check(request, landed);
      request.landings->land({request.tag, std::move(landed.status)});
    }
  }

  Result<> check(const Waiting& request, const Landed& landed) {
    const std::vector<SourcePiece>& unproven = landed.unproven;
    Result<> right = check_->check(request.extents, request.slot.data(), files_, unproven);
    if (sources_ == nullptr) return right;
    if (right) {
      if (!landed.odd) sources_->prove(unproven);
      return right;
    }
    const bool mirrored = std::ranges::any_of(unproven, [](const SourcePiece& piece) { return piece.source != 0; });
    if (!mirrored) return right;
    TRY(read_again(request));
    for (const SourcePiece& piece : unproven)
      if (piece.source != 0)
        sources_->deceived(piece.source,
                           fmt::format("what it brought is not what the checkpoint holds: {}: bytes {} to {}",
                                       sources_->files(piece.source).path(piece.file), piece.begin, piece.end));
    return {};
  }

  // From source 0 alone, all of it checked.
  Result<> read_again(const Waiting& request) const {
    const std::unique_ptr<ReadQueue> original = make_pread_queue(files_, 0);
    Landings landings;
    original->submit(0, request.extents, request.slot, Urgency::demand, landings);
    TRY(landings.wait().status);
    std::vector<SourcePiece> all;
    for (const Extent& extent : request.extents)
      all.push_back({0, extent.file, extent.offset, extent.offset + extent.bytes});
    return check_->check(request.extents, request.slot.data(), files_, all);
  }

  std::unique_ptr<ReadCheck> check_;
  ReadSources* const sources_;  // if they keep proofs
  Landings landed_;             // tag: ticket
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
                                                      std::unique_ptr<ReadCheck> check, ReadSources* sources) {
  auto queue = std::make_unique<CheckedQueue>(std::move(inside), std::move(check), sources);
  if (!queue->start()) return fail(ErrorKind::io, "the system gives no thread to check what is read");
  return std::unique_ptr<ReadQueue>(std::move(queue));
}

}  // namespace sluice
