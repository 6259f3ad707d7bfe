// See id_table.h.
#include "residency/id_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "checkpoint/block_runs.h"
#include "io/aligned.h"

namespace sluice {

namespace {

std::uint64_t numbers_in(const BoundIds& table) {
  return static_cast<std::uint64_t>(table.shape.rows) * static_cast<std::uint64_t>(table.shape.cols);
}

std::int64_t stored_at(const std::byte* at, int bytes) {
  std::int64_t wide;
  std::int32_t narrow;
  if (bytes == 8) {
    std::memcpy(&wide, at, sizeof wide);
    return wide;
  }
  std::memcpy(&narrow, at, sizeof narrow);
  return narrow;
}

tl::unexpected<Error> out_of_range(const BoundIds& table, std::uint64_t number, std::int64_t value,
                                   const Files& files) {
  const auto cols = static_cast<std::uint64_t>(table.shape.cols);
  return fail(ErrorKind::corrupt,
              fmt::format("{} in {}: [{}, {}] is {}, and only 0 to {} are possible", table.name, files.path(table.file),
                          number / cols, number % cols, value, table.below - 1),
              "the file is damaged: fetch it again");
}

}  // namespace

Result<IdTable> read_id_table(const BoundIds& table, ReadQueue& queue) {
  SLUICE_CHECK(table.below >= 1 && table.below <= 65536 && table.shape.cols >= 1);
  SLUICE_CHECK(table.id_bytes == 8 || table.id_bytes == 4);
  const auto width = static_cast<std::uint64_t>(table.id_bytes);
  const std::uint64_t count = numbers_in(table), at_once = kIdWindowBytes / width;
  const PageArena window(kIdWindowBytes + 2 * kDiskPage);
  std::vector<std::uint16_t> ids(count);
  Landings landings;
  for (std::uint64_t first = 0; first < count; first += at_once) {
    const std::uint64_t numbers = std::min(at_once, count - first), offset = table.offset + first * width;
    const Extent extent{table.file, offset, numbers * width, offset % kDiskPage};
    queue.submit(0, {&extent, 1}, window.slice(0, window.size()), Urgency::demand, landings);
    Landed landed = landings.wait();
    if (!landed.status) return tl::unexpected<Error>(std::move(landed.status.error()).within(table.name));
    const std::byte* const begin = window.data() + extent.slot_offset;
    for (std::uint64_t number = 0; number < numbers; ++number) {
      const std::int64_t value = stored_at(begin + number * width, table.id_bytes);
      if (value < 0 || value >= table.below) return out_of_range(table, first + number, value, queue.files());
      ids[first + number] = static_cast<std::uint16_t>(value);
    }
  }
  return IdTable(table.shape.cols, std::move(ids));
}

std::uint64_t id_table_bytes(std::span<const BoundIds> tables) {
  if (tables.empty()) return 0;
  std::uint64_t bytes = kIdWindowBytes + 2 * kDiskPage;
  for (const BoundIds& table : tables) bytes += numbers_in(table) * sizeof(std::uint16_t);
  return bytes;
}

}  // namespace sluice
