// See reference.h. Each comment names the rule of docs/numerics.md that the lines below it spell out.
#include "compute/reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "base/numbers.h"
#include "compute/exact_functions.h"
#include "formats/format.h"

namespace sluice {

namespace {

constexpr std::size_t kLanes = 16, kBlock = 32;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// Lanes 16 -> 8 -> 4 -> 2 -> 1, each time the upper half added to the lower.
float fold(std::array<float, kLanes> lanes) {
  for (std::size_t half = kLanes / 2; half > 0; half /= 2)
    for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] = lanes[lane] + lanes[lane + half];
  return lanes[0];
}

// "Sums", 1: sixteen chains over blocks of 32 (the last padded with zeros), then the fold 16 -> 8 -> 4 -> 2 -> 1.
// element(block offset, lane, step): which of the block's 32 numbers `lane` takes first (step 0) and second.
template <class Element>
float dot(std::span<const float> a, std::span<const float> b, Element element) {
  std::array<float, kLanes> lanes{};
  for (std::size_t block = 0; block < a.size(); block += kBlock)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      for (std::size_t step = 0; step < 2; ++step) {
        const std::size_t k = block + element(lane, step);
        lanes[lane] = k < a.size() ? fma(a[k], b[k], lanes[lane]) : fma(0.f, 0.f, lanes[lane]);
      }
  return fold(lanes);
}
float matmul_dot(std::span<const float> w, std::span<const float> x) {  // lane = floor(k / 2) mod 16
  return dot(w, x, [](std::size_t lane, std::size_t step) { return 2 * lane + step; });
}
float lane_dot(std::span<const float> a, std::span<const float> b) {  // lane = k mod 16
  return dot(a, b, [](std::size_t lane, std::size_t step) { return lane + kLanes * step; });
}

// maximum; e_i = exp(s_i - m); z = plain adds in rising i; p_i = e_i / z.
void softmax_of(std::span<float> scores) {
  float largest = scores[0];
  for (float score : scores) largest = score > largest ? score : largest;
  float sum = 0;
  for (float& score : scores) sum = sum + (score = exact_exp(score - largest));
  for (float& score : scores) score = score / sum;
}

// "Fast": a vector or a row of weights as whole numbers, with one scale for each group of 32.
struct Whole {
  std::vector<int> numbers;   // padded with zeros to whole groups
  std::vector<float> scales;  // of the groups
  explicit Whole(std::size_t count)
      : numbers((count + kBlock - 1) / kBlock * kBlock), scales((count + kBlock - 1) / kBlock) {}
};

// scale = largest magnitude / 127; number = x / scale to the nearest integer, ties to even. A scale below the normal
// numbers counts as 0, that of a group with infinities or NaN is NaN; all numbers are 0 then.
Whole whole_vector(std::span<const float> x) {
  Whole made(x.size());
  for (std::size_t group = 0; group < made.scales.size(); ++group) {
    const std::span<const float> run = x.subspan(group * kBlock, std::min(kBlock, x.size() - group * kBlock));
    float largest = 0;
    bool finite = true;
    for (float value : run) {
      finite = finite && std::isfinite(value);
      largest = std::max(largest, std::fabs(value));
    }
    const float scale = finite ? largest / 127.f : std::numeric_limits<float>::quiet_NaN();
    made.scales[group] = scale < std::numeric_limits<float>::min() ? 0.f : scale;
    if (made.scales[group] > 0)
      for (std::size_t i = 0; i < run.size(); ++i)
        made.numbers[group * kBlock + i] = static_cast<int>(std::nearbyint(run[i] / scale));
  }
  return made;
}

Whole whole_weights(const WeightView& w, int row, const FastFormat& as) {
  const Format& stored = format(w.format);
  const std::byte* const weights = w.weights + at(row) * stored.row_weight_bytes(w.shape.cols);
  const std::byte* const scales = w.scales + at(row) * stored.scale_row_bytes(w.shape.cols);
  Whole made(at(w.shape.cols));
  for (std::size_t col = 0; col < at(w.shape.cols); ++col) {
    const auto byte = std::to_integer<unsigned>(weights[as.nibbles ? col / 2 : col]);
    made.numbers[col] = as.nibbles ? as.numbers[col % 2 == 0 ? byte & 15u : byte >> 4] : static_cast<std::int8_t>(byte);
  }
  for (std::size_t group = 0; group < made.scales.size(); ++group) {
    const std::size_t scale = as.scale_cols == 0 ? 0 : group * kBlock / at(as.scale_cols);
    made.scales[group] =
        as.e8m0 ? std::ldexp(1.f, std::to_integer<int>(scales[scale]) - 128) : load_f32(scales + 4 * scale);
  }
  return made;
}

// Sixteen chains in turn take eight columns each, or four where a number has a byte: their exact dot product times the
// product of both scales. Then the fold.
float fast_dot(const Whole& w, const Whole& x, bool nibbles) {
  const std::size_t together = nibbles ? 8 : 4;
  std::array<float, kLanes> lanes{};
  for (std::size_t first = 0; first < w.numbers.size(); first += together) {
    int sum = 0;
    for (std::size_t k = first; k < first + together; ++k) sum += w.numbers[k] * x.numbers[k];
    float& lane = lanes[first / together % kLanes];
    lane = fma(static_cast<float>(sum), w.scales[first / kBlock] * x.scales[first / kBlock], lane);
  }
  return fold(lanes);
}

void matmul_fast(const Product& product, const FastFormat& as) {
  std::vector<Whole> vectors;
  for (int row = 0; row < product.x.rows; ++row) vectors.push_back(whole_vector(product.x[row]));
  for (int out = 0; out < product.w.shape.rows; ++out) {
    const Whole w = whole_weights(product.w, out, as);
    for (int row = 0; row < product.x.rows; ++row) product.y[row][at(out)] = fast_dot(w, vectors[at(row)], as.nibbles);
  }
}

}  // namespace

