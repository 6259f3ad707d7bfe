// See thread_pool.h.
//
// One 64-bit ticket, (chunks << 32 | next chunk), says all there is to claim. Whoever moves it on by compare-and-swap
// owns that chunk, and an owned chunk pins the loop: the caller returns, and may publish the next loop, only when
// every chunk is finished. So a worker that was descheduled without a chunk is simply not waited for. Waiting is a
// bounded spin, then a futex; a pool with more threads than CPUs does not spin at all.
#include "base/thread_pool.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/cpu_quota.h"
#include "base/out_of_memory.h"

namespace sluice {

namespace {

constexpr std::chrono::microseconds kSpin{30};
thread_local int this_thread_index = 0;

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t while_equal) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, while_equal, nullptr, nullptr, 0);
}
void futex_wake(std::atomic<std::uint32_t>& word, int waiters) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, waiters, nullptr, nullptr, 0);
}

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Until ready() or the time is over. The clock is read rarely: it costs more than a pause.
template <class Ready>
bool spin(std::chrono::microseconds limit, Ready ready) {
  if (ready()) return true;
  if (limit.count() == 0) return false;
  const auto end = std::chrono::steady_clock::now() + limit;
  do {
    for (int i = 0; i < 64; ++i) {
      if (ready()) return true;
      pause_cpu();
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

constexpr std::uint64_t make_ticket(std::uint64_t chunks) { return chunks << 32; }
constexpr std::uint32_t next_of(std::uint64_t ticket) { return static_cast<std::uint32_t>(ticket); }
constexpr std::uint32_t chunks_of(std::uint64_t ticket) { return static_cast<std::uint32_t>(ticket >> 32); }
constexpr bool open(std::uint64_t ticket) { return next_of(ticket) < chunks_of(ticket); }

}  // namespace

struct ThreadPool::Team {
  std::vector<std::thread> workers;
  std::chrono::microseconds spin_limit{0};

  // The loop in progress: written while no chunk is owned, read by owners of chunks.
  const FunctionRef<void(int, int)>* body = nullptr;
  int count = 0, grain = 1;

  alignas(64) std::atomic<std::uint64_t> ticket{0};
  std::atomic<bool> stop{false};
  alignas(64) std::atomic<std::uint32_t> finished{0};  // chunks of this loop
  std::atomic<bool> caller_parked{false};
  alignas(64) std::atomic<std::uint32_t> wakeups{0};  // what workers park on
  std::atomic<int> parked{0};

  std::uint32_t work() noexcept;  // a loop cannot be left while others compute parts of it
  void worker();
  void wait_for(std::uint32_t chunks);
  void wake_workers(int most);
  void end();
};

// Takes chunks until none is left; how many it took.
std::uint32_t ThreadPool::Team::work() noexcept {
  std::uint32_t taken = 0;
  std::uint64_t seen = ticket.load(std::memory_order_acquire);
  while (open(seen)) {
    if (!ticket.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
    const int begin = static_cast<int>(next_of(seen)) * grain;
    (*body)(begin, count - begin < grain ? count : begin + grain);
    ++taken;
    seen = ticket.load(std::memory_order_acquire);
  }
  return taken;
}

void ThreadPool::Team::worker() {
  const auto called = [this] {
    return open(ticket.load(std::memory_order_seq_cst)) || stop.load(std::memory_order_seq_cst);
  };
  for (;;) {
    while (!spin(spin_limit, called)) {
      // Counted as parked before the last look: a caller that publishes after it sees the count and wakes.
      const std::uint32_t before = wakeups.load(std::memory_order_seq_cst);
      parked.fetch_add(1, std::memory_order_seq_cst);
      if (!called()) futex_wait(wakeups, before);
      parked.fetch_sub(1, std::memory_order_seq_cst);
    }
    if (stop.load(std::memory_order_seq_cst)) return;
    if (const std::uint32_t taken = work(); taken > 0) {
      finished.fetch_add(taken, std::memory_order_seq_cst);
      if (caller_parked.load(std::memory_order_seq_cst)) futex_wake(finished, 1);
    }
  }
}

void ThreadPool::Team::wait_for(std::uint32_t chunks) {
  const auto done = [&] { return finished.load(std::memory_order_seq_cst) == chunks; };
  if (spin(spin_limit, done)) return;
  caller_parked.store(true, std::memory_order_seq_cst);
  for (;;) {
    const std::uint32_t now = finished.load(std::memory_order_seq_cst);
    if (now == chunks) break;
    futex_wait(finished, now);
  }
  caller_parked.store(false, std::memory_order_seq_cst);
}

void ThreadPool::Team::wake_workers(int most) {
  if (parked.load(std::memory_order_seq_cst) == 0) return;
  wakeups.fetch_add(1, std::memory_order_seq_cst);
  futex_wake(wakeups, most);
}

void ThreadPool::Team::end() {
  stop.store(true, std::memory_order_seq_cst);
  wake_workers(INT_MAX);
  for (std::thread& worker : workers) worker.join();
}

ThreadPool::ThreadPool(int threads) : team_(std::make_unique<Team>()) {
  SLUICE_CHECK(threads >= 1);
  if (threads <= usable_cpus()) team_->spin_limit = kSpin;
  try {
    for (int i = 1; i < threads; ++i)
      team_->workers.emplace_back([team = team_.get(), i] {
        this_thread_index = i;
        team->worker();
      });
  } catch (const std::system_error&) {
    team_->end();
    refuse_memory(0, "another thread");
  }
}

ThreadPool::~ThreadPool() { team_->end(); }

int ThreadPool::threads() const { return static_cast<int>(team_->workers.size()) + 1; }

int ThreadPool::thread_index() { return this_thread_index; }

void ThreadPool::parallel_ranges(int count, int grain, FunctionRef<void(int begin, int end)> body) {
  SLUICE_DCHECK(grain >= 1);
  if (count <= 0) return;
  if (count <= grain || team_->workers.empty()) return body(0, count);
  Team& team = *team_;
  const int chunks = (count - 1) / grain + 1;
  team.body = &body;
  team.count = count;
  team.grain = grain;
  team.finished.store(0, std::memory_order_relaxed);
  team.ticket.store(make_ticket(static_cast<std::uint64_t>(chunks)), std::memory_order_seq_cst);
  team.wake_workers(chunks - 1);
  const std::uint32_t taken = team.work();
  if (taken < static_cast<std::uint32_t>(chunks)) {
    team.finished.fetch_add(taken, std::memory_order_seq_cst);
    team.wait_for(static_cast<std::uint32_t>(chunks));
  }
}

int ThreadPool::usable_cpus() {
  int cpus = 0;
  for (std::size_t room = 1024; cpus == 0 && room <= (1u << 20); room *= 2) {  // until the kernel's mask fits
    std::vector<unsigned long> mask(room / (8 * sizeof(unsigned long)));
    const auto bytes = mask.size() * sizeof(unsigned long);
    if (::sched_getaffinity(0, bytes, reinterpret_cast<cpu_set_t*>(mask.data())) != 0) continue;
    cpus = CPU_COUNT_S(bytes, reinterpret_cast<cpu_set_t*>(mask.data()));
  }
  if (cpus == 0) cpus = static_cast<int>(std::thread::hardware_concurrency());
  std::ifstream groups("/proc/self/cgroup");
  const std::string text{std::istreambuf_iterator<char>(groups), {}};
  if (const auto quota = cpu_quota(text, "/sys/fs/cgroup"))
    cpus = std::min(cpus, static_cast<int>(std::min(std::ceil(*quota), 1e6)));
  return std::max(cpus, 1);
}

}  // namespace sluice
