// See block_check.h.
#include "residency/block_check.h"

#include <fmt/format.h>

#include "formats/format.h"

namespace sluice {

namespace {

// "shard.safetensors at byte 123" for an offset in the slot.
std::string place_on_disk(const BlockLayout& layout, std::uint64_t slot_offset, const Files& files) {
  for (const Extent& extent : layout.extents)
    if (slot_offset >= extent.slot_offset && slot_offset - extent.slot_offset < extent.bytes)
      return fmt::format("{} at byte {}", files.path(extent.file), extent.offset + (slot_offset - extent.slot_offset));
  return "memory";
}

}  // namespace

Result<> check_scales(const BlockLayout& layout, const std::byte* slot, const Files& files,
                      FunctionRef<std::string(std::size_t tensor)> name) {
  for (std::size_t tensor = 0; tensor < layout.tensors.size(); ++tensor) {
    const Placement& placement = layout.tensors[tensor];
    const Format& stored = format(placement.format);
    if (stored.scales == ScaleKind::none) continue;
    const ScaleRun run = stored.scale_run(placement.shape.cols, placement.scale_phase, placement.shape.rows);
    const std::span<const std::byte> scales(slot + placement.scales, run.bytes);
    const std::int64_t bad = find_corrupt_scale(stored.scales, scales);
    if (bad < 0) continue;
    const auto index = static_cast<std::size_t>(bad);
    const std::size_t at = index * static_cast<std::size_t>(scale_width(stored.scales));
    const std::string held = stored.scales == ScaleKind::e8m0
                                 ? fmt::format("byte {} holds {}", index, std::to_integer<unsigned>(scales[index]))
                                 : fmt::format("{} is {}", index, load_f32(scales.data() + at));
    return fail(ErrorKind::corrupt,
                fmt::format("{}: scale {}, which no sound checkpoint contains ({})", name(tensor), held,
                            place_on_disk(layout, placement.scales + at, files)),
                "the file is damaged: fetch it again; `sluice verify` checks all of them");
  }
  return {};
}

}  // namespace sluice
