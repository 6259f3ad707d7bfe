// Products of the fast mode: vectors as whole numbers in groups of 32, on exact integer dot products. Order:
// docs/numerics.md, "Fast"; layouts: table.h; words of each instruction set: dots_*.h.
//
// One kernel serves all formats of a number's width: scales are widened a few runs of columns ahead of their use, and a
// table says what a nibble stands for. Rows are walked as in matmul.inl, which also has the words for it. The last run
// of a row is copied, so that nothing after the row is read; zeros behind it meet zeros of the vector.

namespace sluice::SLUICE_ISA {
namespace {

constexpr int kScaleRuns = 4;  // whose scales are widened together

// The scale of a group of 32; NaN if one of them is not finite.
inline float group_scale(f32x16 first, f32x16 second) {
  constexpr std::uint32_t kInfinity = 0x7f800000u, kLeastNormal = 0x00800000u;
  float values[kGroupCols];
  store(values, magnitude(first));
  store(values + 16, magnitude(second));
  std::uint32_t bits[kGroupCols], largest = 0;
  __builtin_memcpy(bits, values, sizeof bits);
  for (std::uint32_t size : bits) largest = size > largest ? size : largest;
  if (largest >= kInfinity) return float_with_bits(0x7fc00000u);
  const float scale = float_with_bits(largest) / 127.f;
  return magnitude_bits(scale) < kLeastNormal ? 0.f : scale;
}

// Puts the numbers of a group of a run, which is all zeros, and their scale where lines want them.
template <class Dots>
inline void place_group(const float* x, int group, std::int8_t* run, float* scales) {
  constexpr int kOffsets = Dots::kNibbles ? kLineBytes : 16;  // of the second half from the first
  f32x16 first = load(x), second = load(x + 16);
  const float scale = group_scale(first, second);
  if constexpr (Dots::kNibbles) {
    scales[group % 4 * 4 + group / 4] = scale;
    run += group / 4 * 2 * kLineBytes + group % 4 * 16;
    split(x, first, second);
  } else {
    float* const both = scales + group % 2 * 8 + group / 2;
    both[0] = both[4] = scale;
    run += group * kGroupCols;
  }
  if (!(scale > 0)) return;
  store_whole(run, div(first, set1(scale)));
  store_whole(run + kOffsets, div(second, set1(scale)));
}

template <class Dots>
struct Run {
  static constexpr int kPlanes = Dots::kNibbles ? 2 : 1;  // of a line
  static constexpr int kCols = Dots::kNibbles ? kNibbleRunCols : kByteRunCols;
  static constexpr int kBytes = Dots::kNibbles ? kNibbleRunBytes : kByteRunBytes;
  static constexpr int kCounts = kRunLines * kPlanes * kLineBytes, kScales = kCounts + kRunLines * 64;  // begin there

