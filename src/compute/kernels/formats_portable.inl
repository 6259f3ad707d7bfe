// Stored formats: their geometry, and their values decoded one at a time, which any instruction set can do.
//
// Included by each formats_*.h after its lanes_*.h. What an instruction set spells faster it derives from the geometry;
// the portable spelling serves it where the fast one would not give the bits (Format::Careful, for odd scales).
//
// A format has: decode(w, scale, even, odd), the values of a block of 32 columns; a Line, some blocks that are loaded
// together; streams(t), rows that are walked at once by t vectors; safe(scale), whether decode holds for that scale.

#include "compute/kernels/e4m3_tables.h"
#include "compute/kernels/mxfp4_tables.h"

namespace sluice::SLUICE_ISA {
namespace {

// Bytes of a block of 32 columns, bits of a column (0: rows are whole blocks), blocks of a Line; bytes of a scale,
// blocks of a row that share one (0: all), and rows that share a row of them.
template <int block, int cell, int line, int scale = 0, int per_scale = 0, int rows_per_scale = 1>
struct Geometry {
  static constexpr int kBlockBytes = block, kCellBits = cell, kLineBlocks = line;
  static constexpr int kScaleBytes = scale, kScaleBlocks = per_scale, kScaleRows = rows_per_scale;
  static constexpr bool kPairs = false;       // rows are decoded in twos: see RowGroup
  static constexpr bool kPrepares = false;    // Line takes what prepare(scale) gives, an fp32, instead of the scale
  static constexpr bool kLineByLine = false;  // a line fills registers: it is used up before the next row's is opened
  static constexpr bool kStaged = false;      // rows under one scale are widened in memory: see add_staged_line
  static constexpr bool kVectorsTakeScales = false;     // and the vectors are multiplied with it
  static constexpr bool far_too(int) { return false; }  // whether so many streams are prefetched twice, near and far
  static bool safe(const std::uint8_t*) { return true; }
};

inline std::uint32_t word_at(const std::uint8_t* p) {
  std::uint32_t word;
  __builtin_memcpy(&word, p, 4);
  return word;
}
inline float float_with_bits(std::uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}
inline std::uint32_t magnitude_bits(float value) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  return bits & 0x7fffffffu;
}
inline float float_at(const std::uint8_t* p) { return float_with_bits(word_at(p)); }
inline float e8m0_at(const std::uint8_t* p) {
  return float_with_bits(*p == 0 ? 0x00400000u : *p == 255 ? 0x7fc00000u : static_cast<std::uint32_t>(*p) << 23);
}

// The blocks of a line, loaded as the format likes.
template <class F>
struct PlainLine {
  const std::uint8_t* w;
  static PlainLine open(const std::uint8_t* at) { return {at}; }
  void decode(int block, const std::uint8_t* scale, f32x16& even, f32x16& odd) const {
    F::decode(w + block * F::kBlockBytes, scale, even, odd);
  }
};

// What most fast spellings have in common: lines are plain, no scale is odd, and many vectors walk fewer rows at once.
template <class Self, class Cells>
struct Fast : Cells {
  using Careful = Self;
  using Line = PlainLine<Self>;
  static constexpr int streams(int t) { return t == 1 ? 4 : 2; }
};

// What a fast spelling turns to for the odd block. A call: it would swell the loops that hardly ever need it.
template <class Careful>
__attribute__((noinline)) void decode_apart(const std::uint8_t* w, const std::uint8_t* scale, f32x16& even,
                                            f32x16& odd) {
  Careful::decode(w, scale, even, odd);
}

// The spelling for cores that start two multiply-adds a cycle, where it is another (MatmulPart::two_fmas).
template <class F>
struct ForTwoFmas {
  using Type = F;
};

// Cells::values(w, scale, out): the 32 numbers of a block.
template <class Cells>
struct Portable : Cells {
  using Careful = Portable;
  using Line = PlainLine<Portable>;
  static constexpr int streams(int) { return 1; }
  static void decode(const std::uint8_t* w, const std::uint8_t* scale, f32x16& even, f32x16& odd) {
    float values[32];
    Cells::values(w, scale, values);
    split(values, even, odd);
  }
};

struct F32Cells : Geometry<128, 32, 1> {
  static void values(const std::uint8_t* w, const std::uint8_t*, float* out) { __builtin_memcpy(out, w, 128); }
};

struct Bf16Cells : Geometry<64, 16, 1> {
  static void values(const std::uint8_t* w, const std::uint8_t*, float* out) {
    for (int i = 0; i < 32; ++i)
      out[i] =
          float_with_bits(static_cast<std::uint32_t>(w[2 * i]) << 16 | static_cast<std::uint32_t>(w[2 * i + 1]) << 24);
  }
};

struct F16Cells : Geometry<64, 16, 1> {
  static void values(const std::uint8_t* w, const std::uint8_t*, float* out) {
    for (int i = 0; i < 32; ++i) {
      const std::uint32_t bits = static_cast<std::uint32_t>(w[2 * i]) | static_cast<std::uint32_t>(w[2 * i + 1]) << 8;
      const std::uint32_t sign = (bits & 0x8000u) << 16, size = (bits & 0x7fffu) << 13;
      // 2^112 mends the bias of the exponent, for subnormals too.
      const float finite = float_with_bits(size) * float_with_bits((127u + 112u) << 23);
      std::uint32_t value;
      __builtin_memcpy(&value, &finite, 4);
      out[i] = float_with_bits(sign | (size >= 0x0f800000u ? 0x70000000u + size : value));
    }
  }
};

struct Mxfp4Cells : Geometry<16, 0, 4, 1, 1> {
  static void values(const std::uint8_t* w, const std::uint8_t* scale, float* out) {
    for (int i = 0; i < 16; ++i) {
      out[2 * i] = kMxfp4Tables.value[*scale][w[i] & 15];
      out[2 * i + 1] = kMxfp4Tables.value[*scale][w[i] >> 4];
    }
  }
};

struct Fp8Cells : Geometry<32, 8, 4, 4, 4, 128> {
  static float scale_value(const std::uint8_t* scale) { return float_at(scale); }
  static void values(const std::uint8_t* w, const std::uint8_t* scale, float* out) {
    for (int i = 0; i < 32; ++i) out[i] = kE4m3Tables.value[w[i]] * scale_value(scale);
  }
};

struct Fp8E8m0Cells : Geometry<32, 8, 4, 1, 4, 128> {
  static float scale_value(const std::uint8_t* scale) { return e8m0_at(scale); }
  static void values(const std::uint8_t* w, const std::uint8_t* scale, float* out) {
    for (int i = 0; i < 32; ++i) out[i] = kE4m3Tables.value[w[i]] * scale_value(scale);
  }
};

struct Int8Cells : Geometry<32, 8, 2, 4, 0> {
  static void values(const std::uint8_t* w, const std::uint8_t* scale, float* out) {
    for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(static_cast<std::int8_t>(w[i])) * float_at(scale);
  }
};

template <int group_blocks>  // of 32 columns; 0: the whole row
struct Int4Cells : Geometry<16, 4, 4, 4, group_blocks> {
  static void values(const std::uint8_t* w, const std::uint8_t* scale, float* out) {
    for (int i = 0; i < 16; ++i) {
      out[2 * i] = static_cast<float>((w[i] & 15) - 8) * float_at(scale);
      out[2 * i + 1] = static_cast<float>((w[i] >> 4) - 8) * float_at(scale);
    }
  }
};

}  // namespace
}  // namespace sluice::SLUICE_ISA
