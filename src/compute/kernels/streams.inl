// Residual streams (DeepSeek-V4, 3.2): the weights of a row and their mixing, on f32x16.
//
// Four streams, as released, have a matrix of one register: its rows and its columns are summed and divided at once.
// Order of every operation: docs/numerics.md.

namespace sluice::SLUICE_ISA {
namespace {

// Four numbers of each four lanes, and of each column of fours, combined in rising index.
template <class Combine>
inline f32x16 over_rows(f32x16 c, Combine combine) {
  return combine(of_each_four<3>(c), combine(of_each_four<2>(c), combine(of_each_four<1>(c), of_each_four<0>(c))));
}
template <class Combine>
inline f32x16 over_columns(f32x16 c, Combine combine) {
  return combine(four_times<3>(c), combine(four_times<2>(c), combine(four_times<1>(c), four_times<0>(c))));
}

// Sums begin with their first number: +0 before it could be seen only in a sum of -0, and 0 / 0 is NaN whatever signs.
inline f32x16 sinkhorn_of_four(f32x16 c, int iterations, float eps) {
  const auto plus = [](f32x16 value, f32x16 sum) { return add(sum, value); };
  const auto larger = [](f32x16 value, f32x16 largest) { return max(value, largest); };
  const f32x16 rest = set1(eps);
  c = exp(sub(c, over_rows(c, larger)));
  c = add(div(c, over_rows(c, plus)), rest);
  c = div(c, add(over_columns(c, plus), rest));
  for (int iteration = 1; iteration < iterations; ++iteration) {
    c = div(c, add(over_rows(c, plus), rest));
    c = div(c, add(over_columns(c, plus), rest));
  }
  return c;
}

// Every number of n, `step` apart, divided by their sum + eps.
inline void divide_by_sum(float* numbers_from, int n, int step, float eps) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum = sum + numbers_from[i * step];
  sum = sum + eps;
  for (int i = 0; i < n; ++i) numbers_from[i * step] = numbers_from[i * step] / sum;
}

void sinkhorn(float* c, int n, int iterations, float eps) {
  if (n == 4) return store(c, sinkhorn_of_four(load(c), iterations, eps));
  for (int j = 0; j < n; ++j) softmax(c + j * n, n);
  for (int i = 0; i < n * n; ++i) c[i] = c[i] + eps;
  for (int k = 0; k < n; ++k) divide_by_sum(c + k, n, n, eps);
  for (int iteration = 1; iteration < iterations; ++iteration) {
    for (int j = 0; j < n; ++j) divide_by_sum(c + j * n, n, 1, eps);
    for (int k = 0; k < n; ++k) divide_by_sum(c + k, n, n, eps);
  }
}

void stream_weights(const StreamPart& part) {
  const int n = part.streams;
  const float eps = part.eps;
  const auto mixed = [&](int first, int count, int kind, float* y, auto function) {
    const f32x16 inverse = set1(part.inverse_rms), scale = set1(part.scale[kind]);
    along(
        count, y, [=](f32x16 mix, f32x16 base) { return function(add(mul(mul(mix, inverse), scale), base)); },
        part.mixes + first, part.base + first);
  };
  mixed(0, n, 0, part.pre, [=](f32x16 value) { return add(sigmoid(value), set1(eps)); });
  if (part.weights == nullptr) return;
  mixed(n, n, 1, part.weights, [](f32x16 value) { return mul(set1(2.f), sigmoid(value)); });
  mixed(2 * n, n * n, 2, part.weights + n, [](f32x16 value) { return value; });
  sinkhorn(part.weights + n, n, part.iterations, eps);
}

void mix_streams(const float* output, const float* weights, int streams, std::int64_t width, int count, float* x) {
  for (int i = 0; i < count; i += 16) {
    const int left = count - i;
    const f32x16 out = load_up_to(output + i, left);
    f32x16 before[kKernelStreams];
    for (int j = 0; j < streams; ++j) before[j] = load_up_to(x + j * width + i, left);
    for (int k = 0; k < streams; ++k) {
      f32x16 sum = mul(set1(weights[k]), out);
      for (int j = 0; j < streams; ++j) sum = fma(set1(weights[streams + j * streams + k]), before[j], sum);
      store_up_to(x + k * width + i, sum, left);
    }
  }
}

}  // namespace
}  // namespace sluice::SLUICE_ISA