void ReferenceOps::matmul(std::span<const Product> products) {
  for (const Product& product : products) {
    SLUICE_DCHECK(product.x.width == product.w.shape.cols && product.y.width == product.w.shape.rows);
    if (const FastFormat* const as = fast_format(product.w.format); as != nullptr && numerics_ == Numerics::fast) {
      matmul_fast(product, *as);
      continue;
    }
    std::vector<float> decoded(at(product.w.shape.cols));
    for (int out = 0; out < product.w.shape.rows; ++out) {
      format(product.w.format).decode_row(product.w, out, decoded);
      for (int row = 0; row < product.x.rows; ++row) product.y[row][at(out)] = matmul_dot(decoded, product.x[row]);
    }
  }
}

void ReferenceOps::matmul_transposed(std::span<const Product> products) {
  for (const Product& product : products) {
    SLUICE_DCHECK(product.x.width == product.w.shape.rows && product.y.width == product.w.shape.cols);
    std::vector<float> decoded(at(product.w.shape.cols));
    for (int row = 0; row < product.y.rows; ++row)
      for (float& y : product.y[row]) y = 0;
    for (int i = 0; i < product.w.shape.rows; ++i) {
      format(product.w.format).decode_row(product.w, i, decoded);
      for (int row = 0; row < product.x.rows; ++row)
        for (std::size_t j = 0; j < decoded.size(); ++j)
          product.y[row][j] = fma(decoded[j], product.x[row][at(i)], product.y[row][j]);
    }
  }
}

namespace {

// Of a stored vector.
std::vector<float> numbers_of(const WeightView& stored) {
  std::vector<float> numbers(at(stored.shape.cols));
  format(stored.format).decode_row(stored, 0, numbers);
  return numbers;
}

}  // namespace

// r = 1 / sqrt(dot(x, x) / n + eps); y = (x · r) · w.
void ReferenceOps::rms_norm(Rows x, const WeightView& gain, float eps, Rows y) {
  SLUICE_DCHECK(x.width % gain.shape.cols == 0);
  const std::vector<float> w = numbers_of(gain);
  for (int row = 0; row < x.rows; ++row)
    for (std::size_t first = 0; first < at(x.width); first += w.size()) {
      const std::span<const float> run = x[row].subspan(first, w.size());
      const float r = 1.f / std::sqrt(lane_dot(run, run) / static_cast<float>(w.size()) + eps);
      for (std::size_t i = 0; i < w.size(); ++i) y[row][first + i] = (run[i] * r) * w[i];
    }
}

