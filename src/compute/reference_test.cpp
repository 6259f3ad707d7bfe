// Tests of reference.h: the micro tests of the Kimi K3 spec (3.2-3.5) and each operation against a naive fp64 form.
#include "compute/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "formats/format.h"
#include "formats/stored_vector.h"

namespace sluice {
namespace {

// Rows that own their numbers.
struct OwnedRows {
  std::vector<float> values;
  Rows rows;
  OwnedRows(int count, int width, std::vector<float> given = {}) : values(std::move(given)) {
    values.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(width));
    rows = {values.data(), count, width, width};
  }
  static OwnedRows random(int count, int width, unsigned seed) {
    OwnedRows made(count, width);
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    for (float& value : made.values) value = normal(generator);
    return made;
  }
};

WeightView view_of(const std::vector<float>& values, int rows, int cols) {
  return {FormatId::f32, {rows, cols}, reinterpret_cast<const std::byte*>(values.data()), nullptr};
}

TEST(Reference, MatmulIsTheDotOfDecodedRows) {
  ReferenceOps ops;
  const OwnedRows w = OwnedRows::random(5, 70, 1), x = OwnedRows::random(3, 70, 2);
  OwnedRows y(3, 5);
  const Product product{view_of(w.values, 5, 70), x.rows, y.rows};
  ops.matmul({&product, 1});
  for (int t = 0; t < 3; ++t)
    for (int out = 0; out < 5; ++out) {
      double exact = 0;
      for (int k = 0; k < 70; ++k)
        exact += static_cast<double>(w.rows.row(out)[k]) * static_cast<double>(x.rows.row(t)[k]);
      EXPECT_NEAR(y.rows.row(t)[out], exact, 1e-5);
    }
}

// Lane = floor(k / 2) mod 16: elements 0, 1 and 32 share a chain. 2^24 + 1 is lost within a chain, kept beside it.
TEST(Reference, MatmulOrderIsTheContracts) {
  ReferenceOps ops;
  const auto sum_of = [&](std::vector<float> x) {
    const int width = static_cast<int>(x.size());
    const std::vector<float> ones(x.size(), 1.f);
    OwnedRows in(1, width, x), y(1, 1);
    const Product product{view_of(ones, 1, width), in.rows, y.rows};
    ops.matmul({&product, 1});
    return y.values[0];
  };
  std::vector<float> x(64);
  x[0] = 0x1p24f;
  x[1] = 1;
  EXPECT_EQ(sum_of(x), 0x1p24f);  // same lane: 1 is lost
  x[1] = 0;
  x[32] = 1;
  x[33] = 1;
  EXPECT_EQ(sum_of(x), 0x1p24f);  // same lane, next block: lost twice
  x[32] = x[33] = 0;
  x[2] = x[3] = 1;
  EXPECT_EQ(sum_of(x), 0x1p24f + 2);  // lane 1: 2 is formed first
}

TEST(Reference, MatmulTransposed) {
  ReferenceOps ops;
  const OwnedRows w = OwnedRows::random(7, 19, 3), x = OwnedRows::random(2, 7, 4);
  OwnedRows y(2, 19);
  const Product product{view_of(w.values, 7, 19), x.rows, y.rows};
  ops.matmul_transposed({&product, 1});
  for (int t = 0; t < 2; ++t)
    for (int col = 0; col < 19; ++col) {
      double exact = 0;
      for (int i = 0; i < 7; ++i)
        exact += static_cast<double>(w.rows.row(i)[col]) * static_cast<double>(x.rows.row(t)[i]);
      EXPECT_NEAR(y.rows.row(t)[col], exact, 1e-5);
    }
}

TEST(Reference, AttentionResidualMicroTest) {
  ReferenceOps ops;
  OwnedRows a(1, 2, {1, 2}), b(1, 2, {3, -1}), c(1, 2, {.5f, .5f}), y(1, 2), weights(1, 3);
  const std::vector<Rows> sources = {a.rows, b.rows, c.rows};
  const std::vector<float> gain = {1.1f, .9f}, projection = {.5f, -.25f};
  ops.attention_residual(sources, stored_vector(gain), stored_vector(projection), 1e-5f, y.rows, weights.rows);
  EXPECT_NEAR(weights.values[0], .22369375447, 1e-6);
  EXPECT_NEAR(weights.values[1], .48568349903, 1e-6);
  EXPECT_NEAR(weights.values[2], .29062274651, 1e-6);
  EXPECT_NEAR(y.values[0], 1.82605562481, 1e-6);
  EXPECT_NEAR(y.values[1], .10701538315, 1e-6);
}

TEST(Reference, ShortConvMicroTestAndHistory) {
  ReferenceOps ops;
  const std::vector<float> taps = {.1f, .2f, .3f, .4f};
  const std::vector<double> expected = {.23947506, .82528612, 1.76159416, 2.85772238, 3.92805516};
  OwnedRows x(5, 1, {1, 2, 3, 4, 5}), whole(5, 1), parts(5, 1);
  std::vector<float> history(3), other(3);
  ops.short_conv(x.rows, taps, 4, history, whole.rows);
  for (int t = 0; t < 5; ++t)
    EXPECT_NEAR(whole.values[static_cast<std::size_t>(t)], expected[static_cast<std::size_t>(t)], 1e-6);
  EXPECT_EQ(history, (std::vector<float>{3, 4, 5}));
  for (int t = 0; t < 5; ++t) ops.short_conv(x.rows.slice(t, 1), taps, 4, other, parts.rows.slice(t, 1));
  EXPECT_EQ(parts.values, whole.values);
  EXPECT_EQ(other, history);
}

TEST(Reference, KdaMicroTest) {
  ReferenceOps ops;
  OwnedRows q(2, 2, {.3f, -.4f, 1, .5f}), k(2, 2, {.6f, .8f, -.2f, .9f}), v(2, 2, {1, 2, -1, .5f});
  OwnedRows z(2, 2, {.5f, -1, 2, 0}), beta(2, 1, {.7f, -.3f}), alpha(2, 2), out(2, 2);
  ops.l2_norm(q.rows, 2, 1e-6f, static_cast<float>(1 / std::sqrt(2.0)));
  ops.l2_norm(k.rows, 2, 1e-6f, 1);
  ops.sigmoid(beta.rows, beta.rows);
  const std::vector<float> a_log = {.25f}, dt_bias = {0, 0};
  ops.kda_decay(z.rows, a_log, dt_bias, -5, 2, alpha.rows);
  std::vector<float> state(4);
  ops.kda_recurrence({q.rows, k.rows, v.rows, alpha.rows, beta.rows, out.rows, 1, 2, state.data()});
  const double alphas[] = {.0377775045, .3381286149, .0096202568, .0820849986};
  const double outs[] = {-.1322940986, -.2645881972, -.0597325650, .0629909554};
  const double states[] = {.1000502108, -.0306903918, -.3889914529, .2605757545};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(alpha.values[i], alphas[i], 1e-6);
    EXPECT_NEAR(out.values[i], outs[i], 1e-6);
    EXPECT_NEAR(state[i], states[i], 1e-6);
  }
  EXPECT_NEAR(beta.values[0], .6681877722, 1e-6);
}

