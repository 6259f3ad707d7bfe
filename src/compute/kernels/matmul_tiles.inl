// Tiles of matmul.inl: a panel of decoded rows of W times a panel of vectors, a chunk of columns at a time.

namespace sluice::SLUICE_ISA {
namespace {

constexpr int kChunkBlocks = 16;  // of columns: panels of a chunk fit the first-level cache
constexpr int kPanelOuts = 4;

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

}  // namespace
}  // namespace sluice::SLUICE_ISA