void ReferenceOps::inverse_rms(Rows x, float eps, Rows y) {
  for (int row = 0; row < x.rows; ++row)
    y[row][0] = 1.f / std::sqrt(lane_dot(x[row], x[row]) / static_cast<float>(x.width) + eps);
}

// mean = lane-rule sum / n; d = x - mean; r = 1 / sqrt(dot(d, d) / n + eps); y = fma(d · r, w, b).
void ReferenceOps::layer_norm(Rows x, const WeightView& gain, const WeightView& bias, float eps, Rows y) {
  const std::vector<float> w = numbers_of(gain), b = numbers_of(bias), ones(w.size(), 1.f);
  const float n = static_cast<float>(w.size());
  std::vector<float> d(w.size());
  for (int row = 0; row < x.rows; ++row) {
    const float mean = lane_dot(x[row], ones) / n;
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = x[row][i] - mean;
    const float r = 1.f / std::sqrt(lane_dot(d, d) / n + eps);
    for (std::size_t i = 0; i < d.size(); ++i) y[row][i] = fma(d[i] * r, w[i], b[i]);
  }
}

void ReferenceOps::l2_norm(Rows x, int width, float eps, float scale) {
  SLUICE_DCHECK(x.width % width == 0);
  for (int row = 0; row < x.rows; ++row)
    for (int first = 0; first < x.width; first += width) {
      const std::span<float> run = x[row].subspan(at(first), at(width));
      const float r = 1.f / std::sqrt(lane_dot(run, run) + eps);
      for (float& value : run) {
        value = value * r;
        if (scale != 1.f) value = value * scale;
      }
    }
}

void ReferenceOps::add(Rows x, Rows y) {
  for (int row = 0; row < y.rows; ++row)
    for (std::size_t i = 0; i < at(y.width); ++i) y[row][i] = y[row][i] + x[row][i];
}

void ReferenceOps::sigmoid(Rows x, Rows y) {
  for (int row = 0; row < y.rows; ++row)
    for (std::size_t i = 0; i < at(y.width); ++i) y[row][i] = exact_sigmoid(x[row][i]);
}

void ReferenceOps::gate_sigmoid(Rows gate, Rows y) {
  for (int row = 0; row < y.rows; ++row)
    for (std::size_t i = 0; i < at(y.width); ++i) y[row][i] = y[row][i] * exact_sigmoid(gate[row][i]);
}

void ReferenceOps::situ(Rows gate, Rows up, float b1, float b2, Rows y) {
  for (int row = 0; row < y.rows; ++row)
    for (std::size_t i = 0; i < at(y.width); ++i) {
      const float g = gate[row][i], u = up[row][i];
      y[row][i] = ((b1 * exact_tanh(g / b1)) * exact_sigmoid(g)) * (b2 * exact_tanh(u / b2));
    }
}

void ReferenceOps::swiglu(Rows gate, Rows up, Rows y) {
  for (int row = 0; row < y.rows; ++row)
    for (std::size_t i = 0; i < at(y.width); ++i) {
      const float g = gate[row][i];
      y[row][i] = (g * exact_sigmoid(g)) * up[row][i];
    }
}

void ReferenceOps::clamped_swiglu(Rows gate, Rows up, float limit, Rows y) {
  for (int row = 0; row < y.rows; ++row)
    for (std::size_t i = 0; i < at(y.width); ++i) {
      float g = gate[row][i], u = up[row][i];
      g = limit < g ? limit : g;
      u = -limit > u ? -limit : u;
      u = limit < u ? limit : u;
      y[row][i] = (g * exact_sigmoid(g)) * u;
    }
}

void ReferenceOps::sqrt_softplus(Rows x, Rows y) {
  for (int row = 0; row < y.rows; ++row)
    for (std::size_t i = 0; i < at(y.width); ++i) y[row][i] = std::sqrt(exact_softplus(x[row][i]));
}

void ReferenceOps::clamp(Rows x, float limit) {
  for (int row = 0; row < x.rows; ++row)
    for (float& value : x[row]) {
      value = -limit > value ? -limit : value;
      value = limit < value ? limit : value;
    }
}

void ReferenceOps::softmax(Rows x) {
  for (int row = 0; row < x.rows; ++row) softmax_of(x[row]);
}

