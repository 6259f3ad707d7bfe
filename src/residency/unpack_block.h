// Turns a block that was read with compressed tensors into what its layout says: the numbers themselves, in their slot.
//
// It happens within the slot. Streams lie at its end and their numbers grow towards them from below (block_layout.h);
// no chunk of a stream is larger than its numbers, so numbers never reach a chunk that is still to be unpacked, and all
// chunks whose numbers end below the first of them are unpacked side by side. When the gap has become small, chunks
// are copied out of the way first. So a slot needs no more room than its numbers, whatever they were read from.
// Threads: the pool's; called from the thread that made it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "checkpoint/block.h"
#include "compute/kernel_table.h"
#include "formats/bf16_stream.h"
#include "io/aligned.h"

namespace sluice {

class BlockUnpacker {
 public:
  // For blocks like these. `pool` and `kernels` must outlive it.
  BlockUnpacker(std::span<const BlockLayout> layouts, ThreadPool& pool, const KernelTable& kernels);
  // What it holds in memory; 0 if nothing of the layouts is compressed.
  static std::uint64_t bytes(std::span<const BlockLayout> layouts);

  // Once, after the block was read. corrupt: names the tensor, and the slot means nothing. `name` is asked for a
  // tensor's name only then.
  Result<> unpack(const BlockLayout& layout, std::byte* slot, FunctionRef<std::string(std::size_t tensor)> name);

 private:
  struct Piece {             // a chunk of a stream
    std::uint64_t from, to;  // in the slot
    Bf16Chunk chunk;
    std::uint32_t tensor;  // number in layout.compressed
  };
  Result<> find_pieces(const BlockLayout& layout, const std::byte* slot,
                       FunctionRef<std::string(std::size_t tensor)> name);
  std::size_t fitting(std::size_t first, std::uint64_t room) const;
  std::size_t unpack_pieces(std::size_t first, std::size_t end, const std::byte* streams, std::byte* slot);
  bool unpack_piece(const Piece& piece, const std::byte* from, std::byte* to) const;

  ThreadPool& pool_;
  const KernelTable& kernels_;
  PageArena aside_;
  std::vector<Piece> pieces_;
  std::vector<Exponents> exponents_;  // by number in layout.compressed
  Bf16Stream stream_;                 // kept for its memory
};

}  // namespace sluice
