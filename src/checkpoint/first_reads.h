// Checks each run of a checkpoint against its checksum when it is read for the first time.
//
// Once is enough to find what the disk holds; what is read again and again (a trunk that passes through memory) is not
// hashed for every token. A run that does not match is checked again at its next read, and fails again.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "checkpoint/checksums.h"
#include "io/checked_queue.h"

namespace sluice {

class FirstReads final : public ReadCheck {
 public:
  explicit FirstReads(Checksums sums);
  bool due(std::span<const Extent> extents) const override;
  // corrupt: names the file and the place in it.
  Result<> check(std::span<const Extent> extents, const std::byte* slot, const Files& files,
                 std::span<const SourcePiece> unproven) override;

 private:
  Checksums sums_;
  std::unique_ptr<std::atomic<bool>[]> checked_;  // by run
};

}  // namespace sluice
