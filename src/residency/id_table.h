// Tables of small whole numbers that stay in memory: which experts a token is sent to (DeepSeek-V4's hash-routed
// layers).
//
// They are read whole when a model is opened, at most two bytes a number: 1.6 MB for a layer of the released models. So
// the experts of such a layer are known, and their reads can begin, before anything of it was computed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "checkpoint/bound.h"
#include "io/read_queue.h"

namespace sluice {

class IdTable {
 public:
  IdTable(int cols, std::vector<std::uint16_t> ids) : cols_(static_cast<std::size_t>(cols)), ids_(std::move(ids)) {}

  int rows() const { return static_cast<int>(ids_.size() / cols_); }
  // Requires: row is inside the table.
  std::span<const std::uint16_t> of(int row) const {
    return std::span(ids_).subspan(static_cast<std::size_t>(row) * cols_, cols_);
  }

 private:
  std::size_t cols_;
  std::vector<std::uint16_t> ids_;  // [rows, cols]
};

// Fails with the file named if it cannot be read, and (corrupt) with tensor, file and place if a number is out of its
// range.
Result<IdTable> read_id_table(const BoundIds& table, ReadQueue& queue);
// What the tables hold, and reading one takes for a while.
std::uint64_t id_table_bytes(std::span<const BoundIds> tables);

}  // namespace sluice
