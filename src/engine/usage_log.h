// The usage file of one engine: read when it opens, counted while it runs, written now and then and in the end.
#pragma once

#include <chrono>
#include <string>

#include "residency/usage.h"

namespace sluice {

class UsageLog {
 public:
  // Reads the file. Whatever is wrong with it is told by refusal() and forgotten.
  UsageLog(std::string path, UsageOwner owner);

  const std::string& refusal() const { return refusal_; }  // empty: nothing is wrong
  // As of when it was opened. Can be had once.
  ExpertUsage take_known() { return std::move(known_); }
  ExpertUsage& counted() { return counted_; }  // since it was last written

  // Adds what was counted to what the file holds by now. Nothing where nothing was counted, or where the file is
  // somebody else's.
  Result<> write();
  // The same if the last time is a while ago; a failure waits to be told by write().
  void write_now_and_then();

 private:
  using Clock = std::chrono::steady_clock;

  std::string path_;
  UsageOwner owner_;
  std::string refusal_;
  bool foreign_ = false;
  ExpertUsage known_, counted_;
  Clock::time_point written_ = Clock::now();
};

}  // namespace sluice
