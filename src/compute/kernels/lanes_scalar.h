// f32x16 without vector instructions: the definition of the vocabulary that the kernel bodies (*.inl) are written in.
//
// Plain loops over sixteen floats that any compiler can turn into whatever the base instruction set has. fma is spelled
// in fp64 so that machines without fused multiply-add get the same bits at a bearable price.
#pragma once

#include <cstdint>

#include "compute/kernels/table.h"

namespace sluice::scalar {
namespace {  // nothing here may be seen, or chosen by the linker, elsewhere

struct f32x16 {
  float lane[16];
};
using Piece = f32x16;  // the unit in which tiles keep their chains
constexpr int kPieceLanes = 16;
constexpr int kPassRows = 2;  // vectors that meet a few rows of weights in registers
constexpr Tiles kTiles = Tiles::never;
constexpr int kTileOuts = 1;  // of a tile of kTileOuts x kPanelRows chains

constexpr int kStateColumns = 1;  // f32x16 of columns that a recurrence keeps at hand

template <class Value>
inline f32x16 each(Value value) {
  f32x16 out;
  for (int i = 0; i < 16; ++i) out.lane[i] = value(i);
  return out;
}
inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  return bits;
}
inline float float_of(std::uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}

// a · b + c rounded once. The product is exact in fp64; the sum is rounded to odd there (its last bit is set if
// anything was lost), which makes the second rounding, to fp32, the right one for 53 >= 2 * 24 + 2 bits.
inline float fused(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b), addend = static_cast<double>(c);
  const double sum = product + addend;
  const double other = sum - product;
  const double lost = (product - (sum - other)) + (addend - other);
  std::uint64_t bits;
  __builtin_memcpy(&bits, &sum, 8);
  const bool inexact = lost > 0 || lost < 0;  // false for NaN: infinities stay as they are
  const std::uint64_t toward = (lost > 0) == (sum > 0) ? std::uint64_t{1} : ~std::uint64_t{0};
  bits += inexact && (bits & 1) == 0 ? toward : 0;
  double odd;
  __builtin_memcpy(&odd, &bits, 8);
  return static_cast<float>(odd);
}

inline f32x16 zero() {
  return each([](int) { return 0.f; });
}
inline f32x16 set1(float value) {
  return each([=](int) { return value; });
}
inline f32x16 load(const float* p) {
  return each([=](int i) { return p[i]; });
}
inline void store(float* p, const f32x16& v) {
  for (int i = 0; i < 16; ++i) p[i] = v.lane[i];
}
// The first n (0 .. 16) lanes of memory, zeros behind; nothing further is touched.
inline f32x16 load_part(const float* p, int n) {
  return each([=](int i) { return i < n ? p[i] : 0.f; });
}
inline void store_part(float* p, const f32x16& v, int n) {
  for (int i = 0; i < n; ++i) p[i] = v.lane[i];
}
// The first n lanes of a vector, zeros behind.
inline f32x16 first_of(const f32x16& v, int n) {
  return each([&](int i) { return i < n ? v.lane[i] : 0.f; });
}
// Lane i = p[i * stride].
inline f32x16 load_strided(const float* p, int stride) {
  return each([=](int i) { return p[static_cast<std::int64_t>(i) * stride]; });
}
inline float first(const f32x16& v) { return v.lane[0]; }  // lane 0

