// Stored formats decoded one value at a time: what any instruction set can do, where nothing faster is written.
//
// Included by a lanes_*.h, inside its namespace. A format's values() gives the 32 numbers of a block.

template <class Values>
struct Portable {
  static constexpr bool kPairs = false;
  static constexpr int streams(int) { return 1; }  // rows walked at once by t vectors
  struct Line {
    const std::uint8_t* w;
    static Line open(const std::uint8_t* at) { return {at}; }
    void decode(int block, const std::uint8_t* scale, f32x16& even, f32x16& odd) const {
      Values::decode(w + block * Values::kBlockBytes, scale, even, odd);
    }
  };
  static void decode(const std::uint8_t* w, const std::uint8_t* scale, f32x16& even, f32x16& odd) {
    float values[32];
    Values::values(w, scale, values);
    split(values, even, odd);
  }
};

inline float float_at(const std::uint8_t* p) {
  float value;
  __builtin_memcpy(&value, p, 4);
  return value;
}
inline float float_with_bits(std::uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}
inline float e8m0_at(const std::uint8_t* p) {
  return float_with_bits(*p == 0 ? 0x00400000u : *p == 255 ? 0x7fc00000u : static_cast<std::uint32_t>(*p) << 23);
}

struct F16 : Portable<F16> {
  static constexpr int kBlockBytes = 64, kCellBits = 16, kLineBlocks = 1;
  static constexpr int kScaleBytes = 0, kScaleBlocks = 0, kScaleRows = 1;
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

struct Fp8 : Portable<Fp8> {
  static constexpr int kBlockBytes = 32, kCellBits = 8, kLineBlocks = 4;
  static constexpr int kScaleBytes = 4, kScaleBlocks = 4, kScaleRows = 128;
  static void values(const std::uint8_t* w, const std::uint8_t* scale, float* out) {
    for (int i = 0; i < 32; ++i) out[i] = kE4m3Tables.value[w[i]] * float_at(scale);
  }
};

struct Fp8E8m0 : Portable<Fp8E8m0> {
  static constexpr int kBlockBytes = 32, kCellBits = 8, kLineBlocks = 4;
  static constexpr int kScaleBytes = 1, kScaleBlocks = 4, kScaleRows = 128;
  static void values(const std::uint8_t* w, const std::uint8_t* scale, float* out) {
    for (int i = 0; i < 32; ++i) out[i] = kE4m3Tables.value[w[i]] * e8m0_at(scale);
  }
};

struct Int8 : Portable<Int8> {
  static constexpr int kBlockBytes = 32, kCellBits = 8, kLineBlocks = 2;
  static constexpr int kScaleBytes = 4, kScaleBlocks = 0, kScaleRows = 1;
  static void values(const std::uint8_t* w, const std::uint8_t* scale, float* out) {
    for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(static_cast<std::int8_t>(w[i])) * float_at(scale);
  }
};

template <int kGroupBlocks>  // of 32 columns; 0: the whole row
struct Int4 : Portable<Int4<kGroupBlocks>> {
  static constexpr int kBlockBytes = 16, kCellBits = 4, kLineBlocks = 4;
  static constexpr int kScaleBytes = 4, kScaleBlocks = kGroupBlocks, kScaleRows = 1;
  static void values(const std::uint8_t* w, const std::uint8_t* scale, float* out) {
    for (int i = 0; i < 16; ++i) {
      out[2 * i] = static_cast<float>((w[i] & 15) - 8) * float_at(scale);
      out[2 * i + 1] = static_cast<float>((w[i] >> 4) - 8) * float_at(scale);
    }
  }
};
