// Products of stored weights with vectors, on f32x16. Order of additions: docs/numerics.md, "Sums", 1 and 2.
//
// Up to kPanelRows vectors: weights are decoded in registers and used at once, several rows of W at a time, spread over
// the part (a core waits for memory, so concurrent streams are worth more than anything else). More vectors: four rows
// of W are decoded into a panel, which every panel of vectors then meets in register tiles, a chunk of columns at a
// time; chains rest in `sums` between chunks. Every path is one chain a lane in rising column, so all give the same
// bits.

namespace sluice::SLUICE_ISA {
namespace {

constexpr int kChunkBlocks = 16;  // of columns: panels of a chunk fit the first-level cache
constexpr int kPanelOuts = 4;
constexpr int kPrefetchBytes = 1024;

// Block `block` of a row, zeros after its last column. The last block of a row is copied: nothing after it is read.
template <class F>
inline void decode_block(const std::uint8_t* w, const std::uint8_t* scales, int block, int cols, f32x16& even,
                         f32x16& odd) {
  const std::uint8_t* const from = w + static_cast<std::int64_t>(block) * F::kBlockBytes;
  if constexpr (F::kCellBytes != 0) {
    const int left = cols - block * kBlockCols;
    if (left < kBlockCols) {
      alignas(64) std::uint8_t padded[F::kBlockBytes] = {};
      __builtin_memcpy(padded, from, static_cast<std::uint64_t>(left * F::kCellBytes));
      F::decode(padded, nullptr, even, odd);
      return;
    }
  }
  F::decode(from, scales + block, even, odd);
}

constexpr int blocks_of(int cols) { return (cols + kBlockCols - 1) / kBlockCols; }

void pack(const float* x, std::int64_t x_stride, int rows, int cols, float* packed) {
  for (int block = 0; block < blocks_of(cols); ++block)
    for (int row = 0; row < rows; ++row, packed += kBlockCols) {
      f32x16 even, odd;
      decode_block<F32>(reinterpret_cast<const std::uint8_t*>(x + row * x_stride), nullptr, block, cols, even, odd);
      store(packed, even);
      store(packed + 16, odd);
    }
}

// Rows first, first + apart, ... of W, R in all, walked together. Every third row has a pointer of its own; the two
// after it are reached by an index register, which leaves registers for the rest of the loop. SLUICE_OPAQUE keeps the
// compiler from giving each row a pointer after all, and from spilling them.
template <int R>
struct Streams {
  static constexpr int kBases = (R + 2) / 3;
  const std::uint8_t* base[kBases];
  std::int64_t apart;

