// What the program still says when it cannot go on: where memory is refused, or an exception comes from where none may.
//
// Below here a refusal is an Error wherever something can go on after it (base/out_of_memory.h). What is left ends the
// program, by name and with an exit code, and never as a crash.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"

namespace sluice::cli {

// Of the budget that last words speak of, once it is known.
void remember_budget(std::uint64_t bytes);

// Runs a command. Memory or threads that it was refused are an Error (exit code 3).
Result<> with_last_words(const std::function<Result<>()>& command);

// Names what ends the program from within a part that nothing goes on after. Once, at the start.
void install_last_words();

}  // namespace sluice::cli
