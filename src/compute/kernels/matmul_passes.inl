// Passes of matmul.inl: a few rows of W, decoded in registers, times a few vectors.

namespace sluice::SLUICE_ISA {
namespace {

// Rows that are decoded one by one.
template <class F>
struct SingleRows {
  static constexpr int kRows = 1;
  using Lanes = f32x16;
  using Line = typename F::Line;
  static Lanes zero() { return SLUICE_ISA::zero(); }
  static Lanes vector(const float* x) { return load(x); }
  static Lanes fma(Lanes a, Lanes b, Lanes c) { return SLUICE_ISA::fma(a, b, c); }
  static Line open(const std::uint8_t* w, const std::uint8_t*) { return F::Line::open(w); }
  static void decode(const Line& line, int block, const std::uint8_t* scale, const std::uint8_t*, Lanes& even,
                     Lanes& odd) {
    line.decode(block, scale, even, odd);
  }
  static Lanes join(const Lanes (&one)[1]) { return one[0]; }
  static void fold(Lanes v, float (&out)[1]) { out[0] = SLUICE_ISA::fold(v); }
};
// How R rows of a format are decoded: one by one, or in pairs where an instruction set has a good way (F::Pairs).
template <class F, int R, bool pairs = F::kPairs&& R % 2 == 0>
struct RowGroup {
  using Type = SingleRows<F>;
};
template <class F, int R>
struct RowGroup<F, R, true> {
  using Type = typename F::Pairs;
};

// Bytes of scales that the first `blocks` blocks of a row have.
template <class F>
constexpr int scale_bytes(int blocks) {
  return F::kScaleBlocks == 0 ? 0 : blocks / F::kScaleBlocks * F::kScaleBytes;
}

// The row of scales that row `row` of W has.
template <class F, class Part>
inline const std::uint8_t* scales_of(const Part& part, int row) {
  return part.scales + (F::kScaleRows == 1 ? row : (part.scale_phase + row) / F::kScaleRows) * part.scale_stride;
}

// A block of 32 columns of a row, of which `left` are there. If fewer than 32 are, it is copied, so that nothing after
// it is read, and zeros follow the values.
template <class F>
inline void decode_block(const std::uint8_t* from, const std::uint8_t* scale, int left, f32x16& even, f32x16& odd) {
  if constexpr (F::kCellBits != 0) {
    if (left < kBlockCols) {
      alignas(64) std::uint8_t padded[F::kBlockBytes] = {};
      __builtin_memcpy(padded, from, static_cast<std::uint64_t>((left * F::kCellBits + 7) / 8));
      F::decode(padded, scale, even, odd);
      even = first_of(even, (left + 1) / 2);
      odd = first_of(odd, left / 2);
      return;
    }
  }
  F::decode(from, scale, even, odd);
}

constexpr int blocks_of(int cols) { return (cols + kBlockCols - 1) / kBlockCols; }

void pack(const float* x, std::int64_t x_stride, int rows, int cols, float* packed) {
  for (int block = 0; block < blocks_of(cols); ++block)
    for (int row = 0; row < rows; ++row, packed += kBlockCols) {
      f32x16 even, odd;
      decode_block<F32>(reinterpret_cast<const std::uint8_t*>(x + row * x_stride + block * kBlockCols), nullptr,
                        cols - block * kBlockCols, even, odd);
      store(packed, even);
      store(packed + 16, odd);
    }
}

// Rows first, first + apart, ... of W, R in all, walked together. Every third row has a pointer of its own; the two
// after it are reached by an index register, which leaves registers for the rest of the loop. SLUICE_OPAQUE keeps the
// compiler from giving each row a pointer after all, and from spilling them.
template <int R>
struct Streams {
  static_assert(R <= 12);
  const std::uint8_t *base0, *base1, *base2, *base3;  // not an array: an array would live in memory
  std::int64_t apart;

