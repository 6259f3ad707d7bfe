// Rows in a small cache, the missing ones of a call read side by side. See row_table.h.
#include "residency/row_table.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "formats/format.h"
#include "io/aligned.h"
#include "residency/block_check.h"

namespace sluice {

namespace {

using Clock = std::chrono::steady_clock;

// Room for `bytes` that begin anywhere in a page.
std::uint64_t widest_window(std::uint64_t bytes) { return bytes == 0 ? 0 : page_ceil(bytes + kDiskPage - 1); }

std::uint64_t row_room(const BoundTensor& table) {
  const Format& stored = format(table.format);
  return widest_window(stored.row_weight_bytes(table.shape.cols)) +
         widest_window(stored.scale_row_bytes(table.shape.cols));
}

class CachedRows final : public RowTable {
 public:
  CachedRows(const BoundTensor& table, int cached_rows, ReadQueue& queue)
      : table_(table),
        format_(format(table.format)),
        room_(row_room(table)),
        memory_(static_cast<std::uint64_t>(cached_rows) * room_, "embedding rows"),
        ids_(static_cast<std::size_t>(cached_rows), -1),
        entries_(static_cast<std::size_t>(cached_rows)),
        queue_(queue) {
    SLUICE_CHECK(cached_rows >= 1 && memory_.size() >= static_cast<std::uint64_t>(cached_rows) * room_);
  }

  Result<> read(std::span<const int> ids, Rows out) noexcept override {
    SLUICE_CHECK(out.rows == static_cast<int>(ids.size()) && out.width == table_.shape.cols);
    for (std::size_t first = 0; first < ids.size();) {
      // As many tokens as the cache can hold the rows of at once.
      ++call_;
      places_.clear();
      while (first + places_.size() < ids.size()) {
        const std::size_t entry = place_of(ids[first + places_.size()]);
        if (entry == entries_.size()) break;
        places_.push_back(entry);
      }
      TRY(wait_for_rows());
      for (const std::size_t entry : places_) decode(entry, out[static_cast<int>(first++)]);
    }
    return {};
  }

  RowStats stats() const override { return stats_; }

 private:
  struct Entry {
    std::uint64_t call = 0;  // that used it last
    BlockLayout layout;
  };

  std::byte* memory_of(std::size_t entry) const { return memory_.data() + entry * room_; }

  // The entry that holds the row or will when its read has landed; entries_.size() if all are in use by this call.
  std::size_t place_of(int id) {
    SLUICE_CHECK(id >= 0 && id < table_.shape.rows);
    auto entry = static_cast<std::size_t>(std::ranges::find(ids_, id) - ids_.begin());
    if (entry == entries_.size()) {
      const auto oldest = std::ranges::min_element(entries_, {}, &Entry::call);
      if (oldest->call == call_) return entries_.size();
      entry = static_cast<std::size_t>(oldest - entries_.begin());
      ids_[entry] = id;
      start_read(entry);
    }
    entries_[entry].call = call_;
    return entry;
  }

  void start_read(std::size_t entry) {
    Entry& mine = entries_[entry];
    const int id = ids_[entry];
    mine.layout = {{}, {{table_.format, {1, table_.shape.cols}}}, room_, 0};
    Placement& placement = mine.layout.tensors[0];
    const auto add = [&](std::uint64_t offset, std::uint64_t bytes, std::uint64_t room_offset) {
      mine.layout.extents.push_back({table_.file, offset, bytes, room_offset + offset % kDiskPage});
      stats_.bytes_read += bytes;
      return mine.layout.extents.back().slot_offset;
    };
    const std::uint64_t weight_bytes = format_.row_weight_bytes(table_.shape.cols);
    const ScaleRun scales = format_.scale_run(table_.shape.cols, id, 1);
    placement.weights = add(table_.weights_offset + static_cast<std::uint64_t>(id) * weight_bytes, weight_bytes, 0);
    if (scales.bytes > 0)
      placement.scales = add(table_.scales_offset + scales.offset, scales.bytes, widest_window(weight_bytes));
    placement.scale_phase = scales.phase;
    queue_.submit(entry, mine.layout.extents, {memory_of(entry), room_}, Urgency::demand, landings_);
    ++in_flight_;
  }

  // All reads of this call; the first problem among them.
  Result<> wait_for_rows() {
    Result<> outcome;
    if (in_flight_ == 0) return outcome;
    const Clock::time_point begin = Clock::now();
    for (; in_flight_ > 0; --in_flight_) {
      Landed landed = landings_.wait();
      const auto name = [&](std::size_t) { return table_.name; };
      if (landed.status)
        landed.status = check_scales(entries_[landed.tag].layout, memory_of(landed.tag), queue_.files(), name);
      if (landed.status) continue;
      if (outcome)
        outcome = tl::unexpected<Error>(
            std::move(landed.status.error()).within("row " + std::to_string(ids_[landed.tag]) + " of " + table_.name));
      entries_[landed.tag] = {};
      ids_[landed.tag] = -1;
    }
    stats_.exposed_seconds += std::chrono::duration<double>(Clock::now() - begin).count();
    return outcome;
  }

  void decode(std::size_t entry, std::span<float> out) const {
    format_.decode_row(entries_[entry].layout.view(memory_of(entry), 0), 0, out);
  }

  BoundTensor table_;
  const Format& format_;
  std::uint64_t room_;  // of one row
  PageArena memory_;
  std::vector<int> ids_;  // of each entry; -1: none. Apart, because every token looks through them
  std::vector<Entry> entries_;
  std::vector<std::size_t> places_;  // entries of the rows in hand
  ReadQueue& queue_;
  Landings landings_;  // tag: entry
  int in_flight_ = 0;
  std::uint64_t call_ = 0;
  RowStats stats_;
};

}  // namespace

std::unique_ptr<RowTable> make_row_table(const BoundTensor& table, int cached_rows, ReadQueue& queue) {
  return std::make_unique<CachedRows>(table, cached_rows, queue);
}

std::uint64_t row_table_bytes(const BoundTensor& table, int cached_rows) {
  return static_cast<std::uint64_t>(cached_rows) * row_room(table);
}

}  // namespace sluice
