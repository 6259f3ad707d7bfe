// The scales that stand beside packed weights: their kinds, and which of them no sound checkpoint holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace sluice {

enum class ScaleKind : std::uint8_t { none, e8m0, f32 };

constexpr int scale_width(ScaleKind kind) {  // bytes of one scale
  return kind == ScaleKind::none ? 0 : kind == ScaleKind::e8m0 ? 1 : 4;
}

// The first scale that a sound checkpoint cannot hold (E8M0: see kE8m0FirstCorrupt; fp32: infinities and NaN), or -1:
// its index in `scales`, which may lie at any alignment.
std::int64_t find_corrupt_scale(ScaleKind kind, std::span<const std::byte> scales);

// At any alignment. Inline: decode_row loads one for every weight.
inline float load_f32(const std::byte* at) {
  float value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
inline void store_f32(std::byte* at, float value) { std::memcpy(at, &value, sizeof value); }

}  // namespace sluice