  Streams(const std::uint8_t* rows, std::int64_t stride, int first, int rows_apart) : apart(rows_apart * stride) {
    base0 = rows + first * stride;
    base1 = base0 + (R > 3 ? 3 * apart : 0);
    base2 = base0 + (R > 6 ? 6 * apart : 0);
    base3 = base0 + (R > 9 ? 9 * apart : 0);
    SLUICE_OPAQUE(apart);
  }
  const std::uint8_t* at(int r) const {
    return (r < 3 ? base0 : r < 6 ? base1 : r < 9 ? base2 : base3) + r % 3 * apart;
  }
  void advance(int bytes) {
    move(base0, bytes);
    if (R > 3) move(base1, bytes);
    if (R > 6) move(base2, bytes);
    if (R > 9) move(base3, bytes);
  }
  static void move(const std::uint8_t*& base, int bytes) {
    base += bytes;
    SLUICE_OPAQUE(base);
  }
};

// The scales of those rows, and what a Line takes for block b of it.
template <class F, int R, bool shared = F::kScaleRows != 1, bool prepared = F::kPrepares>
struct ScaleStreams : Streams<R> {
  ScaleStreams(const MatmulPart& part, int first, int rows_apart)
      : Streams<R>(part.scales, part.scale_stride, first, rows_apart) {}
  const std::uint8_t* of_line(int r, int b) const { return this->at(r) + scale_bytes<F>(b); }
};
template <class F, int R>
struct ScaleStreams<F, R, false, true> : ScaleStreams<F, R, false, false> {
  float ready[R];

  ScaleStreams(const MatmulPart& part, int first, int rows_apart)
      : ScaleStreams<F, R, false, false>(part, first, rows_apart) {
    for (int r = 0; r < R; ++r) ready[r] = F::prepare(this->at(r));
  }
  const std::uint8_t* of_line(int r, int) const { return reinterpret_cast<const std::uint8_t*>(&ready[r]); }
};
template <class F, int R>
struct ScaleStreams<F, R, true, false> {
  const std::uint8_t* rows[R];  // not equidistant
  std::int64_t offset = 0;