// a' = fma(a, cos, -(b · sin)); b' = fma(a, sin, b · cos).
void ReferenceOps::rope(const Rope& rope) {
  const std::size_t pairs = at(rope.cos.width);
  for (int row = 0; row < rope.x.rows; ++row)
    for (int head = 0; head < rope.x.width; head += rope.head_width) {
      const std::span<float> turned = rope.x[row].subspan(at(head + rope.first), 2 * pairs);
      for (std::size_t j = 0; j < pairs; ++j) {
        const bool interleaved = rope.layout == RopeLayout::interleaved;
        float &first = turned[interleaved ? 2 * j : j], &second = turned[interleaved ? 2 * j + 1 : j + pairs];
        const float a = first, b = second, cos = rope.cos[row][j], sin = rope.sin[row][j];
        first = fma(a, cos, -(b * sin));
        second = fma(a, sin, b * cos);
      }
    }
}

void ReferenceOps::weighted_sum(Rows outputs, std::span<const float> weights, int per_row, Rows y) {
  for (int row = 0; row < y.rows; ++row)
    for (std::size_t i = 0; i < at(y.width); ++i) {
      float sum = 0;
      for (int k = row * per_row; k < (row + 1) * per_row; ++k) sum = fma(weights[at(k)], outputs[k][i], sum);
      y[row][i] = sum;
    }
}

void ReferenceOps::attention_residual(std::span<const Rows> sources, const WeightView& gain,
                                      const WeightView& projection, float eps, Rows y, Rows weights) {
  std::vector<float> p(sources.size()), f = numbers_of(gain);
  const std::vector<float> projected = numbers_of(projection);
  for (std::size_t i = 0; i < f.size(); ++i) f[i] = f[i] * projected[i];
  for (int row = 0; row < y.rows; ++row) {
    for (std::size_t j = 0; j < sources.size(); ++j) {
      const std::span<const float> v = sources[j][row];
      p[j] = lane_dot(v, f) * (1.f / std::sqrt(lane_dot(v, v) / static_cast<float>(y.width) + eps));
    }
    softmax_of(p);
    for (std::size_t i = 0; i < at(y.width); ++i) {
      float sum = 0;
      for (std::size_t j = 0; j < sources.size(); ++j) sum = fma(p[j], sources[j][row][i], sum);
      y[row][i] = sum;
    }
    if (weights.data != nullptr)
      for (std::size_t j = 0; j < sources.size(); ++j) weights[row][j] = p[j];
  }
}

namespace {

// Every number of n, `step` apart, over (their plain sum from +0, + eps).
void divide_by_sum(float* first, std::size_t n, std::size_t step, float eps) {
  float sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum = sum + first[i * step];
  sum = sum + eps;
  for (std::size_t i = 0; i < n; ++i) first[i * step] = first[i * step] / sum;
}

// Softmax of each row, + eps; then columns, and rows and columns in turn.
void sinkhorn(std::span<float> c, std::size_t n, int iterations, float eps) {
  for (std::size_t j = 0; j < n; ++j) softmax_of(c.subspan(j * n, n));
  for (float& value : c) value = value + eps;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    for (std::size_t j = 0; iteration > 0 && j < n; ++j) divide_by_sum(&c[j * n], n, 1, eps);
    for (std::size_t k = 0; k < n; ++k) divide_by_sum(&c[k], n, n, eps);
  }
}

}  // namespace

// m · r, then m · scale + base, all plain; σ(..) + eps, 2 · σ(..), Sinkhorn.
void ReferenceOps::stream_weights(const StreamWeights& streams) {
  const std::size_t n = at(streams.streams);
  for (int row = 0; row < streams.mixes.rows; ++row) {
    const auto mixed = [&](std::size_t i, std::size_t kind) {
      const float mix = streams.mixes[row][i] * streams.inverse_rms[row][0];
      return mix * streams.scale[kind] + streams.base[i];
    };
    for (std::size_t i = 0; i < n; ++i) streams.pre[at(row) * n + i] = exact_sigmoid(mixed(i, 0)) + streams.eps;
    if (streams.weights.data == nullptr) continue;
    const std::span<float> post = streams.weights[row].first(n), c = streams.weights[row].subspan(n);
    for (std::size_t i = 0; i < n; ++i) post[i] = 2.f * exact_sigmoid(mixed(n + i, 1));
    for (std::size_t i = 0; i < n * n; ++i) c[i] = mixed(2 * n + i, 2);
    sinkhorn(c, n, streams.iterations, streams.eps);
  }
}

