// See processor_time.h.
#include "base/processor_time.h"

#include <dirent.h>
#include <time.h>

#include <cstdlib>

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

}  // namespace sluice
