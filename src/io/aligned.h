// Memory straight from the system: page-aligned, zero, and not resident until it is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

class PageArena {  // move-only
 public:
  PageArena() = default;
  // Rounded up to whole pages. What the system refuses is thrown (base/out_of_memory.h) and says what it was for.
  explicit PageArena(std::uint64_t bytes, const char* use = "data on its way");
  // For weights, which every thread reads: spread over the machine's memory nodes (memory_nodes.h).
  static PageArena of_weights(std::uint64_t bytes, const char* use);
  // Empty (size 0) where the system refuses it: for what can be left out.
  static PageArena if_possible(std::uint64_t bytes);
  ~PageArena();
  PageArena(PageArena&& other) noexcept;
  PageArena& operator=(PageArena&& other) noexcept;

  std::byte* data() const { return data_; }
  std::uint64_t size() const { return size_; }
  std::span<std::byte> slice(std::uint64_t offset, std::uint64_t bytes) const { return {data_ + offset, bytes}; }

 private:
  bool take(std::uint64_t bytes);

  std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace sluice
