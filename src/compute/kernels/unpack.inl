// Compressed bf16 numbers back in full: see formats/bf16_stream.h.
//
// An instruction set says how 64 numbers come out of three planes of codes (unpack_*.h: Exponents64); the few whose
// exponents are escapes are put right afterwards, one by one. Where they are is the product of the planes.

namespace sluice::SLUICE_ISA {
namespace {

constexpr std::int64_t kUnpackPlanes = 192;  // bytes of a group that are codes

// 64 numbers; `escape` points to the exponents of those that have code 7, and goes on behind them.
SLUICE_INLINE void unpack_64(const Exponents64& exponents, const std::uint64_t (&planes)[3], std::uint64_t escaped,
                             const std::uint8_t* rest, const std::uint8_t*& escape, std::uint8_t* to) {
  exponents.unpack(planes, rest, to);
  for (; escaped != 0; escaped &= escaped - 1) {
    const int lane = __builtin_ctzll(escaped);
    const unsigned number = (rest[lane] & 0x80u) << 8 | static_cast<unsigned>(*escape++) << 7 | (rest[lane] & 0x7fu);
    to[2 * lane] = static_cast<std::uint8_t>(number);
    to[2 * lane + 1] = static_cast<std::uint8_t>(number >> 8);
  }
}

std::int64_t unpack_bf16(const UnpackPart& part) {
  const Exponents64 exponents(part.exponents);
  const std::uint8_t *group = part.groups, *escape = part.escapes;
  const std::uint8_t* const end = part.escapes + part.escape_count;
  for (std::int64_t first = 0; first < part.numbers; first += kUnpackNumbers, group += kUnpackGroup) {
    const std::int64_t left = part.numbers - first;
    std::uint8_t last[2 * kUnpackNumbers];
    std::uint8_t* const to = left >= kUnpackNumbers ? part.to + 2 * first : last;
    for (unsigned word = 0; word < 8; ++word) {
      std::uint64_t planes[3];
      __builtin_memcpy(planes, group + word * sizeof planes, sizeof planes);
      const std::uint64_t escaped = planes[0] & planes[1] & planes[2];
      if (__builtin_popcountll(escaped) > end - escape) return part.escape_count + 1;
      unpack_64(exponents, planes, escaped, group + kUnpackPlanes + word * 64, escape, to + word * 128);
    }
    if (to == last) __builtin_memcpy(part.to + 2 * first, last, static_cast<std::size_t>(2 * left));
  }
  return escape - part.escapes;
}

}  // namespace
}  // namespace sluice::SLUICE_ISA
