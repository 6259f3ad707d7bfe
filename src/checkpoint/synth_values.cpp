// See synth_values.h.
#include "checkpoint/synth_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace sluice {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;

constexpr std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
constexpr std::uint64_t word_at(std::uint64_t key, std::uint64_t index) { return mixed(key + index * kGolden); }

// The same number in each 16-bit or 8-bit lane of a word.
constexpr std::uint64_t lanes16(std::uint64_t value) { return value * 0x0001000100010001u; }
constexpr std::uint64_t lanes8(std::uint64_t value) { return value * 0x0101010101010101u; }

// Word k of the tensor is `shape` of random word k; a piece may begin and end inside a word.
template <class Shape>
void fill_words(std::uint64_t key, std::uint64_t offset, std::span<std::byte> piece, Shape shape) {
  std::uint64_t index = offset / 8;
  if (const std::size_t skipped = offset % 8; skipped != 0) {
    const std::uint64_t word = shape(word_at(key, index++));
    const std::size_t count = std::min(piece.size(), 8 - skipped);
    std::memcpy(piece.data(), reinterpret_cast<const std::byte*>(&word) + skipped, count);
    piece = piece.subspan(count);
  }
  const std::size_t words = piece.size() / 8;
  for (std::size_t step = 0; step < words; ++step) {
    const std::uint64_t word = shape(word_at(key, index + step));
    std::memcpy(piece.data() + 8 * step, &word, sizeof word);
  }
  if (const std::size_t rest = piece.size() % 8; rest != 0) {
    const std::uint64_t word = shape(word_at(key, index + words));
    std::memcpy(piece.data() + 8 * words, &word, rest);
  }
}

// Element i of an f32 tensor is `value(i, random in [0, 1))`.
template <class Value>
void fill_floats(std::uint64_t key, std::uint64_t offset, std::span<std::byte> piece, Value value) {
  for (std::size_t at = 0; at < piece.size(); at += 4) {
    const std::uint64_t index = (offset + at) / 4;
    const auto number = static_cast<float>(value(index, static_cast<double>(word_at(key, index) >> 40) * 0x1p-24));
    std::memcpy(piece.data() + at, &number, 4);
  }
}

// bf16 lanes: the sign, two bits of exponent over `lowest` and the mantissa are random. The mean square over one octave
// from 1 is 7/3 and over four octaves 85/4 of that, so the root mean square is 7.04 times the lowest magnitude.
void fill_around_zero(double rms, std::uint64_t key, std::uint64_t offset, std::span<std::byte> piece) {
  const double octave = std::round(std::log2(rms / 7.04));
  const auto lowest = static_cast<std::uint64_t>(std::clamp(octave + 127.0, 1.0, 250.0));
  const std::uint64_t base = lanes16(lowest << 7);
  fill_words(key, offset, piece,
             [base](std::uint64_t word) { return (word & lanes16(0x8000u)) | ((word & lanes16(0x01ffu)) + base); });
}

// Rows of `count` numbers below `below`: equal steps from a random one, never all the way round.
void fill_distinct_ids(std::uint64_t below, std::uint64_t count, std::uint64_t key, std::uint64_t offset,
                       std::span<std::byte> piece) {
  SLUICE_CHECK(count >= 1 && count <= below);
  for (std::size_t at = 0; at < piece.size(); at += 8) {
    const std::uint64_t index = (offset + at) / 8, random = word_at(key, index / count);
    const std::uint64_t step = 1 + (random >> 32) % (below / count);
    const std::uint64_t id = ((random & 0xffffffffu) + index % count * step) % below;
    std::memcpy(piece.data() + at, &id, 8);
  }
}

void fill_near_one(Dtype type, std::uint64_t key, std::uint64_t offset, std::span<std::byte> piece) {
  if (type == Dtype::f32)
    return fill_floats(key, offset, piece, [](std::uint64_t, double random) { return 0.75 + 0.75 * random; });
  // 0x3f40 is 0.75 and 0x3fbf is 1.4921875.
  fill_words(key, offset, piece, [](std::uint64_t word) { return (word & lanes16(0x007fu)) + lanes16(0x3f40u); });
}

}  // namespace

std::uint64_t value_key(std::uint64_t seed, std::string_view name) {
  std::uint64_t key = mixed(seed + kGolden);
  for (const char letter : name) key = mixed((key ^ static_cast<unsigned char>(letter)) + kGolden);
  return key;
}

void fill_values(const ValueRule& rule, Dtype type, std::uint64_t key, std::uint64_t offset,
                 std::span<std::byte> piece) {
  if (piece.empty()) return;
  switch (rule.kind) {
    case ValueKind::around_zero:
      SLUICE_CHECK(type == Dtype::bf16);
      return fill_around_zero(rule.first, key, offset, piece);
    case ValueKind::near_one:
      SLUICE_CHECK(type != Dtype::u8);
      return fill_near_one(type, key, offset, piece);
    case ValueKind::between:
      SLUICE_CHECK(type == Dtype::f32);
      return fill_floats(key, offset, piece, [&rule](std::uint64_t, double random) {
        return rule.first + (rule.second - rule.first) * random;
      });
    case ValueKind::ramp:
      SLUICE_CHECK(type == Dtype::f32);
      return fill_floats(key, offset, piece, [&rule](std::uint64_t index, double) {
        if (index >= rule.count) return 0.0;
        const double steps = static_cast<double>(std::max<std::uint64_t>(rule.count, 2) - 1);
        return rule.first + (rule.second - rule.first) * static_cast<double>(index) / steps;
      });
    case ValueKind::e2m1_codes:
      SLUICE_CHECK(type == Dtype::u8 || type == Dtype::i8);
      return fill_words(key, offset, piece, [](std::uint64_t word) { return word; });
    case ValueKind::e4m3_codes:  // exponents 2^-3 to 2^0
      SLUICE_CHECK(type == Dtype::f8_e4m3);
      return fill_words(key, offset, piece, [](std::uint64_t word) { return (word & lanes8(0x9fu)) | lanes8(0x20u); });
    case ValueKind::distinct_ids:
      SLUICE_CHECK(type == Dtype::i64);
      return fill_distinct_ids(static_cast<std::uint64_t>(rule.first), rule.count, key, offset, piece);
    case ValueKind::e8m0_near: {
      SLUICE_CHECK(type == Dtype::u8 || type == Dtype::f8_e8m0);
      const double exponent = std::clamp(std::round(std::log2(rule.first)), -126.0, 120.0);
      const std::uint64_t base = lanes8(static_cast<std::uint64_t>(exponent + 126.0));
      return fill_words(key, offset, piece, [base](std::uint64_t word) { return (word & lanes8(0x03u)) + base; });
    }
  }
}

}  // namespace sluice
