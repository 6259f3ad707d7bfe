// 64 compressed bf16 numbers in plain C++. See unpack.inl.
#pragma once

#include <cstdint>

namespace sluice::scalar {
namespace {

struct Exponents64 {
  unsigned of_code[8];

  explicit Exponents64(const std::uint8_t* exponents) {
    for (int code = 0; code < 8; ++code) of_code[code] = static_cast<unsigned>(exponents[code]) << 7;
  }
  void unpack(const std::uint64_t (&planes)[3], const std::uint8_t* rest, std::uint8_t* to) const {
    for (int lane = 0; lane < 64; ++lane) {
      const std::uint64_t code = (planes[0] >> lane & 1) | (planes[1] >> lane & 1) << 1 | (planes[2] >> lane & 1) << 2;
      const unsigned number = (rest[lane] & 0x80u) << 8 | of_code[code] | (rest[lane] & 0x7fu);
      to[2 * lane] = static_cast<std::uint8_t>(number);
      to[2 * lane + 1] = static_cast<std::uint8_t>(number >> 8);
    }
  }
};

}  // namespace
}  // namespace sluice::scalar
