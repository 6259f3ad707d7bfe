// exp, sigmoid, tanh and everything that works along a vector, on f32x16.
//
// The functions repeat exact_functions.cpp operation by operation. Tails are computed in whole registers and stored in
// part. Order of every operation: docs/numerics.md.

namespace sluice::SLUICE_ISA {
namespace {

using namespace exact_constants;

inline f32x16 exp(f32x16 x) {
  const f32x16 clamped = min(set1(kExpHighest), max(set1(kExpLowest), x));  // NaN passes
  const f32x16 magic = set1(kRoundMagic);
  const f32x16 n = sub(fma(clamped, set1(kLog2E), magic), magic);
  const f32x16 high = fma(n, set1(kMinusLn2High), clamped);
  const f32x16 r = fma(n, set1(kMinusLn2Low), high);
  const f32x16 r_rest = fma(n, set1(kMinusLn2Low), sub(high, r));
  f32x16 q = fma(set1(kExp7), r, set1(kExp6));
  q = fma(q, r, set1(kExp5));
  q = fma(q, r, set1(kExp4));
  q = fma(q, r, set1(kExp3));
  q = fma(q, r, set1(kExp2));
  const f32x16 tail = fma(mul(r, r), q, r_rest);
  const f32x16 sum = add(set1(1.f), r);
  const f32x16 p = add(sum, add(sub(r, sub(sum, set1(1.f))), tail));
  return scale_by_power(p, n);
}

inline f32x16 sigmoid(f32x16 x) {
  const f32x16 one = set1(1.f);
  const f32x16 e = exp(if_less(x, zero(), x, negate(x)));
  const f32x16 above = if_less(x, zero(), e, one);
  const f32x16 below = add(one, e);
  const f32x16 below_rest = sub(e, sub(below, one));
  const f32x16 q = div(above, below);
  const f32x16 rest = fma(negate(q), below_rest, fma(negate(q), below, above));
  return add(q, div(rest, below));
}

inline f32x16 tanh(f32x16 x) {
  const f32x16 size = magnitude(x), one = set1(1.f);
  const f32x16 z = mul(size, size);
  f32x16 q = fma(set1(kTanh13), z, set1(kTanh11));
  q = fma(q, z, set1(kTanh9));
  q = fma(q, z, set1(kTanh7));
  q = fma(q, z, set1(kTanh5));
  q = fma(q, z, set1(kTanh3));
  const f32x16 small = fma(mul(size, z), q, size);
  const f32x16 large = sub(one, div(set1(2.f), add(exp(add(size, size)), one)));
  return with_sign_of(x, if_less(size, set1(kTanhSmall), small, large));
}

// log(1 + exp(x)) = max(x, 0) + 2 atanh(s), s = e / (2 + e), e = exp(-|x|), the series of atanh up to s^17.
inline f32x16 softplus(f32x16 x) {
  const f32x16 e = exp(if_less(x, zero(), x, negate(x)));
  const f32x16 s = div(e, add(set1(2.f), e)), z = mul(s, s);
  f32x16 q = fma(set1(kAtanh17), z, set1(kAtanh15));
  q = fma(q, z, set1(kAtanh13));
  q = fma(q, z, set1(kAtanh11));
  q = fma(q, z, set1(kAtanh9));
  q = fma(q, z, set1(kAtanh7));
  q = fma(q, z, set1(kAtanh5));
  q = fma(q, z, set1(kAtanh3));
  const f32x16 half = fma(mul(s, z), q, s);
  return add(if_less(x, zero(), zero(), x), add(half, half));
}

// y[i] = function(lanes of each input) for i in [0, count): whole registers, then a part of one.
template <class Function, class... Inputs>
inline void along(int count, float* y, Function function, const Inputs*... inputs) {
  int i = 0;
  for (; i + 16 <= count; i += 16) store(y + i, function(load(inputs + i)...));
  if (i < count) store_part(y + i, function(load_part(inputs + i, count - i)...), count - i);
}

// Sixteen numbers, or as many as are left.
inline f32x16 load_up_to(const float* p, int left) { return left < 16 ? load_part(p, left) : load(p); }
inline void store_up_to(float* p, f32x16 v, int left) {
  if (left < 16) {
    store_part(p, v, left);
  } else {
    store(p, v);
  }
}

// Lane rule: element k on lane k mod 16, blocks of 32, the last padded with zeros.
inline float dot(const float* a, const float* b, int count) {
  f32x16 sum = zero();
  int k = 0;
  for (; k + 32 <= count; k += 32) {
    sum = fma(load(a + k), load(b + k), sum);
    sum = fma(load(a + k + 16), load(b + k + 16), sum);
  }
  if (k < count) {
    const int first = count - k < 16 ? count - k : 16, second = count - k - first;
    sum = fma(load_part(a + k, first), load_part(b + k, first), sum);
    sum =
        second > 0 ? fma(load_part(a + k + 16, second), load_part(b + k + 16, second), sum) : fma(zero(), zero(), sum);
  }
  return fold(sum);
}

// 1 / sqrt(x), both as IEEE rounds them.
inline float inverse_root(float x) { return 1.f / first(sqrt(set1(x))); }

void rms_norm(const float* x, const float* gain, int count, float eps, float* y) {
  const float r = inverse_root(dot(x, x, count) / static_cast<float>(count) + eps);
  along(
      count, y, [=](f32x16 value, f32x16 weight) { return mul(mul(value, set1(r)), weight); }, x, gain);
}

float inverse_rms(const float* x, int count, float eps) {
  return inverse_root(dot(x, x, count) / static_cast<float>(count) + eps);
}

// Lane rule, as a dot with ones.
inline float total(const float* x, int count) {
  f32x16 sum = zero();
  for (int k = 0; k < count; k += 32) {
    sum = add(load_up_to(x + k, count - k), sum);
    sum = add(count - k > 16 ? load_up_to(x + k + 16, count - k - 16) : zero(), sum);
  }
  return fold(sum);
}

void layer_norm(const float* x, const float* gain, const float* bias, int count, float eps, float* y) {
  const float n = static_cast<float>(count), mean = total(x, count) / n;
  along(
      count, y, [=](f32x16 value) { return sub(value, set1(mean)); }, x);
  const float r = inverse_root(dot(y, y, count) / n + eps);
  along(
      count, y, [=](f32x16 value, f32x16 weight, f32x16 b) { return fma(mul(value, set1(r)), weight, b); }, y, gain,
      bias);
}

void l2_norm(float* x, int count, float eps, float scale) {
  const float r = inverse_root(dot(x, x, count) + eps);
  along(
      count, x,
      [=](f32x16 value) {
        const f32x16 unit = mul(value, set1(r));
        return scale != 1.f ? mul(unit, set1(scale)) : unit;
      },
      x);
}

void add_to(const float* x, int count, float* y) {
  along(
      count, y, [](f32x16 sum, f32x16 value) { return add(sum, value); }, y, x);
}

void sigmoid_of(const float* x, int count, float* y) {
  along(
      count, y, [](f32x16 value) { return sigmoid(value); }, x);
}

void gate_sigmoid(const float* gate, int count, float* y) {
  along(
      count, y, [](f32x16 value, f32x16 by) { return mul(value, sigmoid(by)); }, y, gate);
}

void situ(const float* gate, const float* up, int count, float b1, float b2, float* y) {
  along(
      count, y,
      [=](f32x16 g, f32x16 u) {
        const f32x16 limit = set1(b1), linear_limit = set1(b2);
        return mul(mul(mul(limit, tanh(div(g, limit))), sigmoid(g)), mul(linear_limit, tanh(div(u, linear_limit))));
      },
      gate, up);
}

void swiglu(const float* gate, const float* up, int count, float* y) {
  along(
      count, y, [](f32x16 g, f32x16 u) { return mul(mul(g, sigmoid(g)), u); }, gate, up);
}

void clamped_swiglu(const float* gate, const float* up, int count, float limit, float* y) {
  along(
      count, y,
      [=](f32x16 g, f32x16 u) {
        g = min(set1(limit), g);
        return mul(mul(g, sigmoid(g)), min(set1(limit), max(set1(-limit), u)));
      },
      gate, up);
}

void sqrt_softplus(const float* x, int count, float* y) {
  along(
      count, y, [](f32x16 value) { return sqrt(softplus(value)); }, x);
}

void clamp(float* x, int count, float limit) {
  along(
      count, x, [=](f32x16 value) { return min(set1(limit), max(set1(-limit), value)); }, x);  // NaN passes
}

// a' = fma(a, cos, -(b · sin)); b' = fma(a, sin, b · cos).
inline void rotate(f32x16& a, f32x16& b, f32x16 cos, f32x16 sin) {
  const f32x16 turned = fma(a, cos, negate(mul(b, sin)));
  b = fma(a, sin, mul(b, cos));
  a = turned;
}

void rope(float* a, float* b, const float* cos, const float* sin, int pairs) {
  for (int j = 0; j < pairs; j += 16) {
    const int left = pairs - j;
    const f32x16 c = load_up_to(cos + j, left), s = load_up_to(sin + j, left);
    if (b != nullptr) {
      f32x16 first = load_up_to(a + j, left), second = load_up_to(b + j, left);
      rotate(first, second, c, s);
      store_up_to(a + j, first, left);
      store_up_to(b + j, second, left);
      continue;
    }
    float room[32] = {};
    float* const at = left < 16 ? room : a + 2 * j;
    if (left < 16) __builtin_memcpy(room, a + 2 * j, 8 * static_cast<unsigned>(left));
    f32x16 even, odd;
    split(at, even, odd);
    rotate(even, odd, c, s);
    join(at, even, odd);
    if (left < 16) __builtin_memcpy(a + 2 * j, room, 8 * static_cast<unsigned>(left));
  }
}

void weighted_sum(const float* values, std::int64_t stride, const float* weights, int n, int count, float* y) {
  for (int i = 0; i < count; i += 16) {
    f32x16 sum = zero();
    for (int k = 0; k < n; ++k) sum = fma(set1(weights[k]), load_up_to(values + k * stride + i, count - i), sum);
    store_up_to(y + i, sum, count - i);
  }
}

// e_i = exp(s_i - m), then p_i = e_i / z, in place.
void softmax(float* s, int n) {
  float largest = s[0];
  for (int i = 1; i < n; ++i) largest = s[i] > largest ? s[i] : largest;
  along(
      n, s, [=](f32x16 score) { return exp(sub(score, set1(largest))); }, s);
  float sum = 0;
  for (int i = 0; i < n; ++i) sum = sum + s[i];
  for (int i = 0; i < n; ++i) s[i] = s[i] / sum;
}

void attention_residual(const float* const* sources, int n, const float* f, int count, float eps, float* y, float* p) {
  for (int j = 0; j < n; ++j) {
    const float square = dot(sources[j], sources[j], count);
    p[j] = dot(sources[j], f, count) * (inverse_root(square / static_cast<float>(count) + eps));
  }
  softmax(p, n);
  for (int i = 0; i < count; i += 16) {
    f32x16 sum = zero();
    for (int j = 0; j < n; ++j) sum = fma(set1(p[j]), load_up_to(sources[j] + i, count - i), sum);
    store_up_to(y + i, sum, count - i);
  }
}

void pool(const float* const* values, const float* const* gates, int slots, int first, int count, float* y) {
  for (int i = 0; i < count; i += 16) {
    const int left = count - i;
    const auto gate = [=](int s) { return load_up_to(gates[s] + first + i, left); };
    f32x16 largest = gate(0), total = zero(), sum = zero();
    for (int s = 1; s < slots; ++s) largest = max(gate(s), largest);
    for (int s = 0; s < slots; ++s) total = add(total, exp(sub(gate(s), largest)));
    for (int s = 0; s < slots; ++s)
      sum = fma(div(exp(sub(gate(s), largest)), total), load_up_to(values[s] + first + i, left), sum);
    store_up_to(y + i, sum, left);
  }
}

void kda_decay(const float* z, const float* dt_bias, int count, float a_log, float bound, float* alpha) {
  const f32x16 rate = exp(set1(a_log));
  along(
      count, alpha,
      [=](f32x16 value, f32x16 bias) { return exp(mul(set1(bound), sigmoid(mul(rate, add(value, bias))))); }, z,
      dt_bias);
}

}  // namespace
}  // namespace sluice::SLUICE_ISA
