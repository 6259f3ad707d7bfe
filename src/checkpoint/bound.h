// A census bound to a checkpoint: every wanted tensor with the place it was found at. Immutable.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/block.h"

namespace sluice {

// One tensor that is read by row: where its rows lie on disk.
struct BoundTensor {
  std::string name;
  FormatId format = FormatId::f32;
  Shape shape;
  int file = 0;
  std::uint64_t weights_offset = 0,
                scales_offset = 0;  // in the file; scales_offset is unused where the format has none
};

// A table of whole numbers: where it lies on disk.
struct BoundIds {
  std::string name;
  Shape shape;
  int below = 0;  // see IdTableSpec
  int file = 0;
  std::uint64_t offset = 0;
  int id_bytes = 8;  // of a stored number, little-endian
};

// The routed experts of all layers, compactly: half a million tensors in a few bytes each.
//
// Experts whose tensors are adjacent on disk share one relative layout and differ only in where they begin; others keep
// a layout of their own.
class ExpertTable {
 public:
  ExpertTable() = default;
  ExpertTable(int layers, int experts);

  int layers() const { return layers_; }
  int experts() const { return experts_; }
  bool has(int layer, int expert) const;
  // Requires: has(layer, expert).
  BlockLayout layout(int layer, int expert) const;
  std::string label(int layer, int expert) const;                 // "layer 3 expert 17"
  std::uint64_t slot_bytes() const { return slot_bytes_; }        // of the widest expert
  std::uint64_t payload_bytes() const { return payload_bytes_; }  // of all experts together
  int count() const { return count_; }

  void set(int layer, int expert, BlockLayout layout);

 private:
  struct Entry {
    int shape = -1;  // index into shapes_; -1: absent
    int file = 0;    // -1: the shape is this expert's own layout
    std::uint64_t offset = 0;
  };
  const Entry& entry(int layer, int expert) const;

  int layers_ = 0, experts_ = 0, count_ = 0;
  std::uint64_t slot_bytes_ = 0, payload_bytes_ = 0;
  std::vector<Entry> entries_;
  std::vector<BlockLayout> shapes_;  // of one extent: as if at offset 0 of file 0; others: as they are
};

struct RoleBytes {
  std::uint64_t tensors = 0, bytes = 0;
};

struct BoundCensus {
  std::vector<BlockSpec> specs;   // the walk
  std::vector<BlockLayout> walk;  // as specs
  BoundTensor embedding;
  std::vector<BoundIds> id_tables;  // as wanted
  ExpertTable experts;
  // Totals for people, by role ("trunk", "experts", "embedding", "head", "ignored") and format name.
  std::map<std::string, std::map<std::string, RoleBytes>> totals;
};

}  // namespace sluice
