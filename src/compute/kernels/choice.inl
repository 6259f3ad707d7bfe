// The largest numbers of a row, by which routers, indexers and samplers choose, on f32x16.
//
// The k-th largest is found by halving an interval of fp32's bit patterns, taken in the order of their values: each
// pass over the row counts what lies above a bound, and there are about as many passes as bits that tell the k-th
// largest from its neighbour. Then what lies above it is listed, and of what equals it the first ones. Which bounds
// were tried cannot be seen in the result. NaN is above nothing.

namespace sluice::SLUICE_ISA {
namespace {

constexpr float kNothing = -__builtin_inff(), kEverything = __builtin_inff();
constexpr float kLaneNumbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// All numbers above `bound`, and of those that equal it the first `level`.
struct Cut {
  float bound;
  int level;
};

// The place of a number in the order of fp32 (-0 right before +0), and back. Not of NaN.
inline std::int32_t flip(std::int32_t bits) { return bits ^ ((bits >> 31) & 0x7fffffff); }
inline std::int64_t place_of(float x) {
  std::int32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return flip(bits);
}
inline float at_place(std::int64_t place) {
  const std::int32_t bits = flip(static_cast<std::int32_t>(place));
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

// Numbers i .. i + 15 of `count`, and `behind` from the last on; NaN as -infinity.
inline f32x16 numbers(const float* x, int i, int count, float behind) {
  const int left = count - i;
  if (left >= 16) return max(load(x + i), set1(kNothing));
  const f32x16 limit = set1(static_cast<float>(left));
  return max(if_less(load(kLaneNumbers), limit, load_part(x + i, left), set1(behind)), set1(kNothing));
}

inline int count_above(const float* x, int count, float bound) {
  constexpr int kChains = 4;
  const f32x16 limit = set1(bound), one = set1(1.f);
  f32x16 counts[kChains] = {zero(), zero(), zero(), zero()};  // below 2^24 each, so they are exact
  int i = 0;
  for (; i + 16 * kChains <= count; i += 16 * kChains) {
    SLUICE_UNROLL
    for (int c = 0; c < kChains; ++c) counts[c] = add(counts[c], if_less(limit, load(x + i + 16 * c), one, zero()));
  }
  for (; i < count; i += 16) counts[0] = add(counts[0], if_less(limit, numbers(x, i, count, kNothing), one, zero()));
  return static_cast<int>(fold(add(add(counts[0], counts[1]), add(counts[2], counts[3]))));
}

// Where the k largest of `count` numbers end. Requires: 1 <= k <= count.
inline Cut cut_of(const float* x, int count, int k) {
  f32x16 largest = set1(kNothing), smallest = set1(kEverything);
  for (int i = 0; i < count; i += 16) {
    const f32x16 some = numbers(x, i, count, x[0]);
    largest = max(some, largest);
    smallest = min(some, smallest);
  }
  float most[16], least[16];
  store(most, largest);
  store(least, smallest);
  for (int lane = 1; lane < 16; ++lane) {
    most[0] = most[lane] > most[0] ? most[lane] : most[0];
    least[0] = least[lane] < least[0] ? least[lane] : least[0];
  }
  if (k == 1) return {most[0], 1};
  const int not_least = count_above(x, count, least[0]);
  if (not_least <= k) return {least[0], k - not_least};
  // Below: more than k lie above `low`, and fewer above `high`, of which `above` says how many.
  std::int64_t low = place_of(least[0]), high = place_of(most[0]);
  int above = 0;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    const int here = count_above(x, count, at_place(middle));
    if (here == k) return {at_place(middle), 0};
    if (here > k) {
      low = middle;
    } else {
      high = middle;
      above = here;
    }
  }
  return {at_place(high), k - above};
}

// The columns of a cut, rising.
inline void list_columns(const float* x, int count, Cut cut, int k, int* chosen) {
  const f32x16 bound = set1(cut.bound);
  for (int i = 0; k > 0 && i < count; i += 16) {
    const f32x16 some = numbers(x, i, count, kNothing);
    const std::uint32_t above = lanes_less(bound, some), below = lanes_less(some, bound);
    const std::uint32_t there = count - i < 16 ? (1u << (count - i)) - 1u : 0xffffu;
    std::uint32_t taken = cut.level > 0 ? ~below & there : above;
    for (; taken != 0 && k > 0; taken &= taken - 1) {
      const int lane = __builtin_ctz(taken);
      if ((above >> lane & 1u) == 0 && cut.level-- <= 0) continue;
      *chosen++ = i + lane;
      --k;
    }
  }
}

// The plain sum of the two largest.
inline float two_largest(const float* x, int count) {
  f32x16 first_ones = set1(kNothing), second_ones = set1(kNothing);
  for (int i = 0; i < count; i += 16) {
    const f32x16 some = numbers(x, i, count, kNothing);
    second_ones = max(min(some, first_ones), second_ones);
    first_ones = max(some, first_ones);
  }
  float all[32], best = kNothing, second = kNothing;
  store(all, first_ones);
  store(all + 16, second_ones);
  for (const float value : all) {
    const float other = value > best ? best : value;
    best = value > best ? value : best;
    second = other > second ? other : second;
  }
  const float sum = best + second;
  return sum == sum ? sum : kNothing;
}

// Puts the numbers of all groups but the best out of reach. x [columns], with room for `groups` numbers behind.
inline void keep_groups(const ChoicePart& part, float* x) {
  const int width = part.columns / part.groups;
  float* const worth = x + part.columns;
  for (int group = 0; group < part.groups; ++group) worth[group] = two_largest(x + group * width, width);
  Cut best = cut_of(worth, part.groups, part.groups_kept);
  for (int group = 0; group < part.groups; ++group) {
    if (worth[group] > best.bound || (worth[group] == best.bound && best.level-- > 0)) continue;
    for (int column = group * width; column < (group + 1) * width; ++column) x[column] = kNothing;
  }
}

void choose(const ChoicePart& part) {
  const float* x = part.x;
  if (part.room != nullptr) {
    if (part.bias != nullptr)
      along(
          part.columns, part.room, [](f32x16 value, f32x16 bias) { return add(value, bias); }, part.x, part.bias);
    else
      along(
          part.columns, part.room, [](f32x16 value) { return value; }, part.x);
    if (part.groups > 1) keep_groups(part, part.room);
    x = part.room;
  }
  list_columns(x, part.columns, cut_of(x, part.columns, part.count), part.count, part.chosen);
}

}  // namespace
}  // namespace sluice::SLUICE_ISA
