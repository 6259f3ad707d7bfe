// See aligned.h.
#include "io/aligned.h"

#include <sys/mman.h>

#include <utility>

#include "base/out_of_memory.h"
#include "io/extent.h"
#include "io/memory_nodes.h"

namespace sluice {

PageArena::PageArena(std::uint64_t bytes, const char* use) {
  if (!take(bytes)) refuse_memory(bytes, use);
}

PageArena PageArena::of_weights(std::uint64_t bytes, const char* use) {
  static const MemoryNodes nodes = memory_nodes();
  PageArena arena(bytes, use);
  spread(arena.slice(0, arena.size()), nodes,
         [](std::span<std::byte> memory, std::span<const int> ids) { return interleave(memory, ids); });
  return arena;
}

PageArena PageArena::if_possible(std::uint64_t bytes) {
  PageArena arena;
  arena.take(bytes);
  return arena;
}

// False if the system refuses it.
bool PageArena::take(std::uint64_t bytes) {
  if (bytes == 0) return true;
  const std::uint64_t rounded = page_ceil(bytes);
  void* const memory =
      ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  // Weights are read some 10 % faster from huge pages. Where the system has none it goes on with small ones. Small
  // arenas must not become resident by two megabytes at a touch.
  constexpr std::uint64_t kLarge = std::uint64_t{32} << 20;
  if (rounded >= kLarge) ::madvise(memory, rounded, MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(memory);
  size_ = rounded;
  return true;
}

PageArena::~PageArena() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

PageArena::PageArena(PageArena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

PageArena& PageArena::operator=(PageArena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace sluice
