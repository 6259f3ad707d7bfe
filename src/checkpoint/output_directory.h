// A checkpoint directory while it is written: new, unfinished, finished, or somebody else's.
//
// What is made is told by the text of its config.json, which is written first under another name and gets its own at
// the very end. So a directory with a config.json is a finished checkpoint; one that was left half-way, by whatever
// means, is recognised and gone on with; and nothing that is already there is ever overwritten. While one program
// writes, no other may.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice {

inline constexpr const char* kConfigFile = "config.json";
inline constexpr const char* kUnfinishedConfig = "config.json.unfinished";  // its name until the end

class OutputDirectory {
 public:
  enum class State { empty, unfinished, finished, foreign };  // empty: or not there yet

  // Changes nothing on disk.
  OutputDirectory(std::string path, std::string config);
  ~OutputDirectory();
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;

  State look() const;
  // Text of the other checkpoint's config, finished or not; empty if there is none.
  std::string other_config() const;
  // bad_input if the file system has less room than this.
  Result<> check_room(std::uint64_t bytes) const;
  // Makes the directory if need be and takes hold of it. Requires: look() says empty or unfinished.
  Result<> begin();
  // Everything is there: the config gets its name.
  Result<> finish();

  std::string file(std::string_view name) const;
  // True if an earlier attempt left this file complete: files get their names only when they are.
  bool holds(std::string_view name, std::uint64_t bytes) const;

 private:
  std::string path_, config_;
  int hold_ = -1;  // descriptor of the directory, locked
};

}  // namespace sluice
