// See side_by_side.h.
#include "base/side_by_side.h"

#include <system_error>
#include <thread>
#include <vector>

namespace sluice {

void work_side_by_side(std::size_t threads, FunctionRef<void(bool is_caller)> work) {
  std::vector<std::jthread> helpers;
  try {
    while (helpers.size() + 1 < threads) helpers.emplace_back([&] { work(false); });
  } catch (const std::system_error&) {
    // No more threads.
  }
  work(true);
}

}  // namespace sluice
