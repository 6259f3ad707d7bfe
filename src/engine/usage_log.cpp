// See usage_log.h.
#include "engine/usage_log.h"

#include <utility>

namespace sluice {

namespace {

constexpr std::chrono::minutes kWhile{5};

}  // namespace

UsageLog::UsageLog(std::string path, UsageOwner owner)
    : path_(std::move(path)), owner_(std::move(owner)), known_(owner_.layers, owner_.experts), counted_(known_) {
  ReadUsage read = read_usage(path_, owner_);
  refusal_ = std::move(read.refusal);
  foreign_ = read.fate == UsageFate::foreign;
  known_ = std::move(read.usage);
}

Result<> UsageLog::write() {
  written_ = Clock::now();
  if (foreign_ || counted_.empty()) return {};
  ReadUsage read = read_usage(path_, owner_);
  if (read.fate == UsageFate::foreign) return {};
  read.usage.add(counted_.counts());
  TRY(write_usage(path_, owner_, read.usage, read.beyond));
  counted_.clear();
  return {};
}

void UsageLog::write_now_and_then() {
  if (Clock::now() - written_ >= kWhile) static_cast<void>(write());
}

}  // namespace sluice
