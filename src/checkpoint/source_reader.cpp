// See source_reader.h.
#include "checkpoint/source_reader.h"

#include "io/extent.h"

namespace sluice {

Result<std::span<const std::byte>> SourceReader::read(const FileRun& run) {
  const std::uint64_t before = run.offset % kDiskPage, room = page_ceil(before + run.bytes);
  if (room_.size() < room) {
    room_ = {};
    room_ = PageArena(room);
  }
  const Extent extent{run.file, run.offset, run.bytes, before};
  queue_->submit(0, {&extent, 1}, room_.slice(0, room), Urgency::demand, landings_);
  Landed landed = landings_.wait();
  TRY(std::move(landed.status));
  return std::span<const std::byte>(room_.slice(before, run.bytes));
}

}  // namespace sluice