// x[k] = post[k] · output, then a chain of mix[j][k] · x[j] in rising j, all of the x before.
void ReferenceOps::mix_streams(Rows output, Rows weights, int streams, Rows x) {
  const std::size_t count = at(streams), width = at(output.width);
  std::vector<float> before(count);
  for (int row = 0; row < x.rows; ++row)
    for (std::size_t i = 0; i < width; ++i) {
      for (std::size_t j = 0; j < count; ++j) before[j] = x[row][j * width + i];
      for (std::size_t k = 0; k < count; ++k) {
        float sum = weights[row][k] * output[row][i];
        for (std::size_t j = 0; j < count; ++j) sum = fma(weights[row][count + j * count + k], before[j], sum);
        x[row][k * width + i] = sum;
      }
    }
}

// Softmax over the slots of a channel, then a chain in rising slot.
void ReferenceOps::pool(const ChannelPool& pool) {
  for (int window = 0; window < pool.y.rows; ++window) {
    const std::size_t first = at(pool.begin[at(window)]), last = at(pool.begin[at(window + 1)]);
    std::vector<float> p(last - first);
    for (std::size_t c = 0; c < at(pool.y.width); ++c) {
      for (std::size_t s = 0; s < p.size(); ++s) p[s] = pool.gates[first + s][c];
      softmax_of(p);
      float sum = 0;
      for (std::size_t s = 0; s < p.size(); ++s) sum = fma(p[s], pool.values[first + s][c], sum);
      pool.y[window][c] = sum;
    }
  }
}

// First tap a product, then fma, oldest to newest; then acc · sigmoid(acc).
void ReferenceOps::short_conv(Rows x, std::span<const float> taps, int kernel, std::span<float> history, Rows y) {
  const std::size_t channels = at(x.width), width = at(kernel), kept = width - 1;
  std::vector<float> inputs(width);  // of one channel, oldest first
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = 0; i < kept; ++i) inputs[i] = history[i * channels + c];
    for (int row = 0; row < x.rows; ++row) {
      inputs[kept] = x[row][c];
      float sum = taps[c * width] * inputs[0];
      for (std::size_t i = 1; i < width; ++i) sum = fma(taps[c * width + i], inputs[i], sum);
      y[row][c] = sum * exact_sigmoid(sum);
      for (std::size_t i = 0; i < kept; ++i) inputs[i] = inputs[i + 1];
    }
    for (std::size_t i = 0; i < kept; ++i) history[i * channels + c] = inputs[i];
  }
}

void ReferenceOps::kda_decay(Rows z, std::span<const float> a_log, std::span<const float> dt_bias, float bound, int dim,
                             Rows alpha) {
  for (int row = 0; row < z.rows; ++row)
    for (std::size_t i = 0; i < at(z.width); ++i) {
      const float rate = exact_exp(a_log[i / at(dim)]);
      alpha[row][i] = exact_exp(bound * exact_sigmoid(rate * (z[row][i] + dt_bias[i])));
    }
}

// S_ij = alpha_i S_ij; u_j = fma chain k_i S_ij; d_j = beta (v_j - u_j); S_ij = fma(k_i, d_j, S_ij); o_j = fma chain
// q_i S_ij; all in rising i.
void ReferenceOps::kda_recurrence(const KdaStep& step) {
  const std::size_t dim = at(step.dim);
  std::vector<float> u(dim), d(dim), o(dim);
  for (int row = 0; row < step.q.rows; ++row)
    for (std::size_t head = 0; head < at(step.heads); ++head) {
      const auto part = [&](Rows rows) { return rows[row].subspan(head * dim, dim); };
      const std::span<const float> q = part(step.q), k = part(step.k), v = part(step.v), alpha = part(step.alpha);
      float* const state = step.state + head * dim * dim;
      std::fill(u.begin(), u.end(), 0.f);
      std::fill(o.begin(), o.end(), 0.f);
      for (std::size_t i = 0; i < dim; ++i)
        for (std::size_t j = 0; j < dim; ++j) {
          state[i * dim + j] = alpha[i] * state[i * dim + j];
          u[j] = fma(k[i], state[i * dim + j], u[j]);
        }
      for (std::size_t j = 0; j < dim; ++j) d[j] = step.beta[row][head] * (v[j] - u[j]);
      for (std::size_t i = 0; i < dim; ++i)
        for (std::size_t j = 0; j < dim; ++j) {
          state[i * dim + j] = fma(k[i], d[j], state[i * dim + j]);
          o[j] = fma(q[i], state[i * dim + j], o[j]);
        }
      std::copy(o.begin(), o.end(), part(step.out).begin());
    }
}