TEST(Reference, SituTestValues) {
  ReferenceOps ops;
  const double table[6][3] = {{1, 1, 0.7158178280748404},   {-1, 2, -0.525828895514303},
                              {8, -30, -80.33965239078263}, {0.1, 0.1, 0.0052486704486271255},
                              {100, 1000, 100.0},           {-4, 10, -0.5204613985223138}};
  for (const auto& [gate, up, expected] : table) {
    OwnedRows g(1, 1, {static_cast<float>(gate)}), u(1, 1, {static_cast<float>(up)});
    ops.situ(g.rows, u.rows, 4, 25, g.rows);
    EXPECT_NEAR(g.values[0], expected, std::fabs(expected) * 1e-6);
  }
}

TEST(Reference, NormsAndSums) {
  ReferenceOps ops;
  OwnedRows x(1, 4, {3, 4, 6, 8}), y(1, 4);
  const std::vector<float> gain = {2, 1};
  ops.rms_norm(x.rows, stored_vector(gain), 0, y.rows);
  EXPECT_NEAR(y.values[0], 2 * 3 / std::sqrt(12.5), 1e-6);
  EXPECT_NEAR(y.values[3], 8 / std::sqrt(50.0), 1e-6);
  ops.gate_sigmoid(OwnedRows(1, 4).rows, x.rows);
  EXPECT_EQ(x.values, (std::vector<float>{1.5f, 2, 3, 4}));
  ops.add(x.rows, x.rows);
  EXPECT_EQ(x.values, (std::vector<float>{3, 4, 6, 8}));
  const OwnedRows outputs(4, 1, {1, 2, 3, 4});
  OwnedRows sums(2, 1);
  ops.weighted_sum(outputs.rows, std::vector<float>{1, 10, 100, 1000}, 2, sums.rows);
  EXPECT_EQ(sums.values, (std::vector<float>{21, 4300}));
}

