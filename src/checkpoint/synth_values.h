// Random tensor values as a function of (seed, tensor name, index): any piece of any tensor in any order, the same
// bytes from any number of threads, as fast as a disk takes them.
//
// Bytes come straight from a counter-based 64-bit mixer (splitmix64); a rule masks and shifts whole words so that every
// value is finite and of a stated size. No value is ever rounded.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "checkpoint/safetensors_writer.h"

namespace sluice {

enum class ValueKind : std::uint8_t {
  around_zero,   // bf16: either sign, magnitudes over four octaves, root mean square within sqrt(2) of `first`
  near_one,      // bf16 and f32: 0.75 to 1.5
  between,       // f32: evenly in [first, second)
  ramp,          // f32: from first to second over the first `count` entries, then zeros
  e2m1_codes,    // u8 and i8: every pair of codes equally often; root mean square 2.93
  e8m0_near,     // u8 and f8_e8m0: exponents around `first`, a power of two: one below to two above
  e4m3_codes,    // f8_e4m3: either sign, magnitudes over four octaves; root mean square 0.845
  distinct_ids,  // i64: rows of `count` different numbers of 0 to first - 1; needs count <= first
};

struct ValueRule {
  ValueKind kind = ValueKind::around_zero;
  double first = 0, second = 0;
  std::uint64_t count = 0;
};

inline constexpr double kE2m1Rms = 2.926, kE4m3Rms = 0.845;

// The stream of a tensor's words.
std::uint64_t value_key(std::uint64_t seed, std::string_view name);

// Stores bytes [offset, offset + piece.size()) of a tensor. Requires: offset and size do not cut an element, and the
// rule suits the type.
void fill_values(const ValueRule& rule, Dtype type, std::uint64_t key, std::uint64_t offset,
                 std::span<std::byte> piece);

}  // namespace sluice
