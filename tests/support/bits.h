// Numbers as bits, to compare them exactly.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::test {

using Bits = std::vector<std::uint32_t>;

inline void append_bits(Bits& bits, std::span<const float> values) {
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
}

}  // namespace sluice::test