inline f32x16 add(const f32x16& a, const f32x16& b) {
  return each([&](int i) { return a.lane[i] + b.lane[i]; });
}
inline f32x16 sub(const f32x16& a, const f32x16& b) {
  return each([&](int i) { return a.lane[i] - b.lane[i]; });
}
inline f32x16 mul(const f32x16& a, const f32x16& b) {
  return each([&](int i) { return a.lane[i] * b.lane[i]; });
}
inline f32x16 div(const f32x16& a, const f32x16& b) {
  return each([&](int i) { return a.lane[i] / b.lane[i]; });
}
inline f32x16 sqrt(const f32x16& a) {
  return each([&](int i) { return __builtin_sqrtf(a.lane[i]); });
}
inline f32x16 fma(const f32x16& a, const f32x16& b, const f32x16& c) {
  return each([&](int i) { return fused(a.lane[i], b.lane[i], c.lane[i]); });
}
// b where a or b is NaN, or where they compare equal.
inline f32x16 max(const f32x16& a, const f32x16& b) {
  return each([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
}
inline f32x16 min(const f32x16& a, const f32x16& b) {
  return each([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
}
inline f32x16 if_less(const f32x16& a, const f32x16& b, const f32x16& yes, const f32x16& no) {
  return each([&](int i) { return a.lane[i] < b.lane[i] ? yes.lane[i] : no.lane[i]; });
}
// Bit i: a < b in lane i.
inline std::uint32_t lanes_less(const f32x16& a, const f32x16& b) {
  std::uint32_t bits = 0;
  for (int i = 0; i < 16; ++i) bits |= (a.lane[i] < b.lane[i] ? 1u : 0u) << i;
  return bits;
}
// Lane i = lane 4 (i / 4) + k: of each four lanes the k-th; and lane 4 j + i mod 4: the j-th four, four times.
template <int k>
inline f32x16 of_each_four(const f32x16& v) {
  return each([&](int i) { return v.lane[i / 4 * 4 + k]; });
}
template <int j>
inline f32x16 four_times(const f32x16& v) {
  return each([&](int i) { return v.lane[4 * j + i % 4]; });
}
inline f32x16 negate(const f32x16& a) {
  return each([&](int i) { return -a.lane[i]; });
}
inline f32x16 magnitude(const f32x16& a) {
  return each([&](int i) { return float_of(bits_of(a.lane[i]) & 0x7fffffffu); });
}
// The magnitude `a` (>= 0, or NaN) with the sign bits of `sign`.
inline f32x16 with_sign_of(const f32x16& sign, const f32x16& a) {
  return each([&](int i) { return float_of(bits_of(a.lane[i]) | (bits_of(sign.lane[i]) & 0x80000000u)); });
}
// a · 2^n, rounded once. Requires: n is whole, -252 <= n <= 254 or NaN, and 0.5 <= a < 2 or a is NaN.
inline f32x16 scale_by_power(const f32x16& a, const f32x16& n) {
  return each([&](int i) {
    const auto whole = static_cast<std::int32_t>(n.lane[i] == n.lane[i] ? n.lane[i] : 0.f), half = whole >> 1;
    return a.lane[i] * float_of(static_cast<std::uint32_t>(half + 127) << 23) *
           float_of(static_cast<std::uint32_t>(whole - half + 127) << 23);
  });
}

// Lanes 16 -> 8 -> 4 -> 2 -> 1, each time the upper half added to the lower.
inline float fold(f32x16 v) {
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) v.lane[i] = v.lane[i] + v.lane[i + half];
  return v.lane[0];
}

// Pieces live on 4 * kPieceLanes bytes.
inline Piece piece_zero() { return zero(); }
inline Piece piece_load(const float* p) { return load(p); }
inline void piece_store(float* p, const Piece& v) { store(p, v); }
inline Piece piece_fma(const Piece& a, const Piece& b, const Piece& c) { return fma(a, b, c); }

// Asks for memory ahead of one of `streams` places that are read at once; it need not be ours. (Always
// inline: as a call without an effect it would be dropped.)
template <int streams>
inline __attribute__((always_inline)) void prefetch(const std::uint8_t* p) {
  __builtin_prefetch(p + 2048);
}

// 32 neighbours apart into even and odd, and back.
inline void split(const float* p, f32x16& even, f32x16& odd) {
  even = each([=](int i) { return p[2 * i]; });
  odd = each([=](int i) { return p[2 * i + 1]; });
}
inline void join(float* p, const f32x16& even, const f32x16& odd) {
  for (int i = 0; i < 16; ++i) {
    p[2 * i] = even.lane[i];
    p[2 * i + 1] = odd.lane[i];
  }
}

}  // namespace
}  // namespace sluice::scalar
