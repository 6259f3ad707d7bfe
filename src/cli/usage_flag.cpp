// See usage_flag.h. The cache folder is that of the XDG base directory specification.
#include "cli/usage_flag.h"

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "cli/console.h"

namespace sluice::cli {

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Empty if there is none. A relative XDG_CACHE_HOME counts as none, as the specification says.
std::string cache_folder() {
  if (const std::string folder = variable("XDG_CACHE_HOME"); folder.starts_with('/')) return folder + "/sluice";
  if (const std::string home = variable("HOME"); home.starts_with('/')) return home + "/.cache/sluice";
  return "";
}

}  // namespace

void UsageFlag::add(CLI::App& command) {
  command
      .add_option("--usage", file_,
                  "Where it is kept which experts were used, for loading them early the next time (same results): a "
                  "file, or off (default: in the user's cache folder)")
      ->type_name("FILE");
}

void UsageFlag::apply(EngineOptions& options) const {
  if (file_ == "off") return;
  options.usage_file = file_;
  if (file_.empty()) options.usage_folder = cache_folder();
}

void keep_usage(Engine& engine) {
  if (const Result<> written = engine.write_usage(); !written)
    warn("--usage: " + written.error().what + "; the next run begins without it");
}

}  // namespace sluice::cli