TEST(Reference, LatentAttentionIsASoftmaxOverThePast) {
  constexpr int kRows = 3, kHeads = 2, kLatent = 5, kRope = 3, kFirst = 128, kWidth = kLatent + kRope;
  ReferenceOps ops;
  const OwnedRows query = OwnedRows::random(kRows, kHeads * kWidth, 5);
  const OwnedRows keys = OwnedRows::random(3 * kAttentionBlock, kWidth, 6);
  OwnedRows out(kRows, kHeads * kLatent);
  std::vector<const float*> pages;
  for (int page = 0; page < 3; ++page) pages.push_back(keys.rows.row(page * kAttentionBlock));
  ops.latent_attention({query.rows, pages, kFirst, kHeads, kLatent, kRope, 0.4f, out.rows});
  for (int t = 0; t < kRows; ++t)
    for (int head = 0; head < kHeads; ++head) {
      double total = 0, sums[kLatent] = {};
      for (int s = 0; s <= kFirst + t; ++s) {
        double score = 0;
        for (int c = 0; c < kWidth; ++c)
          score += static_cast<double>(query.rows[t][static_cast<std::size_t>(head * kWidth + c)]) *
                   static_cast<double>(keys.rows[s][static_cast<std::size_t>(c)]);
        const double e = std::exp(score * 0.4);
        total += e;
        for (int c = 0; c < kLatent; ++c) sums[c] += e * static_cast<double>(keys.rows[s][static_cast<std::size_t>(c)]);
      }
      for (int c = 0; c < kLatent; ++c)
        EXPECT_NEAR(out.rows[t][static_cast<std::size_t>(head * kLatent + c)], sums[c] / total, 2e-6);
    }
}

TEST(Reference, HeadAttentionIsASoftmaxOverThePastOfTheHeadsGroup) {
  constexpr int kRows = 3, kHeads = 6, kKvHeads = 2, kDim = 5, kFirst = 70, kRowWidth = 2 * kKvHeads * kDim;
  ReferenceOps ops;
  const OwnedRows query = OwnedRows::random(kRows, kHeads * kDim, 15);
  const OwnedRows cache = OwnedRows::random(2 * kAttentionBlock, kRowWidth, 16);
  OwnedRows out(kRows, kHeads * kDim);
  const float* const pages[] = {cache.rows.row(0), cache.rows.row(kAttentionBlock)};
  ops.head_attention({query.rows, pages, kFirst, kHeads, kKvHeads, kDim, 0.4f, out.rows});
  for (int t = 0; t < kRows; ++t)
    for (int head = 0; head < kHeads; ++head) {
      const int key = head / 3 * kDim,
                value = kKvHeads * kDim + key;  // heads 0, 1, 2 read the first, 3, 4, 5 the other
      double total = 0, sums[kDim] = {};
      for (int s = 0; s <= kFirst + t; ++s) {
        double score = 0;
        for (int c = 0; c < kDim; ++c)
          score +=
              static_cast<double>(query.rows.row(t)[head * kDim + c]) * static_cast<double>(cache.rows.row(s)[key + c]);
        const double e = std::exp(score * 0.4);
        total += e;
        for (int c = 0; c < kDim; ++c) sums[c] += e * static_cast<double>(cache.rows.row(s)[value + c]);
      }
      for (int c = 0; c < kDim; ++c) EXPECT_NEAR(out.rows.row(t)[head * kDim + c], sums[c] / total, 2e-6);
    }
}

