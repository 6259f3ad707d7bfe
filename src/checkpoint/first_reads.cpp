// See first_reads.h.
#include "checkpoint/first_reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice {

namespace {

FileRun run_of(const Extent& extent) { return {extent.file, extent.offset, extent.bytes}; }

bool holds(const Extent& extent, const SourcePiece& piece) {
  return piece.file == extent.file && piece.begin < extent.offset + extent.bytes && extent.offset < piece.end;
}

}  // namespace

FirstReads::FirstReads(Checksums sums)
    : sums_(std::move(sums)), checked_(std::make_unique<std::atomic<bool>[]>(sums_.runs().size())) {}

bool FirstReads::due(std::span<const Extent> extents) const {
  for (const Extent& extent : extents) {
    if (extent.bytes == 0) continue;
    const auto run = sums_.find(run_of(extent));
    if (!run || !checked_[*run].load(std::memory_order_relaxed)) return true;
  }
  return false;
}

Result<> FirstReads::check(std::span<const Extent> extents, const std::byte* slot, const Files& files,
                           std::span<const SourcePiece> unproven) {
  for (const Extent& extent : extents) {
    if (extent.bytes == 0) continue;
    const auto run = sums_.find(run_of(extent));
    const std::string& path = files.path(extent.file);
    if (!run)
      return fail(ErrorKind::bug, fmt::format("{}: bytes {} to {} have no checksum", path, extent.offset,
                                              extent.offset + extent.bytes));
    const bool proven = std::ranges::none_of(unproven, [&](const SourcePiece& piece) { return holds(extent, piece); });
    if (proven && checked_[*run].load(std::memory_order_relaxed)) continue;
    if (checksum({slot + extent.slot_offset, extent.bytes}) != sums_.sum(*run))
      return fail(
          ErrorKind::corrupt,
          fmt::format("{}: bytes {} to {} do not match their checksum in {}", path, extent.offset,
                      extent.offset + extent.bytes, kChecksumsFile),
          fmt::format("the file is damaged: fetch it again; if it was replaced on purpose, remove {} and `sluice "
                      "verify MODEL --write` writes new checksums",
                      kChecksumsFile));
    checked_[*run].store(true, std::memory_order_relaxed);
  }
  return {};
}

}  // namespace sluice