  ScaleStreams(const MatmulPart& part, int first, int rows_apart) {
    for (int r = 0; r < R; ++r) rows[r] = scales_of<F>(part, first + r * rows_apart);
  }
  const std::uint8_t* at(int r) const { return rows[r] + offset; }
  const std::uint8_t* of_line(int r, int b) const { return at(r) + scale_bytes<F>(b); }
  void advance(int bytes) { offset += bytes; }
};

// body(Constant<0>), ..., body(Constant<n - 1>): a loop whose index is a constant from the start, so that arrays it
// indexes become registers. (An unrolled loop is unrolled too late for that.)
template <int value>
struct Constant {
  constexpr operator int() const { return value; }
};
template <int n, int i = 0, class Body>
SLUICE_INLINE void unrolled(const Body& body) {
  if constexpr (i < n) {
    body(Constant<i>{});
    unrolled<n, i + 1>(body);
  }
}

// Adds one block of a group of rows, decoded, times T vectors at x.
template <class Group, int T>
SLUICE_INLINE void add_block(const typename Group::Lanes& even, const typename Group::Lanes& odd, const float* x,
                             typename Group::Lanes (&sum)[T]) {
  unrolled<T>([&](auto t) SLUICE_INLINED { sum[t] = Group::fma(even, Group::vector(x + t * kBlockCols), sum[t]); });
  unrolled<T>([&](auto t) SLUICE_INLINED { sum[t] = Group::fma(odd, Group::vector(x + t * kBlockCols + 16), sum[t]); });
}

// Adds one line of each row.
template <class F, class Group, int G, int T, class Weights, class Scales>
SLUICE_INLINE void add_line(const Weights& w, const Scales& scales, const float* x,
                            typename Group::Lanes (&sum)[G][T]) {
  constexpr int kTogether = Group::kRows, kBlocks = F::kLineBlocks;
  const auto open = [&](auto g) SLUICE_INLINED {
    return Group::open(w.at(g * kTogether), w.at(g * kTogether + kTogether - 1));
  };
  const auto add = [&](const auto& line, auto g, auto b) SLUICE_INLINED {
    typename Group::Lanes even, odd;
    Group::decode(line, b, scales.of_line(g * kTogether, b), scales.of_line(g * kTogether + kTogether - 1, b), even,
                  odd);
    add_block<Group>(even, odd, x + b * T * kBlockCols, sum[g]);
  };
  if constexpr (F::kLineByLine) {
    unrolled<G>([&](auto g) SLUICE_INLINED {
      const auto line = open(g);
      unrolled<kBlocks>([&](auto b) SLUICE_INLINED { add(line, g, b); });
    });
  } else {
    typename Group::Line lines[G];
    unrolled<G>([&](auto g) SLUICE_INLINED { lines[g] = open(g); });
    unrolled<kBlocks>([&](auto b) SLUICE_INLINED { unrolled<G>([&](auto g) SLUICE_INLINED { add(lines[g], g, b); }); });
  }
}

// Adds one line of each row, where all rows have the same scales. What the scale multiplies does not matter where it is
// a power of two and no product leaves the range: the vectors then, once for all rows.
template <class F, int R, int T, class Weights>
SLUICE_INLINE void add_staged_line(const Weights& w, const std::uint8_t* scale, const float* x, f32x16 (&sum)[R][T]) {
  const f32x16 times = set1(F::times(scale));
  alignas(64) std::uint8_t room[R * F::kStagedBytes];
  unrolled<R>([&](auto r) SLUICE_INLINED { F::stage(w.at(r), room + r * F::kStagedBytes); });
  const std::uint8_t* staged = room;
  SLUICE_OPAQUE(staged);  // or what was stored is taken apart in registers
  unrolled<F::kLineBlocks * 2>([&](auto i) SLUICE_INLINED {
    f32x16 vector[T];
    unrolled<T>([&](auto t) SLUICE_INLINED {
      vector[t] = load(x + (i / 2 * T + t) * kBlockCols + i % 2 * 16);
      if constexpr (F::kVectorsTakeScales) vector[t] = mul(vector[t], times);
    });
    unrolled<R>([&](auto r) SLUICE_INLINED {
      f32x16 weight = F::template unscaled<i / 2, i % 2>(staged + r * F::kStagedBytes);
      if constexpr (!F::kVectorsTakeScales) weight = mul(weight, times);
      unrolled<T>([&](auto t) SLUICE_INLINED { sum[r][t] = fma(weight, vector[t], sum[r][t]); });
    });
  });
}

// Rows first, first + apart, ... (R in all, Group::kRows of them decoded together) of W by T vectors, in registers.
template <class F, class Group, int R, int T>
inline void few_rows(const MatmulPart& part, int first, int apart) {
  constexpr int kTogether = Group::kRows, kGroups = R / kTogether;
  constexpr int kBlocks = F::kLineBlocks;
  Streams<R> w(part.weights, part.weight_stride, first, apart);
  ScaleStreams<F, R> scales(part, first, apart);
  const float* x = part.x;
  typename Group::Lanes sum[kGroups][T];
  unrolled<kGroups>([&](auto g)
                        SLUICE_INLINED { unrolled<T>([&](auto t) SLUICE_INLINED { sum[g][t] = Group::zero(); }); });
  const int full = F::kCellBits != 0 ? part.cols / kBlockCols : blocks_of(part.cols);
  int block = 0;
  for (; block + kBlocks <= full; block += kBlocks, x += kBlocks * T * kBlockCols) {
    unrolled<R>([&](auto r) SLUICE_INLINED {
      for (int bytes = 0; bytes < kBlocks * F::kBlockBytes; bytes += 64) {
        prefetch<R>(w.at(r) + bytes);
        if constexpr (F::far_too(R)) prefetch<1>(w.at(r) + bytes);
      }
    });
    if constexpr (F::kStaged)
      add_staged_line<F>(w, scales.at(0), x, sum);
    else
      add_line<F, Group>(w, scales, x, sum);
    w.advance(kBlocks * F::kBlockBytes);
    if (scale_bytes<F>(kBlocks) > 0) scales.advance(scale_bytes<F>(kBlocks));
  }
  // What is left of a row: less than a line.
  for (int b = 0; block < blocks_of(part.cols); ++block, ++b, x += T * kBlockCols, w.advance(F::kBlockBytes))
    unrolled<kGroups>([&](auto g) SLUICE_INLINED {
      f32x16 evens[kTogether], odds[kTogether];
      for (int i = 0; i < kTogether; ++i)
        decode_block<F>(w.at(g * kTogether + i), scales.at(g * kTogether + i) + scale_bytes<F>(b),
                        part.cols - block * kBlockCols, evens[i], odds[i]);
      add_block<Group>(Group::join(evens), Group::join(odds), x, sum[g]);
    });
  unrolled<kGroups>([&](auto g) SLUICE_INLINED {
    unrolled<T>([&](auto t) SLUICE_INLINED {
      float folded[kTogether];
      Group::fold(sum[g][t], folded);
      for (int i = 0; i < kTogether; ++i) part.y[t * part.y_stride + first + (g * kTogether + i) * apart] = folded[i];
    });
  });
}

// All rows of the part from `row` on: R streams of neighbouring rows, then fewer. An odd length keeps streams whose
// rows are a power of two of bytes apart from meeting in the same sets of the cache.
template <class F, int T, int R>
void few(const MatmulPart& part, int row) {
  for (int most; (most = (part.outs - row) / R) > 0;) {
    const int length = R == 1 ? most : most - 1 + most % 2;
    for (int i = 0; i < length; ++i) few_rows<F, typename RowGroup<F, R>::Type, R, T>(part, row + i, length);
    row += R * length;
  }
  if constexpr (R > 1) few<F, T, R / 2>(part, row);
}

}  // namespace
}  // namespace sluice::SLUICE_ISA
