// See unpack_block.h.
#include "residency/unpack_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/check.h"

namespace sluice {

namespace {

static_assert(kUnpackNumbers == kGroupNumbers && kUnpackGroup == kGroupBytes);  // kernels see no headers of formats

constexpr std::uint64_t kMostAside = std::uint64_t{1} << 20;
constexpr std::size_t kLeastTogether = 16;  // fewer chunks than this are not worth their share of the threads
constexpr const char* kHint = "the file is damaged: fetch or pack it again; `sluice verify` looks at all of them";

// Of the blocks that have compressed tensors: the most chunks of one, and the room for what is copied out of the way.
struct Sizes {
  std::uint64_t chunks = 0, aside = 0;
};
Sizes sizes_of(std::span<const BlockLayout> layouts) {
  Sizes most;
  for (const BlockLayout& layout : layouts) {
    std::uint64_t chunks = 0, bytes = 0;
    for (const CompressedTensor& each : layout.compressed) {
      const Shape shape = layout.tensors[static_cast<std::size_t>(each.tensor)].shape;
      chunks += static_cast<std::uint64_t>(shape.rows) * static_cast<std::uint64_t>(shape.cols) / kChunkNumbers + 1;
      bytes += each.bytes;
    }
    most.chunks = std::max(most.chunks, chunks);
    most.aside = std::max(most.aside, std::min(kMostAside, page_ceil(bytes)));
  }
  return most;
}

const std::uint8_t* bytes_of(const void* bytes) { return static_cast<const std::uint8_t*>(bytes); }

}  // namespace

BlockUnpacker::BlockUnpacker(std::span<const BlockLayout> layouts, ThreadPool& pool, const KernelTable& kernels)
    : pool_(pool), kernels_(kernels) {
  const Sizes sizes = sizes_of(layouts);
  if (sizes.chunks == 0) return;
  aside_ = PageArena(sizes.aside);
  SLUICE_CHECK(aside_.size() >= sizes.aside);
  pieces_.reserve(sizes.chunks);
}

std::uint64_t BlockUnpacker::bytes(std::span<const BlockLayout> layouts) {
  const Sizes sizes = sizes_of(layouts);
  return sizes.aside + sizes.chunks * (sizeof(Piece) + sizeof(Bf16Chunk));
}

// Reads head and table of every stream before the first number is written over one.
Result<> BlockUnpacker::find_pieces(const BlockLayout& layout, const std::byte* slot,
                                    FunctionRef<std::string(std::size_t tensor)> name) {
  pieces_.clear();
  exponents_.clear();
  for (const CompressedTensor& each : layout.compressed) {
    const Placement& placed = layout.tensors[static_cast<std::size_t>(each.tensor)];
    const auto problem = Bf16Stream::read({slot + each.stream, each.bytes}, placed.shape, each.bytes, stream_);
    if (problem)
      return fail(ErrorKind::corrupt, fmt::format("{} {}", name(static_cast<std::size_t>(each.tensor)), *problem),
                  kHint);
    for (std::size_t number = 0; number < stream_.chunks(); ++number) {
      const Bf16Chunk chunk = stream_.chunk(number);
      pieces_.push_back({each.stream + chunk.begin, placed.weights + 2 * number * kChunkNumbers, chunk,
                         static_cast<std::uint32_t>(exponents_.size())});
    }
    exponents_.push_back(stream_.exponents());
  }
  return {};
}

// How many pieces from `first` on lie in a row within `room` bytes of the slot.
std::size_t BlockUnpacker::fitting(std::size_t first, std::uint64_t room) const {
  std::size_t end = first;
  while (end < pieces_.size() && pieces_[end].from + pieces_[end].chunk.bytes - pieces_[first].from <= room) ++end;
  return end;
}

bool BlockUnpacker::unpack_piece(const Piece& piece, const std::byte* from, std::byte* to) const {
  const Bf16Chunk& chunk = piece.chunk;
  if (chunk.is_plain()) {
    std::memmove(to, from, chunk.bytes);
    return true;
  }
  return kernels_.unpack_bf16({.groups = bytes_of(from),
                               .escapes = bytes_of(from) + chunk.group_bytes(),
                               .exponents = exponents_[piece.tensor].data(),
                               .numbers = chunk.numbers,
                               .escape_count = chunk.escapes,
                               .to = reinterpret_cast<std::uint8_t*>(to)}) == chunk.escapes;
}

// Side by side; `streams` begins with piece `first`. Returns the first piece that is not sound, or `end`.
std::size_t BlockUnpacker::unpack_pieces(std::size_t first, std::size_t end, const std::byte* streams,
                                         std::byte* slot) {
  const std::uint64_t origin = pieces_[first].from;
  std::atomic<std::size_t> bad{end};
  pool_.parallel_ranges(static_cast<int>(end - first), 1, [&](int begin, int stop) {
    for (std::size_t piece = first + static_cast<std::size_t>(begin); piece < first + static_cast<std::size_t>(stop);
         ++piece) {
      if (unpack_piece(pieces_[piece], streams + (pieces_[piece].from - origin), slot + pieces_[piece].to)) continue;
      std::size_t seen = bad.load(std::memory_order_relaxed);
      while (piece < seen && !bad.compare_exchange_weak(seen, piece, std::memory_order_relaxed)) {
      }
    }
  });
  return bad.load(std::memory_order_relaxed);
}

Result<> BlockUnpacker::unpack(const BlockLayout& layout, std::byte* slot,
                               FunctionRef<std::string(std::size_t tensor)> name) {
  if (layout.compressed.empty()) return {};
  TRY(find_pieces(layout, slot, name));
  for (std::size_t first = 0; first < pieces_.size();) {
    const std::uint64_t unread = pieces_[first].from;
    std::size_t end = first;
    while (end < pieces_.size() && pieces_[end].to + 2u * pieces_[end].chunk.numbers <= unread) ++end;
    const std::byte* streams = slot + unread;
    if (end < pieces_.size() && end - first < kLeastTogether) {
      end = fitting(first, aside_.size());
      const Piece& last = pieces_[end - 1];
      std::memcpy(aside_.data(), slot + unread, last.from + last.chunk.bytes - unread);
      streams = aside_.data();
    }
    const std::size_t bad = unpack_pieces(first, end, streams, slot);
    if (bad < end) {
      const auto tensor = static_cast<std::size_t>(layout.compressed[pieces_[bad].tensor].tensor);
      return fail(ErrorKind::corrupt,
                  fmt::format("{} has a chunk that asks for other escapes than it has", name(tensor)), kHint);
    }
    first = end;
  }
  return {};
}

}  // namespace sluice
