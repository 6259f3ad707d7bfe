// Products of stored weights with vectors, on f32x16. Order of additions: docs/numerics.md, "Sums", 1 and 2.
//
// Mostly in passes: a few vectors at a time meet all rows of the part, weights decoded in registers and used at once,
// several rows of W together, spread over the part (a core waits for memory, so concurrent streams are worth more than
// anything else). Where registers are few, many vectors go in tiles instead: four rows of W are decoded into a panel,
// which every panel of vectors meets, a chunk of columns at a time; chains rest in `sums` between chunks. Every path is
// one chain a lane in rising column, so all give the same bits.

namespace sluice::SLUICE_ISA {
namespace {

constexpr int kChunkBlocks = 16;  // of columns: panels of a chunk fit the first-level cache
constexpr int kPanelOuts = 4;

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

// Begins or continues O x T chains of one piece each over `blocks` blocks. w: panel of kPanelOuts
// rows; x: panel of T vectors; both at the piece. sums [T][kPanelOuts][16].
template <int O, int T>
inline void tile(const float* w, const float* x, int blocks, bool begin, float* sums) {
  Piece sum[O][T];
  SLUICE_UNROLL
  for (int o = 0; o < O; ++o) SLUICE_UNROLL
  for (int t = 0; t < T; ++t) sum[o][t] = begin ? piece_zero() : piece_load(sums + (t * kPanelOuts + o) * 16);
  for (int block = 0; block < blocks; ++block, w += kPanelOuts * kBlockCols, x += T * kBlockCols) SLUICE_UNROLL
  for (int half = 0; half < 32; half += 16) {
    Piece weights[O];
    SLUICE_UNROLL
    for (int o = 0; o < O; ++o) weights[o] = piece_load(w + o * kBlockCols + half);
    SLUICE_UNROLL
    for (int t = 0; t < T; ++t) {
      const Piece vector = piece_load(x + t * kBlockCols + half);
      SLUICE_UNROLL
      for (int o = 0; o < O; ++o) sum[o][t] = piece_fma(weights[o], vector, sum[o][t]);
    }
  }
  SLUICE_UNROLL
  for (int o = 0; o < O; ++o) SLUICE_UNROLL
  for (int t = 0; t < T; ++t) piece_store(sums + (t * kPanelOuts + o) * 16, sum[o][t]);
}

template <int T>
void panel_times_panel(const float* w, const float* x, int blocks, bool begin, float* sums) {
  for (int o = 0; o < kPanelOuts; o += kTileOuts)
    for (int lane = 0; lane < 16; lane += kPieceLanes)
      tile<kTileOuts, T>(w + o * kBlockCols + lane, x + lane, blocks, begin, sums + o * 16 + lane);
}

// Rows [out, out + kPanelOuts) of W, columns of blocks [first, last), decoded; rows past the end are zeros.
template <class F>
void decode_panel(const MatmulPart& part, int out, int first, int last, float* panel) {
  for (int o = 0; o < kPanelOuts; ++o) {
    const std::uint8_t* const w = part.weights + (out + o) * part.weight_stride;
    const std::uint8_t* const s = scales_of<F>(part, out + o);
    for (int block = first; block < last; ++block) {
      f32x16 even = zero(), odd = zero();
      if (out + o < part.outs)
        decode_block<F>(w + static_cast<std::int64_t>(block) * F::kBlockBytes, s + scale_bytes<F>(block),
                        part.cols - block * kBlockCols, even, odd);
      float* const to = panel + ((block - first) * kPanelOuts + o) * kBlockCols;
      store(to, even);
      store(to + 16, odd);
    }
  }
}

template <class F>
void many(const MatmulPart& part) {
  static constexpr decltype(&panel_times_panel<1>) kTimes[kPanelRows] = {panel_times_panel<1>, panel_times_panel<2>,
                                                                         panel_times_panel<3>, panel_times_panel<4>,
                                                                         panel_times_panel<5>, panel_times_panel<6>};
  alignas(64) float panel[kChunkBlocks * kPanelOuts * kBlockCols];
  const int blocks = blocks_of(part.cols);
  for (int first = 0; first < blocks; first += kChunkBlocks) {
    const int last = first + kChunkBlocks < blocks ? first + kChunkBlocks : blocks;
    for (int out = 0; out < part.outs; out += kPanelOuts) {
      decode_panel<F>(part, out, first, last, panel);
      float* const sums = part.sums + static_cast<std::int64_t>(out) * part.x_rows * 16;
      for (int row = 0; row < part.x_rows; row += kPanelRows) {
        const int rows = part.x_rows - row < kPanelRows ? part.x_rows - row : kPanelRows;
        const float* const x = part.x + (static_cast<std::int64_t>(row) * blocks + first * rows) * kBlockCols;
        kTimes[rows - 1](panel, x, last - first, first == 0, sums + row * kPanelOuts * 16);
      }
    }
  }
  for (int out = 0; out < part.outs; ++out)
    for (int row = 0; row < part.x_rows; ++row) {
      const std::int64_t group = static_cast<std::int64_t>(out / kPanelOuts) * part.x_rows + row;
      part.y[row * part.y_stride + out] = fold(load(part.sums + (group * kPanelOuts + out % kPanelOuts) * 16));
    }
}

// Vectors of a panel, when there are x_rows of them: as many as a pass in registers takes, unless tiles are better.
constexpr bool in_tiles(int x_rows) { return kTiles && x_rows >= kTileFromRows; }
int panel_rows(int x_rows) { return in_tiles(x_rows) ? kPanelRows : kPassRows; }

template <class F>
int streams(int x_rows) {
  return in_tiles(x_rows) ? kPanelOuts : F::streams(x_rows < kPassRows ? x_rows : kPassRows);
}

// One pass over the part for each panel. The caller makes parts small enough to stay near for the next pass.
template <class F, int T>
void pass(const MatmulPart& all, int row, int rows) {
  MatmulPart part = all;
  part.x = all.x + static_cast<std::int64_t>(row) * blocks_of(all.cols) * kBlockCols;
  part.y = all.y + row * all.y_stride;
  if constexpr (T > 1)
    if (rows < T) return pass<F, T - 1>(all, row, rows);
  few<F, T, F::streams(T)>(part, 0);
}

// Whether the fast spelling of the format holds for all scales of the part.
template <class F>
bool all_safe(const MatmulPart& part) {
  const int scales = scale_bytes<F>(blocks_of(part.cols) - 1) / F::kScaleBytes + 1;
  const std::int64_t first = part.scale_phase / F::kScaleRows;
  const std::int64_t rows = (part.scale_phase + part.outs - 1) / F::kScaleRows + 1 - first;
  for (std::int64_t row = first; row < first + rows; ++row)
    for (int scale = 0; scale < scales; ++scale)
      if (!F::safe(part.scales + row * part.scale_stride + scale * F::kScaleBytes)) return false;
  return true;
}

template <class F>
void matmul(const MatmulPart& part) {
  if constexpr (F::kScaleBytes > 0 && !__is_same(F, typename F::Careful))
    if (!all_safe<F>(part)) return matmul<typename F::Careful>(part);
  if constexpr (kTiles)
    if (in_tiles(part.x_rows)) return many<F>(part);
  for (int row = 0; row < part.x_rows; row += kPassRows)
    pass<F, kPassRows>(part, row, part.x_rows - row < kPassRows ? part.x_rows - row : kPassRows);
}

// Chains over the rows of W for B blocks of columns and T vectors.
template <class F, int B, int T>
inline void transposed_tile(const TransposedPart& part, int block, int row) {
  f32x16 even_sum[B][T], odd_sum[B][T];
  SLUICE_UNROLL
  for (int b = 0; b < B; ++b) SLUICE_UNROLL
  for (int t = 0; t < T; ++t) even_sum[b][t] = odd_sum[b][t] = zero();
  for (int i = 0; i < part.w_rows; ++i) SLUICE_UNROLL
  for (int b = 0; b < B; ++b) {
    f32x16 even, odd;
    decode_block<F>(part.weights + i * part.weight_stride + static_cast<std::int64_t>(block + b) * F::kBlockBytes,
                    scales_of<F>(part, i) + scale_bytes<F>(block + b), part.cols - (block + b) * kBlockCols, even, odd);
    SLUICE_UNROLL
    for (int t = 0; t < T; ++t) {
      const f32x16 x = set1(part.x[(row + t) * part.x_stride + i]);
      even_sum[b][t] = fma(even, x, even_sum[b][t]);
      odd_sum[b][t] = fma(odd, x, odd_sum[b][t]);
    }
  }
  for (int b = 0; b < B; ++b)
    for (int t = 0; t < T; ++t) {
      alignas(64) float values[kBlockCols];
      join(values, even_sum[b][t], odd_sum[b][t]);
      const int col = (block + b) * kBlockCols, left = part.cols - col;
      __builtin_memcpy(part.y + (row + t) * part.y_stride + col, values,
                       sizeof(float) * static_cast<std::uint64_t>(left < kBlockCols ? left : kBlockCols));
    }
}

template <class F, int B>
void transposed_blocks(const TransposedPart& part, int block) {
  constexpr int T = kPassRows / 2;
  int row = 0;
  for (; row + T <= part.x_rows; row += T) transposed_tile<F, B, T>(part, block, row);
  for (; row < part.x_rows; ++row) transposed_tile<F, B, 1>(part, block, row);
}

template <class F>
void matmul_transposed(const TransposedPart& part) {
  constexpr int kAtOnce = kPieceLanes / 4;
  int block = part.first_block;
  for (; block + kAtOnce <= part.last_block; block += kAtOnce) transposed_blocks<F, kAtOnce>(part, block);
  for (; block < part.last_block; ++block) transposed_blocks<F, 1>(part, block);
}

}  // namespace
}  // namespace sluice::SLUICE_ISA
