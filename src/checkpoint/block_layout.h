// Cuts the tensors of a block into the fewest reads, and says where each lands in a slot.
//
// Tensors that follow each other in a file become one extent, and so do tensors so near that they share a disk page:
// reads move whole pages, and a page belongs to one extent only. Otherwise each run gets its own pages in the slot.
//
// Compressed tensors (formats/bf16_stream.h) are read behind the others, as near to the end of the slot as lets each be
// unpacked in front of what is not unpacked yet. So a slot needs the room of what it holds in the end, and no other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "checkpoint/block.h"

namespace sluice {

struct FileRun {
  int file = 0;
  std::uint64_t offset = 0, bytes = 0;
};

// A tensor of a block (or the rows of it that the block holds), found in the files.
struct FoundTensor {
  FormatId format = FormatId::f32;
  Shape shape;  // as held
  FileRun weights;
  std::optional<FileRun> scales;
  int scale_phase = 0;         // see WeightView
  bool is_compressed = false;  // weights are a stream
};

// Tensor i of the layout is tensor i of `tensors`.
BlockLayout lay_out(std::span<const FoundTensor> tensors);

}  // namespace sluice
