// Steps that follow one another in token order: the KDA state and the short convolution, on f32x16.
//
// Columns are independent, so a group of them is carried through all rows before the next one: its part of the state
// stays in the nearest cache. Order of every operation: docs/numerics.md.

namespace sluice::SLUICE_ISA {
namespace {

// C f32x16 of columns from `column` on (the last one may be partial: `count` numbers in all), one row.
// The decayed state is not written in the first pass but formed again in the second: the same product, half the writes.
template <int C>
inline void kda_row(const KdaPart& part, int row, int column, int count) {
  const float *const q = part.q + row * part.q_stride, *const k = part.k + row * part.k_stride;
  const float *const alpha = part.alpha + row * part.alpha_stride, *const v = part.v + row * part.v_stride + column;
  float* const state = part.state + column;
  const auto get = [=](const float* from, int c) { return load_up_to(from + 16 * c, count - 16 * c); };
  const auto put = [=](float* to, int c, f32x16 value) { store_up_to(to + 16 * c, value, count - 16 * c); };
  f32x16 sum[C], correction[C];
  SLUICE_UNROLL
  for (int c = 0; c < C; ++c) sum[c] = zero();
  for (int i = 0; i < part.dim; ++i) {
    const f32x16 decay = set1(alpha[i]), key = set1(k[i]);
    SLUICE_UNROLL
    for (int c = 0; c < C; ++c)
      sum[c] = fma(key, mul(decay, get(state + static_cast<std::int64_t>(i) * part.dim, c)), sum[c]);
  }
  const f32x16 beta = set1(part.beta[row * part.beta_stride]);
  SLUICE_UNROLL
  for (int c = 0; c < C; ++c) {
    correction[c] = mul(beta, sub(get(v, c), sum[c]));
    sum[c] = zero();
  }
  for (int i = 0; i < part.dim; ++i) {
    const f32x16 decay = set1(alpha[i]), key = set1(k[i]), query = set1(q[i]);
    float* const at = state + static_cast<std::int64_t>(i) * part.dim;
    SLUICE_UNROLL
    for (int c = 0; c < C; ++c) {
      const f32x16 value = fma(key, correction[c], mul(decay, get(at, c)));
      put(at, c, value);
      sum[c] = fma(query, value, sum[c]);
    }
  }
  float* const out = part.out + row * part.out_stride + column;
  SLUICE_UNROLL
  for (int c = 0; c < C; ++c) put(out, c, sum[c]);
}

void kda(const KdaPart& part) {
  constexpr int kWide = 16 * kStateColumns;
  int column = part.first;
  const int end = part.first + part.count;
  for (; column + kWide <= end; column += kWide)
    for (int row = 0; row < part.rows; ++row) kda_row<kStateColumns>(part, row, column, kWide);
  for (; column < end; column += 16)
    for (int row = 0; row < part.rows; ++row) kda_row<1>(part, row, column, end - column < 16 ? end - column : 16);
}

// Sixteen channels (or `count` of them) from `channel` on through all rows. Input i of the channels, oldest first, is
// row i of the history and then of x.
inline void conv_channels(const ConvPart& part, int channel, int count) {
  constexpr int kKeptTaps = 8;  // in registers, if there are no more
  const int kept = part.kernel - 1;
  const auto load_tap = [&](int tap) {
    const float* const from = part.taps + static_cast<std::int64_t>(channel) * part.kernel + tap;
    if (count == 16) return load_strided(from, part.kernel);
    float lanes[16] = {};
    for (int c = 0; c < count; ++c) lanes[c] = from[c * part.kernel];
    return load(lanes);
  };
  const auto input = [&](int i) {
    const float* const from = i < kept ? part.history + i * part.history_stride : part.x + (i - kept) * part.x_stride;
    return load_up_to(from + channel, count);
  };
  f32x16 taps[kKeptTaps];
  for (int tap = 0; tap < part.kernel && tap < kKeptTaps; ++tap) taps[tap] = load_tap(tap);
  for (int row = 0; row < part.rows; ++row) {
    f32x16 sum = mul(taps[0], input(row));
    for (int tap = 1; tap <= kept; ++tap) sum = fma(tap < kKeptTaps ? taps[tap] : load_tap(tap), input(row + tap), sum);
    store_up_to(part.y + row * part.y_stride + channel, mul(sum, sigmoid(sum)), count);
  }
  for (int i = 0; i < kept; ++i)  // rising, so that history is read before it is overwritten
    store_up_to(part.history + i * part.history_stride + channel, input(part.rows + i), count);
}

void short_conv(const ConvPart& part) {
  for (int channel = 0; channel < part.channels; channel += 16)
    conv_channels(part, channel, part.channels - channel < 16 ? part.channels - channel : 16);
}

}  // namespace
}  // namespace sluice::SLUICE_ISA