  Streams(const std::uint8_t* rows, std::int64_t stride, int first, int rows_apart) : apart(rows_apart * stride) {
    for (int i = 0; i < kBases; ++i) base[i] = rows + first * stride + 3 * i * apart;
    SLUICE_OPAQUE(apart);
  }
  const std::uint8_t* at(int r) const { return base[r / 3] + r % 3 * apart; }
  void advance(int bytes) {
    SLUICE_UNROLL
    for (int i = 0; i < kBases; ++i) {
      base[i] += bytes;
      SLUICE_OPAQUE(base[i]);
    }
  }
};

// Adds one block of R rows, as decode(r, even, odd) gives them, times T vectors at x.
template <int R, int T, class Decode>
inline void add_block(const float* x, f32x16 (&sum)[R][T], Decode decode) {
  f32x16 even[R], odd[R];
  SLUICE_UNROLL
  for (int r = 0; r < R; ++r) decode(r, even[r], odd[r]);
  SLUICE_UNROLL
  for (int t = 0; t < T; ++t) {
    const f32x16 x_even = load(x + t * kBlockCols), x_odd = load(x + t * kBlockCols + 16);
    SLUICE_UNROLL
    for (int r = 0; r < R; ++r) sum[r][t] = fma(odd[r], x_odd, fma(even[r], x_even, sum[r][t]));
  }
}

// Rows first, first + apart, ... (R in all) of W by T vectors, all in registers.
template <class F, int R, int T>
inline void few_rows(const MatmulPart& part, int first, int apart) {
  constexpr int kBlocks = F::kBlockBytes < 64 ? 64 / F::kBlockBytes : 1;  // of a line
  Streams<R> w(part.weights, part.weight_stride, first, apart), scales(part.scales, part.scale_stride, first, apart);
  const float* x = part.x;
  f32x16 sum[R][T];
  SLUICE_UNROLL
  for (int r = 0; r < R; ++r) SLUICE_UNROLL
  for (int t = 0; t < T; ++t) sum[r][t] = zero();
  const int full = F::kCellBytes != 0 ? part.cols / kBlockCols : blocks_of(part.cols);
  int block = 0;
  for (; block + kBlocks <= full; block += kBlocks, x += kBlocks * T * kBlockCols) {
    typename F::Line line[R];
    SLUICE_UNROLL
    for (int r = 0; r < R; ++r) {
      line[r] = F::Line::open(w.at(r));
      for (int bytes = 0; bytes < kBlocks * F::kBlockBytes; bytes += 64) prefetch(w.at(r) + kPrefetchBytes + bytes);
    }
    SLUICE_UNROLL
    for (int b = 0; b < kBlocks; ++b)
      add_block(x + b * T * kBlockCols, sum,
                [&](int r, f32x16& even, f32x16& odd) { line[r].decode(b, scales.at(r) + b, even, odd); });
    w.advance(kBlocks * F::kBlockBytes);
    if (F::kScaled) scales.advance(kBlocks);
  }
  for (; block < full; ++block, x += T * kBlockCols, w.advance(F::kBlockBytes), scales.advance(1))
    add_block(x, sum, [&](int r, f32x16& even, f32x16& odd) { F::decode(w.at(r), scales.at(r), even, odd); });
  if (full < blocks_of(part.cols))
    add_block(x, sum, [&](int r, f32x16& even, f32x16& odd) {
      decode_block<F>(w.at(r), scales.at(r), 0, part.cols - full * kBlockCols, even, odd);
    });
  SLUICE_UNROLL
  for (int r = 0; r < R; ++r) SLUICE_UNROLL
  for (int t = 0; t < T; ++t) part.y[t * part.y_stride + first + r * apart] = fold(sum[r][t]);
}

// All rows of the part from `row` on: R streams of neighbouring rows, then fewer. An odd length keeps streams whose
// rows are a power of two of bytes apart from meeting in the same sets of the cache.
template <class F, int T, int R>
void few(const MatmulPart& part, int row) {
  while (part.outs - row >= R) {
    const int most = (part.outs - row) / R, length = R == 1 ? most : most - 1 + most % 2;
    for (int i = 0; i < length; ++i) few_rows<F, R, T>(part, row + i, length);
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

constexpr decltype(&panel_times_panel<1>) kPanelTimes[kPanelRows] = {panel_times_panel<1>, panel_times_panel<2>,
                                                                     panel_times_panel<3>, panel_times_panel<4>,
                                                                     panel_times_panel<5>, panel_times_panel<6>};

// Rows [out, out + kPanelOuts) of W, columns of blocks [first, last), decoded; rows past the end are zeros.
template <class F>
void decode_panel(const MatmulPart& part, int out, int first, int last, float* panel) {
  for (int o = 0; o < kPanelOuts; ++o) {
    const std::uint8_t* const w = part.weights + (out + o) * part.weight_stride;
    const std::uint8_t* const s = part.scales + (out + o) * part.scale_stride;
    for (int block = first; block < last; ++block) {
      f32x16 even = zero(), odd = zero();
      if (out + o < part.outs) decode_block<F>(w, s, block, part.cols, even, odd);
      float* const to = panel + ((block - first) * kPanelOuts + o) * kBlockCols;
      store(to, even);
      store(to + 16, odd);
    }
  }
}

template <class F>
void many(const MatmulPart& part) {
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
        kPanelTimes[rows - 1](panel, x, last - first, first == 0, sums + row * kPanelOuts * 16);
      }
    }
  }
  for (int out = 0; out < part.outs; ++out)
    for (int row = 0; row < part.x_rows; ++row) {
      const std::int64_t group = static_cast<std::int64_t>(out / kPanelOuts) * part.x_rows + row;
      part.y[row * part.y_stride + out] = fold(load(part.sums + (group * kPanelOuts + out % kPanelOuts) * 16));
    }
}

template <class F>
void matmul(const MatmulPart& part) {
  switch (part.x_rows) {
    case 1:
      return few<F, 1, streams(1)>(part, 0);
    case 2:
      return few<F, 2, streams(2)>(part, 0);
    case 3:
      return few<F, 3, streams(3)>(part, 0);
    case 4:
      return few<F, 4, streams(4)>(part, 0);
    case 5:
      return few<F, 5, streams(5)>(part, 0);
    case 6:
      return few<F, 6, streams(6)>(part, 0);
    default:
      return many<F>(part);
  }
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
    decode_block<F>(part.weights + i * part.weight_stride, part.scales + i * part.scale_stride, block + b, part.cols,
                    even, odd);
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
  int row = 0;
  for (; row + 2 <= part.x_rows; row += 2) transposed_tile<F, B, 2>(part, block, row);
  for (; row < part.x_rows; ++row) transposed_tile<F, B, 1>(part, block, row);
}

template <class F>
void matmul_transposed(const TransposedPart& part) {
  constexpr int kAtOnce = kTileOuts;
  int block = part.first_block;
  for (; block + kAtOnce <= part.last_block; block += kAtOnce) transposed_blocks<F, kAtOnce>(part, block);
  for (; block < part.last_block; ++block) transposed_blocks<F, 1>(part, block);
}

}  // namespace
}  // namespace sluice::SLUICE_ISA
