// See scales.h.
#include "formats/scales.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/numbers.h"

namespace sluice {

namespace {

// Both searches: the common case is one pass that the compiler vectorizes; the second runs only when there is something
// to find.
std::int64_t find_corrupt_e8m0(std::span<const std::byte> scales) {
  std::uint8_t largest = 0;
  for (std::byte scale : scales) largest = std::max(largest, std::to_integer<std::uint8_t>(scale));
  if (largest < kE8m0FirstCorrupt) return -1;
  const auto bad = std::find_if(scales.begin(), scales.end(),
                                [](std::byte scale) { return std::to_integer<unsigned>(scale) >= kE8m0FirstCorrupt; });
  return bad - scales.begin();
}

std::int64_t find_corrupt_f32(std::span<const std::byte> scales) {
  constexpr std::uint32_t kExponent = 0x7f800000u;
  const auto exponent_of = [&](std::size_t index) {
    std::uint32_t bits;
    std::memcpy(&bits, scales.data() + 4 * index, 4);
    return bits & kExponent;
  };
  std::uint32_t largest = 0;
  for (std::size_t index = 0; index < scales.size() / 4; ++index) largest = std::max(largest, exponent_of(index));
  if (largest < kExponent) return -1;
  std::size_t index = 0;
  while (exponent_of(index) != kExponent) ++index;
  return static_cast<std::int64_t>(index);
}

}  // namespace

std::int64_t find_corrupt_scale(ScaleKind kind, std::span<const std::byte> scales) {
  return kind == ScaleKind::none ? -1 : kind == ScaleKind::e8m0 ? find_corrupt_e8m0(scales) : find_corrupt_f32(scales);
}

}  // namespace sluice
