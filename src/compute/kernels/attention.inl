// Softmax attention of some heads of one query vector over keys and values that they share, on f32x16.
//
// Blocks of 64 positions outermost, so that a block of keys is fetched once for all heads of the part; the running sum
// of a head lives in its output. Order of every operation: docs/numerics.md.

namespace sluice::SLUICE_ISA {
namespace {

constexpr int kPositions = 64;                            // of a block, and of a page
constexpr int kValueColumns = kPieceLanes == 16 ? 4 : 2;  // f32x16 of values met by one pass over a block

struct Running {
  float m[kMostHeads], l[kMostHeads];  // of each head: maximum, sum of weights
};

// scores[s] = dot(query, key s) · scale (lane rule), then exp(score - maximum) in their place.
inline void weigh(const AttentionPart& part, const float* query, const float* keys, int count, float* scores, float& m,
                  float& l) {
  for (int s = 0; s < count; ++s) {
    scores[s] = dot(query, keys + s * part.row, part.width) * part.scale;
    m = s == 0 || scores[s] > m ? scores[s] : m;
  }
  const float largest = m;
  along(
      count, scores, [=](f32x16 score) { return exp(sub(score, set1(largest))); }, scores);
  l = 0;
  for (int s = 0; s < count; ++s) l = l + scores[s];
}

// One number by the vector functions: the same bits as a lane.
inline float exp_of(float x) { return first(exp(set1(x))); }
inline float fma_of(float a, float b, float c) { return first(fma(set1(a), set1(b), set1(c))); }

// a[c] = chain over s of weights[s] · values[s][c], merged into the running a: fma(a_b, g, a · f), or put there.
inline void sum_values(const AttentionPart& part, const float* weights, const float* values, int count, bool first,
                       float f, float g, float* a) {
  const std::int64_t row = part.row;
  const auto columns = [=](auto get, auto put, int c) {
    f32x16 sum = zero();
    for (int s = 0; s < count; ++s) sum = fma(set1(weights[s]), get(values + s * row + c), sum);
    put(a + c, first ? sum : fma(sum, set1(g), mul(get(a + c), set1(f))));
  };
  int c = 0;
  for (; c + 16 <= part.value_width; c += 16)
    columns([](const float* p) { return load(p); }, [](float* p, f32x16 v) { store(p, v); }, c);
  const int left = part.value_width - c;
  if (left > 0)
    columns([=](const float* p) { return load_part(p, left); }, [=](float* p, f32x16 v) { store_part(p, v, left); }, c);
}

void attention(const AttentionPart& part) {
  Running running;
  for (int begin = 0; begin < part.positions; begin += kPositions) {
    const float* const page = part.pages[begin / kPositions];
    const int count = part.positions - begin < kPositions ? part.positions - begin : kPositions;
    for (int head = 0; head < part.heads; ++head) {
      alignas(64) float weights[kPositions];
      float m = 0, l = 0, f = 0, g = 0;
      weigh(part, part.query + static_cast<std::int64_t>(head) * part.width, page + part.key, count, weights, m, l);
      const bool first = begin == 0;
      if (first) {
        running.m[head] = m;
        running.l[head] = l;
      } else {
        const float largest = running.m[head] > m ? running.m[head] : m;
        f = exp_of(running.m[head] - largest);
        g = exp_of(m - largest);
        running.m[head] = largest;
        running.l[head] = fma_of(l, g, running.l[head] * f);
      }
      sum_values(part, weights, page + part.value, count, first, f, g,
                 part.out + static_cast<std::int64_t>(head) * part.value_width);
    }
  }
  for (int head = 0; head < part.heads; ++head) {
    float* const out = part.out + static_cast<std::int64_t>(head) * part.value_width;
    const float l = running.l[head];
    along(
        part.value_width, out, [=](f32x16 a) { return div(a, set1(l)); }, out);
  }
}

}  // namespace
}  // namespace sluice::SLUICE_ISA
