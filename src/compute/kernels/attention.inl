// Softmax attention of some heads of one query vector over keys and values that they share, and the scores that choose
// keys, on f32x16.
//
// Blocks of 64 positions outermost, so that a block of keys is fetched once for all heads of the part; the running sum
// of a head lives in its output. Where the keys of a block lie is a template parameter, so that attention to everything
// pays nothing for the sparse kind. Order of every operation: docs/numerics.md.

namespace sluice::SLUICE_ISA {
namespace {

constexpr int kPositions = 64;  // of a block, and of a page

struct Running {
  float m[kMostHeads], l[kMostHeads];  // of each head: maximum, sum of weights
};

// Position s of a block in floats from the beginning of its page: every one of them, or the chosen ones.
struct EveryPosition {
  std::int64_t row;
  std::int64_t operator()(int s) const { return s * row; }
};
struct ChosenPositions {
  const std::int64_t* offsets;
  std::int64_t operator()(int s) const { return offsets[s]; }
};

// The nearest bf16, ties to even; NaN becomes a quiet one.
inline float bf16_of(float x) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  bits = x == x ? bits + 0x7fffu + (bits >> 16 & 1u) : bits | 0x400000u;
  bits &= 0xffff0000u;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

// scores[s] = dot(query, key s) · scale (lane rule), then exp(score - maximum) in their place.
template <class Place>
inline void weigh(const AttentionPart& part, const float* query, const float* keys, Place place, int count,
                  float* scores, float& m, float& l) {
  for (int s = 0; s < count; ++s) {
    scores[s] = dot(query, keys + place(s), part.width) * part.scale;
    m = s == 0 || scores[s] > m ? scores[s] : m;
  }
  const float largest = m;
  along(
      count, scores, [=](f32x16 score) { return exp(sub(score, set1(largest))); }, scores);
  l = 0;
  for (int s = 0; s < count; ++s) l = l + scores[s];
  for (int s = 0; part.bf16_weights && s < count; ++s) scores[s] = bf16_of(scores[s]);
}

// One number by the vector functions: the same bits as a lane.
inline float exp_of(float x) { return first(exp(set1(x))); }
inline float fma_of(float a, float b, float c) { return first(fma(set1(a), set1(b), set1(c))); }

// a[c] = chain over s of weights[s] · values[s][c], merged into the running a: fma(a_b, g, a · f), or put there.
template <class Place>
inline void sum_values(const AttentionPart& part, const float* weights, const float* values, Place place, int count,
                       bool first, float f, float g, float* a) {
  const auto columns = [=](auto get, auto put, int c) {
    f32x16 sum = zero();
    for (int s = 0; s < count; ++s) sum = fma(set1(weights[s]), get(values + place(s) + c), sum);
    put(a + c, first ? sum : fma(sum, set1(g), mul(get(a + c), set1(f))));
  };
  int c = 0;
  for (; c + 16 <= part.value_width; c += 16)
    columns([](const float* p) { return load(p); }, [](float* p, f32x16 v) { store(p, v); }, c);
  const int left = part.value_width - c;
  if (left > 0)
    columns([=](const float* p) { return load_part(p, left); }, [=](float* p, f32x16 v) { store_part(p, v, left); }, c);
}

// `count` positions of one page for every head of the part.
template <class Place>
inline void attend_block(const AttentionPart& part, const float* page, Place place, int count, bool first,
                         Running& running) {
  for (int head = 0; head < part.heads; ++head) {
    alignas(64) float weights[kPositions];
    float m = 0, l = 0, f = 0, g = 0;
    weigh(part, part.query + static_cast<std::int64_t>(head) * part.width, page + part.key, place, count, weights, m,
          l);
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
    sum_values(part, weights, page + part.value, place, count, first, f, g,
               part.out + static_cast<std::int64_t>(head) * part.value_width);
  }
}

// One list after another list, or the first of all.
inline void attend_list(const AttentionPart& part, const KeyList& list, bool first, Running& running) {
  int count = 0;
  for (int begin = list.first; begin < list.last; begin += count, first = false) {
    if (list.chosen == nullptr) {
      const int within = begin % kPositions, left = kPositions - within;
      count = list.last - begin < left ? list.last - begin : left;
      attend_block(part, list.pages[begin / kPositions] + within * part.row, EveryPosition{part.row}, count, first,
                   running);
      continue;
    }
    const int page = list.chosen[begin] / kPositions;
    std::int64_t offsets[kPositions];
    for (count = 0; begin + count < list.last && list.chosen[begin + count] / kPositions == page; ++count)
      offsets[count] = list.chosen[begin + count] % kPositions * part.row;
    attend_block(part, list.pages[page], ChosenPositions{offsets}, count, first, running);
  }
}

void attention(const AttentionPart& part) {
  Running running;
  attend_list(part, part.keys, true, running);
  attend_list(part, part.entries, false, running);
  for (int head = 0; head < part.heads; ++head) {
    float* const out = part.out + static_cast<std::int64_t>(head) * part.value_width;
    float l = running.l[head];
    if (part.sinks != nullptr) {
      const float sink = part.sinks[head], m = running.m[head];
      const float largest = m > sink ? m : sink;
      const float f = exp_of(m - largest), g = exp_of(sink - largest);
      l = l * f + g;
      along(
          part.value_width, out, [=](f32x16 a) { return mul(a, set1(f)); }, out);
    }
    along(
        part.value_width, out, [=](f32x16 a) { return div(a, set1(l)); }, out);
  }
}

// One score with every step rounded to bf16.
inline float index_score_in_bf16(const IndexPart& part, const float* query, const float* weights, const float* key) {
  float sum = 0;
  for (int head = 0; head < part.heads; ++head) {
    const float score = bf16_of(dot(query + static_cast<std::int64_t>(head) * part.dim, key, part.dim));
    sum = sum + bf16_of(weights[head] * (score > 0 ? score : 0));
  }
  return bf16_of(sum);
}

void index_scores(const IndexPart& part) {
  for (int row = 0; row < part.rows; ++row) {
    const float* const query = part.query + row * part.query_stride;
    const float* const weights = part.weights + row * part.weight_stride;
    for (int s = 0; s < part.positions; ++s) {
      const float* const key = part.keys + static_cast<std::int64_t>(s) * part.dim;
      if (part.bf16) {
        part.out[row * part.out_stride + s] = index_score_in_bf16(part, query, weights, key);
        continue;
      }
      float sum = 0;
      for (int head = 0; head < part.heads; ++head) {
        const float score = dot(query + static_cast<std::int64_t>(head) * part.dim, key, part.dim);
        sum = fma_of(weights[head], score > 0 ? score : 0, sum);
      }
      part.out[row * part.out_stride + s] = sum;
    }
  }
}

}  // namespace
}  // namespace sluice::SLUICE_ISA
