// Where a command will write when its work is done: refused before the work rather than after it.
#pragma once

#include "base/result.h"

namespace CLI {
class App;
}

namespace sluice::cli {

// Of the command that was chosen, and of every option that names a file which is written last (--json,
// --save-session): can it be? Nothing is made or emptied: what is there stays until there is something better.
Result<> check_output_paths(const CLI::App& app);

}  // namespace sluice::cli
