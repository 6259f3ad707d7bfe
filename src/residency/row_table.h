// Embedding rows, read one by one when a token needs them (Kimi K3: 14 KB each) instead of 2 GB kept resident.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/rows.h"
#include "checkpoint/bound.h"
#include "io/read_queue.h"

namespace sluice {

struct RowStats {
  std::uint64_t bytes_read = 0;
  double exposed_seconds = 0;  // time the caller waited for reads
};

class RowTable {
 public:
  virtual ~RowTable() = default;
  // out[t] = row ids[t], widened to fp32. Requires: every id is inside the table, out is [ids.size(), cols].
  virtual Result<> read(std::span<const int> ids, Rows out) = 0;
  virtual RowStats stats() const = 0;
};

// Keeps the last `cached_rows` distinct rows in row_table_bytes() of memory of its own. Requires: cached_rows >= 1.
std::unique_ptr<RowTable> make_row_table(const BoundTensor& table, int cached_rows, ReadQueue& queue);
std::uint64_t row_table_bytes(const BoundTensor& table, int cached_rows);

}  // namespace sluice
