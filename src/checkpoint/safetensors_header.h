// The header of one safetensors file: an object of {"name": {"dtype", "shape", "data_offsets"}}, checked completely.
//
// What comes out can be trusted: every tensor has as many bytes as its shape and type say, lies inside the file, and
// shares no byte with another one. Holes between tensors are allowed, bytes after the last one are not (a damaged
// header length shifts all tensors and shows only there).
// Source: the safetensors format (8-byte little-endian length, JSON, data; offsets count from the end of the JSON).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "checkpoint/dtype.h"

namespace sluice {

inline constexpr int kInlineDims = 4;

struct TensorRecord {
  std::uint64_t offset = 0;  // in the file
  std::uint64_t bytes = 0;
  const char* name_begin = nullptr;      // in the arena of its header
  std::uint32_t dims[kInlineDims] = {};  // if rank > kInlineDims, dims[0] is where its shape begins in long_shapes
  std::uint16_t name_bytes = 0;
  std::uint16_t file = 0;
  Dtype dtype = Dtype::u8;
  std::uint8_t rank = 0;

  std::string_view name() const { return {name_begin, name_bytes}; }
};
static_assert(sizeof(TensorRecord) == 48, "half a million of these are kept");

struct SafetensorsHeader {
  std::vector<TensorRecord> tensors;  // in the order of the header
  std::unique_ptr<char[]> names;      // arena
  std::vector<std::uint32_t> long_shapes;

  std::span<const std::uint32_t> shape(const TensorRecord& tensor) const {
    if (tensor.rank <= kInlineDims) return {tensor.dims, tensor.rank};
    return std::span(long_shapes).subspan(tensor.dims[0], tensor.rank);
  }
};

// Where a header was read from.
struct HeaderPlace {
  std::string_view path;  // for errors
  int file = 0;           // its number in the index
  std::uint64_t file_bytes = 0;
  std::uint64_t data_begin = 0;  // 8 + length of the header
};

// Holds the buffers of the JSON parser between files. One thread at a time.
class HeaderParser {
 public:
  HeaderParser();
  ~HeaderParser();
  static std::size_t padding();  // readable bytes that must follow the text

  // Requires: `text` is followed by padding() readable bytes. Every failure is corrupt and names the file and, where
  // there is one, the tensor.
  Result<SafetensorsHeader> parse(std::string_view text, const HeaderPlace& place);

 private:
  struct Buffers;
  std::unique_ptr<Buffers> buffers_;
};

// A name from a file, safe to print: in quotes, control characters escaped, shortened if absurdly long.
std::string in_quotes(std::string_view name);

}  // namespace sluice