namespace {

// One block of 64 positions or the running result: maximum, sum of weights, weighted sum of values.
struct SoftmaxPart {
  float m = 0, l = 0;
  std::vector<float> a;
};

// Where the keys and values that a head reads lie in the pages.
struct CacheView {
  std::span<const float* const> pages;
  std::size_t row = 0;             // floats of a position
  std::size_t key = 0, value = 0;  // where its key and its value begin
  std::size_t key_width = 0, value_width = 0;
  bool bf16_weights = false;  // see WindowAttention
};

// "attention, one block": positions `seen` of one page.
SoftmaxPart attend_block(std::span<const float> query, const CacheView& cache, std::span<const int> seen, float scale) {
  const float* const page = cache.pages[at(seen.front() / kAttentionBlock)];
  const auto row = [&](std::size_t s) { return page + at(seen[s] % kAttentionBlock) * cache.row; };
  SoftmaxPart part{0, 0, std::vector<float>(cache.value_width)};
  std::vector<float> scores(seen.size());
  for (std::size_t s = 0; s < scores.size(); ++s) {
    scores[s] = lane_dot(query, {row(s) + cache.key, cache.key_width}) * scale;
    part.m = s == 0 || scores[s] > part.m ? scores[s] : part.m;
  }
  for (std::size_t s = 0; s < scores.size(); ++s) {
    const float e = exact_exp(scores[s] - part.m);
    part.l = part.l + e;
    const float weight = cache.bf16_weights ? rounded_to_bf16(e) : e;
    for (std::size_t c = 0; c < part.a.size(); ++c) part.a[c] = fma(weight, row(s)[cache.value + c], part.a[c]);
  }
  return part;
}

// "attention, merging": m' = max; f, g = exp of what each side lacks; l = fma(l_b, g, l f); a = fma(a_b, g, a f).
void merge(SoftmaxPart& running, const SoftmaxPart& block) {
  const float m = running.m > block.m ? running.m : block.m;
  const float f = exact_exp(running.m - m), g = exact_exp(block.m - m);
  running.m = m;
  running.l = fma(block.l, g, running.l * f);
  for (std::size_t c = 0; c < running.a.size(); ++c) running.a[c] = fma(block.a[c], g, running.a[c] * f);
}

// What one head of one query vector makes of the positions `seen`, rising, after what it has of lists before.
void attend_list(std::span<const float> query, const CacheView& cache, std::span<const int> seen, float scale,
                 SoftmaxPart& running) {
  for (std::size_t first = 0, last = 0; first < seen.size(); first = last) {
    const int page = seen[first] / kAttentionBlock;
    while (last < seen.size() && seen[last] / kAttentionBlock == page) ++last;
    SoftmaxPart block = attend_block(query, cache, seen.subspan(first, last - first), scale);
    if (running.a.empty()) {
      running = std::move(block);
    } else {
      merge(running, block);
    }
  }
}

void attend(std::span<const float> query, const CacheView& cache, std::span<const int> seen, float scale,
            std::span<float> out) {
  SoftmaxPart running;
  attend_list(query, cache, seen, scale, running);
  for (std::size_t c = 0; c < out.size(); ++c) out[c] = running.a[c] / running.l;
}

// "sink": m' = max(m, sink); l = l · f + exp(sink - m'); a = a · f.
void add_sink(float sink, SoftmaxPart& running) {
  const float m = running.m > sink ? running.m : sink;
  const float f = exact_exp(running.m - m);
  running.l = running.l * f + exact_exp(sink - m);
  for (float& a : running.a) a = a * f;
}

std::vector<int> positions_up_to(int last) {
  std::vector<int> all(at(last + 1));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

void ReferenceOps::latent_attention(const LatentAttention& attention) {
  const std::size_t latent = at(attention.latent), width = latent + at(attention.rope);
  const CacheView cache{.pages = attention.pages, .row = width, .key_width = width, .value_width = latent};
  for (int row = 0; row < attention.query.rows; ++row) {
    std::vector<int> seen = positions_up_to(attention.first_position + row);
    if (!attention.chosen_begin.empty())
      seen.assign(attention.chosen.begin() + attention.chosen_begin[at(row)],
                  attention.chosen.begin() + attention.chosen_begin[at(row + 1)]);
    for (std::size_t head = 0; head < at(attention.heads); ++head)
      attend(attention.query[row].subspan(head * width, width), cache, seen, attention.scale,
             attention.out[row].subspan(head * latent, latent));
  }
}

void ReferenceOps::head_attention(const HeadAttention& attention) {
  const std::size_t dim = at(attention.dim), kv_width = at(attention.kv_heads) * dim;
  const std::size_t sharing = at(attention.heads / attention.kv_heads);
  for (int row = 0; row < attention.query.rows; ++row)
    for (std::size_t head = 0; head < at(attention.heads); ++head) {
      const std::size_t key = head / sharing * dim;
      const CacheView cache{attention.pages, 2 * kv_width, key, kv_width + key, dim, dim};
      attend(attention.query[row].subspan(head * dim, dim), cache, positions_up_to(attention.first_position + row),
             attention.scale, attention.out[row].subspan(head * dim, dim));
    }
}

// The window, then the entries, then the sink.
void ReferenceOps::window_attention(const WindowAttention& attention) {
  const std::size_t dim = at(attention.dim);
  const CacheView window{attention.pages, dim, 0, 0, dim, dim, attention.bf16_weights};
  const CacheView entries{attention.entry_pages, dim, 0, 0, dim, dim, attention.bf16_weights};
  for (int row = 0; row < attention.query.rows; ++row) {
    const std::vector<int> all = positions_up_to(attention.first_position + row);
    const std::size_t left_out = all.size() - std::min(all.size(), at(attention.window));
    std::vector<int> seen;
    if (attention.chosen_begin.empty()) {
      seen = positions_up_to(attention.entries[at(row)] - 1);
    } else {
      seen.assign(attention.chosen.begin() + attention.chosen_begin[at(row)],
                  attention.chosen.begin() + attention.chosen_begin[at(row + 1)]);
    }
    for (std::size_t head = 0; head < at(attention.heads); ++head) {
      const std::span<const float> query = attention.query[row].subspan(head * dim, dim);
      SoftmaxPart running;
      attend_list(query, window, std::span(all).subspan(left_out), attention.scale, running);
      attend_list(query, entries, seen, attention.scale, running);
      add_sink(attention.sinks[head], running);
      for (std::size_t c = 0; c < dim; ++c) attention.out[row][head * dim + c] = running.a[c] / running.l;
    }
  }
}

// relu of one dot per head, then an fma chain over the heads in rising order.
void ReferenceOps::index_scores(const IndexScores& scores) {
  const std::size_t dim = at(scores.dim);
  for (int row = 0; row < scores.query.rows; ++row)
    for (int s = 0; s < scores.out.width; ++s) {
      const float* const page = scores.pages[at(s / kAttentionBlock)];
      const std::span<const float> key{page + at(s % kAttentionBlock) * dim, dim};
      float sum = 0;
      for (std::size_t head = 0; head < at(scores.heads); ++head) {
        const float dot = lane_dot(scores.query[row].subspan(head * dim, dim), key), weight = scores.weights[row][head];
        const float score = scores.bf16 ? rounded_to_bf16(dot) : dot, positive = score > 0 ? score : 0;
        sum = scores.bf16 ? sum + rounded_to_bf16(weight * positive) : fma(weight, positive, sum);
      }
      scores.out[row][at(s)] = scores.bf16 ? rounded_to_bf16(sum) : sum;
    }
}

}  // namespace sluice