// Pairs turn by their angle: (a + i b) · e^(i angle). Neighbours are pairs, or numbers half a head apart.
TEST(Reference, RopeTurnsPairsOfEitherLayout) {
  constexpr int kPairs = 3, kBefore = 1, kHead = kBefore + 2 * kPairs + 2, kHeads = 2;
  ReferenceOps ops;
  const double angles[kPairs] = {0.5, -2, 7};
  OwnedRows cos(1, kPairs), sin(1, kPairs);
  for (int j = 0; j < kPairs; ++j) {
    cos.rows.row(0)[j] = static_cast<float>(std::cos(angles[j]));
    sin.rows.row(0)[j] = static_cast<float>(std::sin(angles[j]));
  }
  for (const RopeLayout layout : {RopeLayout::interleaved, RopeLayout::half_split}) {
    const OwnedRows before = OwnedRows::random(1, kHeads * kHead, 21);
    OwnedRows x = OwnedRows::random(1, kHeads * kHead, 21);
    ops.rope({x.rows, kHead, kBefore, layout, cos.rows, sin.rows});
    std::vector<bool> turned(static_cast<std::size_t>(kHeads * kHead), false);
    for (int head = 0; head < kHeads; ++head)
      for (int j = 0; j < kPairs; ++j) {
        const int base = head * kHead + kBefore;
        const int a = base + (layout == RopeLayout::interleaved ? 2 * j : j);
        const int b = base + (layout == RopeLayout::interleaved ? 2 * j + 1 : j + kPairs);
        const std::complex<double> pair(before.rows.row(0)[a], before.rows.row(0)[b]);
        const std::complex<double> wanted = pair * std::polar(1.0, angles[j]);
        EXPECT_NEAR(x.rows.row(0)[a], wanted.real(), 1e-6);
        EXPECT_NEAR(x.rows.row(0)[b], wanted.imag(), 1e-6);
        turned[static_cast<std::size_t>(a)] = turned[static_cast<std::size_t>(b)] = true;
      }
    for (std::size_t i = 0; i < turned.size(); ++i)
      EXPECT_TRUE(turned[i] || x.values[i] == before.values[i]) << "number " << i << " is not part of a pair";
  }
}

TEST(Reference, SwigluClampAndSoftmax) {
  ReferenceOps ops;
  OwnedRows gate(1, 3, {1, -2, 0}), up(1, 3, {3, 5, 7});
  ops.swiglu(gate.rows, up.rows, gate.rows);
  EXPECT_NEAR(gate.values[0], 3 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_NEAR(gate.values[1], -10 / (1 + std::exp(2.0)), 1e-6);
  EXPECT_EQ(gate.values[2], 0);
  OwnedRows x(1, 4, {-3, -0.5f, 0.5f, 3});
  ops.clamp(x.rows, 0.75f);
  EXPECT_EQ(x.values, (std::vector<float>{-0.75f, -0.5f, 0.5f, 0.75f}));
  OwnedRows p(2, 3, {1, 2, 3, 1000, 1000, -1000});
  ops.softmax(p.rows);
  const double sum = std::exp(-2.0) + std::exp(-1.0) + 1;
  EXPECT_NEAR(p.values[0], std::exp(-2.0) / sum, 1e-7);
  EXPECT_NEAR(p.values[2], 1 / sum, 1e-7);
  EXPECT_EQ(p.values[3], 0.5f);
  EXPECT_EQ(p.values[5], 0);
}

std::vector<int> chosen(std::vector<float> numbers, int count) {
  const int width = static_cast<int>(numbers.size());
  std::vector<int> columns(static_cast<std::size_t>(count));
  ReferenceOps().choose({.x = {numbers.data(), 1, width, width}, .bias = {}, .count = count, .chosen = columns});
  return columns;
}

TEST(ReferenceOps, TiesGoToTheLowerColumnAndNanLoses) {
  EXPECT_EQ(chosen({0, -0.f, 0, 1}, 2), (std::vector<int>{0, 3}));
  EXPECT_EQ(chosen({-INFINITY, NAN, -5, NAN}, 2), (std::vector<int>{0, 2}));
  EXPECT_EQ(chosen({NAN, NAN, NAN}, 2), (std::vector<int>{0, 1}));
  EXPECT_EQ(chosen({NAN, INFINITY, NAN}, 3), (std::vector<int>{0, 1, 2}));
}

}  // namespace
}  // namespace sluice
