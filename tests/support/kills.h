// A command that writes a directory is killed at calls that change the disk (at_call.h), and started again.
#pragma once

#include <filesystem>
#include <span>

#include "base/function_ref.h"
#include "support/run_program.h"

namespace sluice::test {

struct Written {
  std::filesystem::path out, whole;  // what the command writes, and the same by an undisturbed run
  int calls = 0;                     // of the undisturbed run
};

// Kills `command` at each call that is `tried`, in one of the ways in turn, starts it again, and expects the whole.
void expect_to_go_on(const Written& written, std::span<const char* const> ways, FunctionRef<bool(int call)> tried,
                     FunctionRef<Outcome()> command);

}  // namespace sluice::test
