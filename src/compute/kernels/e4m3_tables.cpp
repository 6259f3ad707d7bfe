// See e4m3_tables.h.
#include "compute/kernels/e4m3_tables.h"

#include <bit>

#include "base/numbers.h"

namespace sluice {

namespace {

// E4M3 value x 2^(scale - 127) as bits of fp32, by the exponents: no constant expression may compute infinities.
constexpr std::uint32_t scaled_bits(unsigned code, int scale) {
  const float value = e4m3_to_f32(static_cast<std::uint8_t>(code));
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (scale == 255 || code == 0x7f) return 0x7fc00000u;
  if (code == 0) return 0;
  const int exponent = static_cast<int>(bits >> 23) + scale - 127;
  if (exponent >= 255) return 0x7f800000u;
  const std::uint32_t mantissa = bits & 0x7fffffu;
  if (exponent >= 1) return static_cast<std::uint32_t>(exponent) << 23 | mantissa;
  return (mantissa | 0x800000u) >> (1 - exponent);  // subnormal: exact, as the mantissa has three bits
}

constexpr E4m3Tables make_e4m3_tables() {
  E4m3Tables tables{};
  for (unsigned code = 0; code < 256; ++code) tables.value[code] = e4m3_to_f32(static_cast<std::uint8_t>(code));
  for (unsigned code = 0; code < 128; ++code) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(tables.value[code]);
    tables.bf16_low[code] = static_cast<std::uint8_t>(bits >> 16);
    tables.bf16_high[code] = static_cast<std::uint8_t>(bits >> 24);
    for (int scale = kE4m3FirstScaled; scale < 256; ++scale) {
      tables.scaled_low[scale][code] = static_cast<std::uint8_t>(scaled_bits(code, scale) >> 16);
      tables.scaled_high[scale][code] = static_cast<std::uint8_t>(scaled_bits(code, scale) >> 24);
    }
  }
  return tables;
}

}  // namespace

const E4m3Tables kE4m3Tables = make_e4m3_tables();

}  // namespace sluice
