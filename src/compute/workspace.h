// A bump arena for activations, sized by the plan.
//
// A model lays out its buffers once, by the same code that measures them: over a Workspace without memory the calls
// only count. mark/rewind let buffers that are never alive together share room; the peak is what counts.
#pragma once

#include <cstdint>

#include "base/rows.h"
#include "io/aligned.h"

namespace sluice {

class Workspace {
 public:
  // Counts only: rows have null data.
  Workspace() = default;
  // Takes `bytes` from the system, untouched until used.
  explicit Workspace(std::uint64_t bytes);

  // `count` vectors of `width` floats; each begins on 64 bytes. Requires (with memory): fits.
  Rows rows(int count, int width);

  std::uint64_t mark() const { return used_; }
  void rewind(std::uint64_t mark) { used_ = mark; }
  std::uint64_t peak_bytes() const { return peak_; }

 private:
  PageArena memory_;
  bool counting_ = true;
  std::uint64_t used_ = 0, peak_ = 0;
};

}  // namespace sluice
