// Dot products of small integers without vector instructions: the definition of the words that matmul_fast.inl uses.
//
// A line is 64 bytes of a row of W; lane j sums the products of its bytes 4 j .. 4 j + 3, exactly. NibbleDots: two
// columns a byte, a table says what a nibble stands for, at most 12 either way. ByteDots: -128 .. 127. Numbers of the
// vector are at most 127 either way.
#pragma once

#include "compute/kernels/lanes_scalar.h"
#include "compute/kernels/table.h"

namespace sluice::scalar {
namespace {

constexpr int kFastVectors = 2;  // that meet a few rows of weights in registers: 1, 2 or 4
constexpr int fast_streams(int) { return 1; }

// The nearest whole numbers, ties to even, as bytes. Requires: at most 127 either way.
inline void store_whole(std::int8_t* to, const f32x16& v) {
  for (int i = 0; i < 16; ++i)
    to[i] = static_cast<std::int8_t>(bits_of(v.lane[i] + 0x1.8p23f) & 255u);  // the sum has the number in its last byte
}

struct NibbleDots {
  static constexpr bool kNibbles = true;
  static constexpr int kAhead = 2048;  // bytes of a row that are asked for ahead, into the second-level cache
  using Table = const std::int8_t*;
  struct Line {
    const std::uint8_t* w;
    const std::int8_t* numbers;
  };
  static Table table(const std::int8_t* numbers) { return numbers; }
  static Line open(const std::uint8_t* w, Table table) { return {w, table}; }
  // Of the numbers of a line, [2][64], what dot wants in `counts` ([16]); nothing here.
  static void count(const std::int8_t*, std::int32_t*) {}
  static f32x16 dot(const Line& line, const std::int8_t* x, const std::int32_t*) {
    return each([&](int lane) {
      int sum = 0;
      for (int i = 4 * lane; i < 4 * lane + 4; ++i)
        sum += line.numbers[line.w[i] & 15] * x[i] + line.numbers[line.w[i] >> 4] * x[64 + i];
      return static_cast<float>(sum);
    });
  }
};

struct ByteDots {
  static constexpr bool kNibbles = false;
  static constexpr int kAhead = 768;
  struct Table {};
  using Line = const std::uint8_t*;
  static Table table(const std::int8_t*) { return {}; }
  static Line open(const std::uint8_t* w, Table) { return w; }
  static void count(const std::int8_t*, std::int32_t*) {}
  static f32x16 dot(Line line, const std::int8_t* x, const std::int32_t*) {  // x: numbers [64]
    return each([&](int lane) {
      int sum = 0;
      for (int i = 4 * lane; i < 4 * lane + 4; ++i) sum += static_cast<std::int8_t>(line[i]) * x[i];
      return static_cast<float>(sum);
    });
  }
};

// Scales of the sixteen groups of a run of nibbles as lanes of its lines want them: lane 4 i + b is that of group
// 4 b + i. E8M0: 2^(b - 128), those of b = 0 and 1 subnormal.
inline f32x16 e8m0_halves(const std::uint8_t* from) {
  return each([&](int lane) {
    const std::uint32_t byte = from[lane % 4 * 4 + lane / 4];
    return float_of(byte < 2 ? (byte + 1) << 21 : (byte - 1) << 23);
  });
}
// fp32, one for 32, 64 or 128 columns.
inline f32x16 group_scales(const std::uint8_t* from, int cols) {
  return each([&](int lane) {
    float scale;
    __builtin_memcpy(&scale, from + (lane % 4 * 4 + lane / 4) * kGroupCols / cols * 4, sizeof scale);
    return scale;
  });
}

// Lanes 4 i .. 4 i + 3 get lane 4 i + b.
template <int b>
f32x16 spread(const f32x16& v) {
  return each([&](int lane) { return v.lane[lane / 4 * 4 + b]; });
}

}  // namespace
}  // namespace sluice::scalar