  static const std::int8_t* numbers(const std::uint8_t* run, int line) {
    return reinterpret_cast<const std::int8_t*>(run) + line * kPlanes * kLineBytes;
  }
  static const std::int32_t* counts(const std::uint8_t* run, int line) {
    return reinterpret_cast<const std::int32_t*>(run + kCounts) + 16 * line;
  }
  static const float* scales(const std::uint8_t* run) { return reinterpret_cast<const float*>(run + kScales); }
};

template <class Dots>
void quantise_as(const float* x, int cols, std::uint8_t* to) {
  using Layout = Run<Dots>;
  for (int first = 0; first < cols; first += Layout::kCols, to += Layout::kBytes) {
    auto* const run = reinterpret_cast<std::int8_t*>(to);
    auto* const counts = reinterpret_cast<std::int32_t*>(to + Layout::kCounts);
    auto* const scales = reinterpret_cast<float*>(to + Layout::kScales);
    __builtin_memset(to, 0, Layout::kBytes);
    for (int group = 0; group < Layout::kCols / kGroupCols; ++group) {
      const int left = cols - first - group * kGroupCols;
      if (left <= 0) break;
      float padded[kGroupCols] = {};
      const float* from = x + first + group * kGroupCols;
      if (left < kGroupCols) {
        __builtin_memcpy(padded, from, sizeof(float) * static_cast<std::uint64_t>(left));
        from = padded;
      }
      place_group<Dots>(from, group, run, scales);
    }
    for (int line = 0; line < kRunLines; ++line)
      Dots::count(run + line * Layout::kPlanes * kLineBytes, counts + 16 * line);
  }
}

void quantise(const float* x, int cols, bool nibbles, std::uint8_t* runs) {
  nibbles ? quantise_as<NibbleDots>(x, cols, runs) : quantise_as<ByteDots>(x, cols, runs);
}

// Scales of runs [first, first + runs) of a row of W. What stands for groups past the last is finite.
__attribute__((noinline)) void widen_scales(const FastPart& part, int row, int first, int runs, float* to) {
  const std::uint8_t* from = part.scales + row * part.scale_stride;
  const bool nibbles = part.numbers != nullptr;
  const int groups = (part.cols + kGroupCols - 1) / kGroupCols;
  const int in_run = (nibbles ? kNibbleRunCols : kByteRunCols) / kGroupCols;
  const int bytes = part.scale_cols == 0 ? 0 : in_run * kGroupCols / part.scale_cols * (part.e8m0 ? 1 : 4);  // of a run
  std::uint8_t last[64] = {};
  from += first * bytes;
  for (int run = first; run < first + runs; ++run, to += 16, from += bytes) {
    const int left = groups - run * in_run;
    if (part.scale_cols == 0) {
      const float scale = float_at(from);
      if (left >= in_run) {
        store(to, set1(scale));
        continue;
      }
      for (int place = 0; place < 16; ++place) {
        const int group = nibbles ? place % 4 * 4 + place / 4 : place % 4 * 2 + place / 8;
        to[place] = group < left ? scale : 0.f;
      }
      continue;
    }
    if (left < in_run) {
      __builtin_memcpy(last, from, static_cast<std::uint64_t>(part.scale_stride - run * bytes));
      from = last;
    }
    store(to, part.e8m0 ? e8m0_halves(from) : group_scales(from, part.scale_cols));
  }
}

// One run of each of R rows, whose bytes are at w, by T vectors.
template <class Dots, int R, int T>
SLUICE_INLINE void add_run(const std::uint8_t* const (&w)[R], const float (&scales)[R][kScaleRuns][16], int scale_run,
                           typename Dots::Table table, const std::uint8_t* x, std::int64_t x_stride,
                           f32x16 (&sum)[R][T]) {
  using Layout = Run<Dots>;
  unrolled<R>([&](auto r) SLUICE_INLINED {
    const f32x16 of_row = load(scales[r][scale_run]);
    f32x16 factor[T];
    unrolled<T>([&](auto t) SLUICE_INLINED { factor[t] = mul(of_row, load(Layout::scales(x + t * x_stride))); });
    unrolled<kRunLines>([&](auto b) SLUICE_INLINED {
      constexpr int kLine = decltype(b){};
      __builtin_prefetch(w[r] + kLine * kLineBytes + Dots::kAhead, 0, 2);
      const typename Dots::Line line = Dots::open(w[r] + kLine * kLineBytes, table);
      unrolled<T>([&](auto t) SLUICE_INLINED {
        const std::uint8_t* const run = x + t * x_stride;
        sum[r][t] = fma(Dots::dot(line, Layout::numbers(run, kLine), Layout::counts(run, kLine)),
                        spread<kLine>(factor[t]), sum[r][t]);
      });
    });
  });
}

// Rows first, first + apart, ... of W, R in all, by T vectors from `row` on.
template <class Dots, int R, int T>
void fast_rows(const FastPart& part, int first, int apart, int row) {
  using Layout = Run<Dots>;
  constexpr int kRunWeights = kRunLines * kLineBytes;
  const int row_bytes = Dots::kNibbles ? (part.cols + 1) / 2 : part.cols;
  const int runs = (row_bytes + kRunWeights - 1) / kRunWeights, full = row_bytes / kRunWeights;
  const std::int64_t x_stride = static_cast<std::int64_t>(runs) * Layout::kBytes;
  const std::uint8_t* x = part.x + row * x_stride;
  const typename Dots::Table table = Dots::table(part.numbers);
  alignas(64) float scales[R][kScaleRuns][16];
  alignas(64) std::uint8_t last[R][kRunWeights];
  const std::uint8_t* w[R];
  f32x16 sum[R][T];
  unrolled<R>([&](auto r) SLUICE_INLINED {
    w[r] = part.weights + (first + r * apart) * part.weight_stride;
    unrolled<T>([&](auto t) SLUICE_INLINED { sum[r][t] = zero(); });
  });
  for (int run = 0; run < runs; ++run, x += Layout::kBytes) {
    if (run % kScaleRuns == 0)
      for (int r = 0; r < R; ++r)
        widen_scales(part, first + r * apart, run, runs - run < kScaleRuns ? runs - run : kScaleRuns, scales[r][0]);
    if (run >= full)
      for (int r = 0; r < R; ++r) {
        __builtin_memset(last[r], 0, kRunWeights);
        __builtin_memcpy(last[r], w[r], static_cast<std::uint64_t>(row_bytes - full * kRunWeights));
        w[r] = last[r];
      }
    add_run<Dots, R, T>(w, scales, run % kScaleRuns, table, x, x_stride, sum);
    for (int r = 0; r < R; ++r) w[r] += kRunWeights;
  }
  unrolled<R>([&](auto r) SLUICE_INLINED {
    unrolled<T>([&](auto t)
                    SLUICE_INLINED { part.y[(row + t) * part.y_stride + first + r * apart] = fold(sum[r][t]); });
  });
}

// All rows of the part, spread as in matmul.inl, by T vectors.
template <class Dots, int T>
void fast_pass(const FastPart& part, int row) {
  constexpr int R = fast_streams(T);
  int out = 0;
  for (int most; (most = (part.outs - out) / R) > 0;) {
    const int length = R == 1 ? most : most - 1 + most % 2;
    for (int i = 0; i < length; ++i) fast_rows<Dots, R, T>(part, out + i, length, row);
    out += R * length;
  }
  for (; out < part.outs; ++out) fast_rows<Dots, 1, T>(part, out, 1, row);
}

template <class Dots>
void fast_as(const FastPart& part) {
  int row = 0;
  if constexpr (kFastVectors == 4)
    for (; row + 4 <= part.x_rows; row += 4) fast_pass<Dots, 4>(part, row);
  for (; row + 2 <= part.x_rows; row += 2) fast_pass<Dots, 2>(part, row);
  if (row < part.x_rows) fast_pass<Dots, 1>(part, row);
}

void matmul_fast(const FastPart& part) {
  part.numbers != nullptr ? fast_as<NibbleDots>(part) : fast_as<ByteDots>(part);
}

int streams_fast(int x_rows) { return fast_streams(x_rows < kFastVectors ? x_rows : kFastVectors); }

}  // namespace
}  // namespace sluice::SLUICE_ISA
