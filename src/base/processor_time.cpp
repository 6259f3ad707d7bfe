// See processor_time.h.
#include "base/processor_time.h"

#include <dirent.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/text_file.h"

namespace sluice {

namespace {

// The clock of a thread, by its id: clock_getcpuclockid(3) of the kernel's interface, which that function keeps to
// processes.
clockid_t clock_of_thread(long id) {
  constexpr clockid_t kOneThread = 4, kScheduler = 2;
  return static_cast<clockid_t>(~static_cast<unsigned long>(id) << 3) | kOneThread | kScheduler;
}

}  // namespace

double processor_seconds() {
  double seconds = 0;
  DIR* const threads = ::opendir("/proc/self/task");
  if (threads == nullptr) return seconds;
  while (const dirent* const entry = ::readdir(threads)) {
    const long id = std::strtol(entry->d_name, nullptr, 10);
    timespec used{};
    if (id > 0 && ::clock_gettime(clock_of_thread(id), &used) == 0)  // else it has just ended
      seconds += static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
  }
  ::closedir(threads);
  return seconds;
}

double stolen_seconds(const std::string& path) {
  const std::string text = read_text_file(path).value_or("");
  unsigned long long ticks = 0;  // user, nice, system, idle, iowait, irq, softirq come before
  if (std::sscanf(text.c_str(), "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &ticks) != 1) return 0;
  return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace sluice
