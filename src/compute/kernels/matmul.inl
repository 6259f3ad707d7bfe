// Products of stored weights with vectors, on f32x16. Order of additions: docs/numerics.md, "Sums", 1 and 2.
//
// Mostly in passes: a few vectors at a time meet all rows of the part, weights decoded in registers and used at once,
// several rows of W together, spread over the part (a core waits for memory, so concurrent streams are worth more than
// anything else). Where registers are few, or a core multiplies faster than its second-level cache brings the vectors
// anew (two_fmas), many vectors go in tiles instead: four rows of W are decoded into a panel, which every panel of
// vectors meets, a chunk of columns at a time; chains rest in `sums` between chunks. Every path is one chain a lane in
// rising column, so all give the same bits.

namespace sluice::SLUICE_ISA {
namespace {

// Vectors of a panel, when there are x_rows of them: as many as a pass in registers takes, unless tiles are better.
constexpr bool in_tiles(int x_rows, bool two_fmas) {
  return (kTiles == Tiles::always || (kTiles == Tiles::with_two_fmas && two_fmas)) && x_rows >= kTileFromRows;
}
int panel_rows(int x_rows, bool two_fmas) { return in_tiles(x_rows, two_fmas) ? kPanelRows : kPassRows; }

template <class F>
int streams(int x_rows, bool two_fmas) {
  using Other = typename ForTwoFmas<F>::Type;
  if constexpr (!__is_same(F, Other))
    if (two_fmas) return streams<Other>(x_rows, true);
  return in_tiles(x_rows, two_fmas) ? kPanelOuts : F::streams(x_rows < kPassRows ? x_rows : kPassRows);
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

template <class F, class Holds>
bool all_scales(const MatmulPart& part, const Holds& holds) {
  const int scales = scale_bytes<F>(blocks_of(part.cols) - 1) / F::kScaleBytes + 1;
  const std::int64_t first = part.scale_phase / F::kScaleRows;
  const std::int64_t rows = (part.scale_phase + part.outs - 1) / F::kScaleRows + 1 - first;
  for (std::int64_t row = first; row < first + rows; ++row)
    for (int scale = 0; scale < scales; ++scale)
      if (!holds(part.scales + row * part.scale_stride + scale * F::kScaleBytes)) return false;
  return true;
}

// Whether no number of the vectors leaves the range of normal numbers when it is multiplied with a scale of the part.
template <class F>
bool vectors_allow(const MatmulPart& part) {
  f32x16 least = set1(1), most = set1(1);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(part.x_rows) * blocks_of(part.cols) * kBlockCols; i += 16) {
    const f32x16 size = magnitude(load(part.x + i));
    least = min(least, if_less(zero(), size, size, least));
    most = max(size, most);  // not the other way round: a NaN would hide what came before it
  }
  alignas(64) float lows[16], highs[16];
  store(lows, least);
  store(highs, most);
  double low = 1, high = 1;
  for (int lane = 0; lane < 16; ++lane) {
    low = static_cast<double>(lows[lane]) < low ? static_cast<double>(lows[lane]) : low;
    high = static_cast<double>(highs[lane]) > high ? static_cast<double>(highs[lane]) : high;
  }
  return all_scales<F>(part, [&](const std::uint8_t* scale) {
    const double times = static_cast<double>(F::times(scale));
    return low * times >= 0x1p-126 && high * times < 0x1p128;
  });
}

template <class F>
void passes(const MatmulPart& part) {
  for (int row = 0; row < part.x_rows; row += kPassRows)
    pass<F, kPassRows>(part, row, part.x_rows - row < kPassRows ? part.x_rows - row : kPassRows);
}

// Rows that share their scales at a time.
template <class F>
void passes_by_scales(MatmulPart part) {
  for (int left = part.outs; left > 0; left -= part.outs) {
    const int until_next = F::kScaleRows - part.scale_phase % F::kScaleRows;
    part.outs = left < until_next ? left : until_next;
    passes<F>(part);
    part.weights += part.outs * part.weight_stride;
    part.y += part.outs;
    part.scale_phase += part.outs;
  }
}

template <class F>
void matmul(const MatmulPart& part) {
  using Other = typename ForTwoFmas<F>::Type;
  if constexpr (!__is_same(F, Other))
    if (part.two_fmas) return matmul<Other>(part);
  if constexpr (F::kScaleBytes > 0 && !__is_same(F, typename F::Careful))  // where the fast spelling does not hold
    if (!all_scales<F>(part, F::safe)) return matmul<typename F::Careful>(part);
  if constexpr (kTiles != Tiles::never)
    if (in_tiles(part.x_rows, part.two_fmas)) return many<F>(part);
  if constexpr (F::kVectorsTakeScales)
    if (!vectors_allow<F>(part)) return matmul<typename F::Careful>(part);
  if constexpr (F::kStaged)
    passes_by_scales<F>(part);
  else
    passes<F>(part);
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
