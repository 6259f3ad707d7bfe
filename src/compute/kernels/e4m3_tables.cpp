// See e4m3_tables.h.
#include "compute/kernels/e4m3_tables.h"

#include <bit>

#include "base/numbers.h"

namespace sluice {

namespace {

constexpr E4m3Tables make_tables() {
  E4m3Tables tables{};
  for (unsigned code = 0; code < 256; ++code) {
    const float value = e4m3_to_f32(static_cast<std::uint8_t>(code));
    tables.value[code] = value;
    tables.bf16_low[code] = static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(value) >> 16);
    tables.bf16_high[code] = static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(value) >> 24);
  }
  return tables;
}

}  // namespace

constinit const E4m3Tables kE4m3Tables = make_tables();

}  // namespace sluice
