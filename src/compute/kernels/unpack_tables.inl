// What a code of three bits stands for, as it stands in the two bytes of a number: for unpack_*.h.
//
// The exponent's lowest bit belongs to the low byte, the others to the high one: a table for each.

namespace sluice::SLUICE_ISA {
namespace {

struct ExponentBytes {
  std::uint8_t low[16] = {}, high[16] = {};  // by code; half of it is never looked up

  explicit ExponentBytes(const std::uint8_t* exponents) {
    for (int code = 0; code < 8; ++code) {
      low[code] = static_cast<std::uint8_t>(exponents[code] << 7);
      high[code] = static_cast<std::uint8_t>(exponents[code] >> 1);
    }
  }
};

}  // namespace
}  // namespace sluice::SLUICE_ISA
