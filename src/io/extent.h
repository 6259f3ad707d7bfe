// A run of bytes on disk and the place in a slot where it belongs.
//
// Direct reads move whole 4096-byte windows of a file, so a run is placed in its slot with the same remainder modulo
// 4096 that it has in the file: the widened read then lands without a copy and the run itself starts at `slot_offset`.
#pragma once

#include <cstdint>

namespace sluice {

inline constexpr std::uint64_t kDiskPage = 4096;

struct Extent {
  int file = 0;              // as numbered by Files
  std::uint64_t offset = 0;  // in the file
  std::uint64_t bytes = 0;
  std::uint64_t slot_offset = 0;  // in the slot; slot_offset % 4096 == offset % 4096

  bool operator==(const Extent&) const = default;
};

constexpr std::uint64_t page_floor(std::uint64_t bytes) { return bytes / kDiskPage * kDiskPage; }
constexpr std::uint64_t page_ceil(std::uint64_t bytes) { return page_floor(bytes + kDiskPage - 1); }

}  // namespace sluice
