// sluice bench io, as bench.cpp adds it.
#pragma once

#include "cli/commands.h"

namespace sluice::cli {

void add_bench_io(CLI::App& bench, Chosen& chosen);

}  // namespace sluice::cli
