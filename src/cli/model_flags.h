// The flags of every command that opens a model: the same words and meanings everywhere.
#pragma once

#include <memory>
#include <string>

#include "engine/survey.h"

namespace CLI {
class App;
}

namespace sluice::cli {

// What --kv says.
Result<RowFormat> read_kv(const std::string& name);
Result<std::uint64_t> read_budget(const std::string& size);  // of --memory; never 0

// What --numerics says.
Result<Numerics> read_numerics(const std::string& name);

class ModelFlags {
 public:
  // Adds MODEL and the flags to a command.
  void add(CLI::App& command, bool needs_model = true);
  // The same but for a budget, of which a benchmark takes several, and for drafts, which would hide what a token costs.
  void add_for_bench(CLI::App& command);
  const std::string& directory() const { return directory_; }  // empty if none was named
  // Sizes and modes parsed; a wrong value is an error that names its flag.
  Result<EngineOptions> options() const;

 private:
  void add_budget(CLI::App& command);
  void add_computing(CLI::App& command);
  void add_reading(CLI::App& command);
  void add_drafts(CLI::App& command);

  std::string directory_;
  EngineOptions options_;
  std::string memory_, io_ = "auto", reading_ = "auto", speculate_ = "auto", preload_ = "on", read_ahead_ = "auto",
                       kv_ = "fp32", numerics_ = "exact";
};

}  // namespace sluice::cli
