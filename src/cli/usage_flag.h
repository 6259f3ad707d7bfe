// --usage of the commands that answer: where the counts of expert uses are kept between runs.
#pragma once

#include <string>

#include "engine/engine.h"

namespace CLI {
class App;
}

namespace sluice::cli {

class UsageFlag {
 public:
  void add(CLI::App& command);
  void apply(EngineOptions& options) const;

 private:
  std::string file_;  // empty: in the user's cache folder, a file for each checkpoint
};

// Writes what was counted. Losing it is no reason to fail.
void keep_usage(Engine& engine);

}  // namespace sluice::cli
