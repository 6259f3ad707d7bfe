// See mxfp4_tables.h.
#include "compute/kernels/mxfp4_tables.h"

#include <bit>

#include "base/numbers.h"

namespace sluice {

namespace {

constexpr Mxfp4Tables make_mxfp4_tables() {
  Mxfp4Tables tables{};
  for (unsigned scale = 0; scale < 256; ++scale)
    for (unsigned code = 0; code < 16; ++code) {
      // In exact integers where the product would be infinite or NaN, which no constant expression may compute.
      const float value = e2m1_to_f32(code);
      std::uint32_t bits = 0;
      if (scale == 255) {
        bits = 0x7fc00000u;
      } else if (scale == 254 && (code & 7u) >= 4) {  // 2 and more times 2^127
        bits = 0x7f800000u | (code & 8u) << 28;
      } else if (scale == 253 && (code & 7u) >= 6) {  // 4 and 6 times 2^126
        bits = 0x7f800000u | (code & 8u) << 28;
      } else {
        bits = std::bit_cast<std::uint32_t>(value * e8m0_to_f32(static_cast<std::uint8_t>(scale)));
      }
      tables.value[scale][code] = std::bit_cast<float>(bits);
      tables.bf16_low[scale][code] = static_cast<std::uint8_t>(bits >> 16);
      tables.bf16_high[scale][code] = static_cast<std::uint8_t>(bits >> 24);
    }
  return tables;
}

}  // namespace

constinit const Mxfp4Tables kMxfp4Tables = make_mxfp4_tables();

}  // namespace sluice
