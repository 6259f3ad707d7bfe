// Threads that do one piece of work after the other, side by side with whoever asked for it.
#pragma once

#include <cstddef>

#include "base/function_ref.h"

namespace sluice {

// Calls work(true) on this thread and work(false) on others, up to `threads` in all, and returns when all have: each
// takes its next piece from something they share, until none is left. Where the system gives no more threads, fewer do
// the same work.
void work_side_by_side(std::size_t threads, FunctionRef<void(bool is_caller)> work);

}  // namespace sluice
