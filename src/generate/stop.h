// Stop strings, also across the borders of tokens: text that may be the beginning of one is held back until it is
// certain.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice {

class StopStrings {
 public:
  // Empty strings are ignored.
  explicit StopStrings(std::vector<std::string> stops);

  // The text that may be shown now. Once a stop string is met, text before it is returned and nothing ever after.
  std::string push(std::string_view text);
  // What was held back, if no stop string is met.
  std::string finish();
  bool met() const { return met_; }
  const std::string& which() const { return which_; }  // was met; empty if none

 private:
  std::vector<std::string> stops_;
  std::string held_, which_;
  bool met_ = false;
};

}  // namespace sluice
