// Tests of cpu_ops.h and of every kernel set this machine supports: the bits of ReferenceOps, whatever the instruction
// set, the number of threads, the shape and the values (zeros of both signs, subnormals, huge numbers, NaN as NaN).
#include "compute/cpu_ops.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "base/numbers.h"
#include "compute/reference.h"
#include "formats/format.h"
#include "formats/stored_vector.h"
#include "support/sweep.h"

namespace sluice {
namespace {

using Random = std::mt19937;
int pick(Random& random, int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

enum class Kind { plain, awkward, wild };  // normal numbers; with zeros, subnormals, extremes; any bit pattern

float number(Random& random, Kind kind) {
  if (kind == Kind::wild) return std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  const float value = std::normal_distribution<float>()(random);
  if (kind == Kind::plain) return value;
  switch (pick(random, 0, 11)) {
    case 0:
      return 0.f;
    case 1:
      return -0.f;
    case 2:
      return std::bit_cast<float>(static_cast<std::uint32_t>(random()) & 0x807fffffu);  // subnormal
    case 3:
      return std::ldexp(value, 60);
    case 4:
      return std::ldexp(value, -80);
    default:
      return value;
  }
}

// Rows that own their numbers, at an odd stride and alignment.
class Matrix {
 public:
  Matrix(int rows, int width) : values_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(width + 3) + 1) {
    rows_ = {values_.data() + 1, rows, width, width + 3};
  }
  Matrix(int rows, int width, Random& random, Kind kind) : Matrix(rows, width) {
    for (float& value : values_) value = number(random, kind);
  }
  Matrix(const Matrix& other) : values_(other.values_), rows_(other.rows_) { rows_.data = values_.data() + 1; }
  Matrix& operator=(const Matrix&) = delete;
  Rows rows() const { return rows_; }
  const std::vector<float>& values() const { return values_; }  // with what lies between the rows

 private:
  std::vector<float> values_;
  Rows rows_;
};

bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}
::testing::AssertionResult same(const std::vector<float>& got, const std::vector<float>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!same(got[i], expected[i]))
      return ::testing::AssertionFailure()
             << "number " << i << " of " << expected.size() << ": " << got[i] << ", not " << expected[i];
  return ::testing::AssertionSuccess();
}
::testing::AssertionResult same(const Matrix& got, const Matrix& expected) {
  return same(got.values(), expected.values());
}

// Bytes with a page behind the last one that nobody may touch: whoever reads past them ends the test.
class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t count) : count_(count) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t before = (count + page - 1) / page * page, mapped = before + page;
    void* const base = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc();
    mapping_ = {static_cast<std::byte*>(base), [mapped](std::byte* begin) { ::munmap(begin, mapped); }};
    ::mprotect(mapping_.get() + before, page, PROT_NONE);
    begin_ = mapping_.get() + before - count;
  }
  std::byte* data() { return begin_; }
  std::size_t size() const { return count_; }
  std::byte& operator[](std::size_t at) { return begin_[at]; }
  std::byte* begin() { return begin_; }
  std::byte* end() { return begin_ + count_; }

 private:
  std::size_t count_;
  std::shared_ptr<std::byte> mapping_;
  std::byte* begin_ = nullptr;
};

// A stored matrix at an odd address, with nothing readable behind its last byte.
class Weights {
 public:
  Weights(FormatId id, int rows, int cols, Random& random, Kind kind)
      : weights_(format(id).weight_bytes({rows, cols}) + 1), scales_(format(id).scale_bytes({rows, cols}) + 1) {
    const Format& stored = format(id);
    view_ = {id, {rows, cols}, nullptr, nullptr};
    for (std::byte& byte : weights_) byte = static_cast<std::byte>(random());
    if (stored.scales == ScaleKind::none && kind != Kind::wild) {
      std::vector<float> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols));
      for (float& value : values) value = number(random, kind);
      stored.encode_rows(values, view_.shape, weights_.data() + 1, nullptr);
    }
    if (kind == Kind::plain && (id == FormatId::fp8 || id == FormatId::fp8_e8m0))  // no NaN, which hides all else
      for (std::byte& code : weights_) code &= std::byte{0xf7};
    view_.weights = weights_.data() + 1;
    if (stored.scales == ScaleKind::none) return;
    if (stored.scales == ScaleKind::e8m0)
      for (std::byte& scale : scales_)
        scale = static_cast<std::byte>(kind == Kind::plain                             ? pick(random, 115, 130)
                                       : kind == Kind::wild || pick(random, 0, 3) == 0 ? pick(random, 0, 255)
                                                                                       : pick(random, 110, 135));
    else
      for (std::size_t at = 1; at < scales_.size(); at += 4) store_f32(&scales_[at], number(random, kind));
    view_.scales = scales_.data() + 1;
  }
  const WeightView& view() const { return view_; }

 private:
  GuardedBytes weights_, scales_;
  WeightView view_;
};

constexpr CpuOps::Limits kLimits = {128, 12'000};

// Every kernel set by 1, 2, 3 and 5 threads, half of them as on cores that start two multiply-adds a cycle.
struct Candidate {
  std::string name;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<CpuOps> ops;
};
std::vector<Candidate> make_candidates(Numerics numerics) {
  std::vector<Candidate> made;
  for (const KernelTable* kernels : supported_kernels())
    for (int threads : {1, 2, 3, 5}) {
      auto pool = std::make_unique<ThreadPool>(threads);
      const bool two_fmas = threads == 2 || threads == 3;
      const CpuOps::Limits limits = {kLimits.rows, kLimits.width, numerics};
      auto ops = std::make_unique<CpuOps>(*pool, *kernels, limits, two_fmas);
      made.push_back({std::string(kernels->name) + " x " + std::to_string(threads), std::move(pool), std::move(ops)});
    }
  return made;
}
std::vector<Candidate>& candidates(Numerics numerics = Numerics::exact) {
  static std::vector<Candidate> exact = make_candidates(Numerics::exact), fast = make_candidates(Numerics::fast);
  return numerics == Numerics::fast ? fast : exact;
}

template <class Tuple, std::size_t... I>
void expect_all_same(const std::string& what, const Tuple& got, const Tuple& expected, std::index_sequence<I...>) {
  const auto expect = [&](const auto& one, const auto& other) { EXPECT_TRUE(same(one, other)) << what; };
  (expect(std::get<I>(got), std::get<I>(expected)), ...);
}

// Runs `operation(ops, results)` with the reference and with every candidate, each on its own copy of `results`.
template <class... Results, class Operation>
void expect_same_in(Numerics numerics, const std::string& what, Operation operation, const Results&... results) {
  ReferenceOps reference(numerics);
  auto expected = std::make_tuple(results...);
  std::apply([&](auto&... own) { operation(static_cast<Ops&>(reference), own...); }, expected);
  for (Candidate& candidate : candidates(numerics)) {
    auto got = std::make_tuple(results...);
    std::apply([&](auto&... own) { operation(static_cast<Ops&>(*candidate.ops), own...); }, got);
    expect_all_same(candidate.name + ", " + what, got, expected, std::index_sequence_for<Results...>());
  }
}
template <class... Results, class Operation>
void expect_same(const std::string& what, Operation operation, const Results&... results) {
  expect_same_in(Numerics::exact, what, operation, results...);
}

constexpr Kind kKinds[] = {Kind::plain, Kind::awkward, Kind::wild};

// How a matrix is stored, and in which mode it is multiplied.
struct Stored {
  const Format* format;
  Numerics numerics;
};
std::vector<Stored> every_way() {
  std::vector<Stored> all;
  for (const Format* each : formats()) all.push_back({each, Numerics::exact});
  for (const Format* each : formats())
    if (fast_format(each->id) != nullptr) all.push_back({each, Numerics::fast});
  return all;
}

void check_matmul(const Stored& stored, int outs, int cols, int rows, Kind kind, Random& random) {
  const Weights w(stored.format->id, outs, cols, random, kind);
  const Matrix x(rows, cols, random, kind);
  const std::string what = std::string(stored.format->name) + " " + std::to_string(outs) + " x " +
                           std::to_string(cols) + ", " + std::to_string(rows) + " rows";
  expect_same_in(
      stored.numerics, what,
      [&](Ops& ops, Matrix& y) {
        const Product product{w.view(), x.rows(), y.rows()};
        ops.matmul({&product, 1});
      },
      Matrix(rows, outs));
}

class EveryFormat : public ::testing::TestWithParam<Stored> {
 protected:
  int usable(int cols) const {
    const int block = GetParam().format->block_cols;
    return (cols + block - 1) / block * block;
  }
};

TEST_P(EveryFormat, MatmulOfAnyShapeEqualsTheReference) {
  Random random(1);
  test::Sweep sweep;
  for (int cols : {1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 95, 96, 100, 512, 513, 1000})
    for (int rows : {1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 18, 70})
      if (sweep.tries_next())
        check_matmul(GetParam(), pick(random, 1, 70), usable(cols), rows, kKinds[pick(random, 0, 2)], random);
}

TEST_P(EveryFormat, MatmulOfAnyNumberOfOutputsEqualsTheReference) {
  Random random(2);
  for (int outs = 1; outs <= 70; outs += test::sweep_stride())
    check_matmul(GetParam(), outs, usable(70), pick(random, 1, 9), Kind::awkward, random);
  for (int rows = 1; rows <= 70; rows += test::sweep_stride())
    check_matmul(GetParam(), pick(random, 1, 40), usable(40), rows, Kind::awkward, random);
}

TEST_P(EveryFormat, MatmulSharedByThreadsEqualsTheReference) {
  Random random(3);
  test::Sweep sweep;
  for (int rows : {1, 2, 4, 7, 128, 97})
    if (sweep.tries_next()) check_matmul(GetParam(), 300 + pick(random, 0, 63), usable(800), rows, Kind::plain, random);
}

// A kernel may move a scale from the weights to the vector only while no product with it leaves the normal numbers.
TEST_P(EveryFormat, VectorsAtTheEdgesOfTheRangeEqualTheReference) {
  Random random(11);
  test::Sweep sweep;
  for (int exponent : {-148, -135, -130, -126, -123, -119, -112, 108, 114, 118, 122, 126, 127})
    for (int rows : {1, 3, 20}) {
      if (!sweep.tries_next()) continue;
      const Weights w(GetParam().format->id, 150, 256, random, Kind::plain);
      Matrix x(rows, 256, random, Kind::plain);
      for (int row = 0; row < rows; ++row)
        for (float& value : x.rows()[row])
          value = std::ldexp(pick(random, 0, 40) == 0 ? value : 0.f, row % 2 == 0 ? exponent : 0);
      expect_same_in(
          GetParam().numerics, std::string(GetParam().format->name) + " times 2^" + std::to_string(exponent),
          [&](Ops& ops, Matrix& y) {
            const Product product{w.view(), x.rows(), y.rows()};
            ops.matmul({&product, 1});
          },
          Matrix(rows, 150));
    }
}

// Every chain ends at -0, except where zeros pad the last block: + 0 makes it +0, and the sum with it.
TEST(CpuOps, PaddingTurnsMinusZeroIntoZero) {
  for (int cols : {31, 32, 33, 63, 64})
    for (int rows : {1, 7}) {
      const std::vector<float> w(static_cast<std::size_t>(cols), 1e-30f);
      Matrix x(rows, cols);
      for (int row = 0; row < rows; ++row)
        for (float& value : x.rows()[row]) value = -1e-30f;
      const WeightView view{FormatId::f32, {1, cols}, reinterpret_cast<const std::byte*>(w.data()), nullptr};
      const auto multiply = [&](Ops& ops, Matrix& y) {
        const Product product{view, x.rows(), y.rows()};
        ops.matmul({&product, 1});
      };
      Matrix y(rows, 1);
      ReferenceOps reference;
      multiply(reference, y);
      EXPECT_EQ(std::signbit(y.rows()[0][0]), cols % kBlockCols == 0) << cols;
      expect_same("underflow", multiply, Matrix(rows, 1));
    }
}

// A batch never changes a row.
TEST_P(EveryFormat, ARowAloneEqualsTheRowInTheBatch) {
  Random random(4);
  for (Candidate& candidate : candidates(GetParam().numerics)) {
    const int rows = pick(random, 2, 70), cols = usable(pick(random, 1, 300)), outs = pick(random, 1, 70);
    const Weights w(GetParam().format->id, outs, cols, random, Kind::plain);
    const Matrix x(rows, cols, random, Kind::plain);
    const Matrix batch(rows, outs), alone(rows, outs);
    const Product together{w.view(), x.rows(), batch.rows()};
    candidate.ops->matmul({&together, 1});
    for (int row = 0; row < rows; ++row) {
      const Product one{w.view(), x.rows().slice(row, 1), alone.rows().slice(row, 1)};
      candidate.ops->matmul({&one, 1});
    }
    EXPECT_TRUE(same(batch, alone)) << candidate.name;
  }
}

TEST_P(EveryFormat, TransposedProductsEqualTheReference) {
  if (GetParam().numerics != Numerics::exact) GTEST_SKIP() << "they are the same in every mode";
  Random random(5);
  test::Sweep sweep;
  for (int cols : {1, 2, 31, 32, 33, 64, 65, 96, 160, 250, 512})
    for (int rows : {1, 2, 3, 5, 20}) {
      if (!sweep.tries_next()) continue;
      const Kind kind = kKinds[pick(random, 0, 2)];
      const Weights w(GetParam().format->id, pick(random, 1, 130), usable(cols), random, kind);
      const Matrix x(rows, w.view().shape.rows, random, kind);
      expect_same_in(
          GetParam().numerics, "transposed",
          [&](Ops& ops, Matrix& y) {
            const Product product{w.view(), x.rows(), y.rows()};
            ops.matmul_transposed({&product, 1});
          },
          Matrix(rows, w.view().shape.cols));
    }
}

// Products of one call: shared inputs, inputs that are columns of one another's rows, more inputs than fit the scratch.
TEST_P(EveryFormat, ManyProductsOfOneCallEqualTheReference) {
  Random random(6);
  for (int rows : {1, 3, 50}) {
    std::vector<Weights> w;
    const int cols = usable(96);
    for (int i = 0; i < 40; ++i) w.emplace_back(GetParam().format->id, pick(random, 1, 40), cols, random, Kind::plain);
    const Matrix x(rows, 40 * cols, random, Kind::plain);
    for (bool transposed : {false, true})
      expect_same_in(
          GetParam().numerics, "many products",
          [&](Ops& ops, Matrix& y) {
            std::vector<Product> products;
            int used = 0;
            for (int i = 0; i < 40; ++i) {
              const Shape shape = w[static_cast<std::size_t>(i)].view().shape;
              const int in = transposed ? shape.rows : shape.cols, out = transposed ? shape.cols : shape.rows;
              products.push_back({w[static_cast<std::size_t>(i)].view(), x.rows().columns(i % 30 * cols, in),
                                  y.rows().columns(used, out)});
              used += out;
            }
            transposed ? ops.matmul_transposed(products) : ops.matmul(products);
          },
          Matrix(rows, 40 * std::max(cols, 40)));
  }
}

// Heads of a projection are slices, which may begin inside of a block of scales.
TEST_P(EveryFormat, SlicesOfRowsEqualTheReference) {
  Random random(12);
  for (int repeat = 0; repeat < test::cases(12); ++repeat) {
    const int outs = pick(random, 200, 500), cols = usable(pick(random, 1, 300)), first = pick(random, 0, outs - 1);
    const Weights w(GetParam().format->id, outs, cols, random, kKinds[repeat % 3]);
    const WeightView slice = w.view().row_slice(first, pick(random, 1, outs - first));
    const int rows = repeat % 4 == 3 ? 20 : pick(random, 1, 5);
    const Matrix x(rows, cols, random, Kind::plain), x_transposed(rows, slice.shape.rows, random, Kind::plain);
    const auto product = [&](bool transposed) {
      return [&, transposed](Ops& ops, Matrix& y) {
        const Product one{slice, transposed ? x_transposed.rows() : x.rows(), y.rows()};
        transposed ? ops.matmul_transposed({&one, 1}) : ops.matmul({&one, 1});
      };
    };
    expect_same_in(GetParam().numerics, "slice", product(false), Matrix(rows, slice.shape.rows));
    expect_same_in(GetParam().numerics, "slice transposed", product(true), Matrix(rows, cols));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryFormat, ::testing::ValuesIn(every_way()), [](const auto& each) {
  return std::string(each.param.format->name) + (each.param.numerics == Numerics::fast ? "_fast" : "");
});

// Rows of bytes with a scale of 1, so that a product says what the numbers of the vector are.
struct ByteWeights {
  std::vector<std::int8_t> numbers;
  std::vector<std::byte> scales;
  WeightView view;
  ByteWeights(std::vector<std::int8_t> given, int rows) : numbers(std::move(given)) {
    const int cols = static_cast<int>(numbers.size()) / rows;
    scales.resize(4 * static_cast<std::size_t>(rows));
    for (std::size_t at = 0; at < scales.size(); at += 4) store_f32(&scales[at], 1);
    view = {FormatId::int8, {rows, cols}, reinterpret_cast<const std::byte*>(numbers.data()), scales.data()};
  }
};

// One row of x with W, checked in every kernel set; the reference's result.
std::vector<float> fast_product(const WeightView& w, const std::vector<float>& x) {
  Matrix in(1, w.shape.cols);
  std::ranges::copy(x, in.rows()[0].begin());
  const auto multiply = [&](Ops& ops, Matrix& y) {
    const Product product{w, in.rows(), y.rows()};
    ops.matmul({&product, 1});
  };
  Matrix y(1, w.shape.rows);
  ReferenceOps reference(Numerics::fast);
  multiply(reference, y);
  expect_same_in(Numerics::fast, std::string(format(w.format).name), multiply, Matrix(1, w.shape.rows));
  return {y.rows()[0].begin(), y.rows()[0].end()};
}

// A row of W for each column: the product is the vector as the mode sees it.
std::vector<float> seen(const std::vector<float>& x) {
  const std::size_t n = x.size();
  std::vector<std::int8_t> unit(n * n);
  for (std::size_t i = 0; i < n; ++i) unit[i * n + i] = 1;
  return fast_product(ByteWeights(std::move(unit), static_cast<int>(n)).view, x);
}

TEST(FastMode, NumbersAreRoundedHalfToEvenIn127ths) {
  std::vector<float> x(40), wanted(40);
  for (std::size_t i = 0; i < 32; ++i) x[i] = static_cast<float>(i) - 15.5f;  // -15.5, -14.5 ...
  x[31] = 127;
  for (std::size_t i = 0; i < 31; ++i) wanted[i] = std::nearbyint(x[i]);
  wanted[31] = 127;
  x[32] = -254;  // the next group has a scale of 2
  x[33] = 3;
  x[34] = -1;
  x[35] = 1.1f;
  wanted[32] = -254;
  wanted[33] = 4;
  wanted[34] = 0;
  wanted[35] = 2;
  EXPECT_EQ(seen(x), wanted);
}

TEST(FastMode, TinyGroupsAreZero) {
  const float least = 127 * std::numeric_limits<float>::min();  // whose scale is the smallest normal number
  for (float size : {least, std::nextafter(least, 0.f), 1e-44f, 0.f}) {
    const std::vector<float> got = seen({size, -size, size / 2, 0});
    EXPECT_EQ(got[0], size < least ? 0.f : size) << size;
    EXPECT_EQ(got[1], size < least ? 0.f : -size) << size;
  }
}

TEST(FastMode, OneNumberThatIsNoneSpoilsTheWholeVectorAndNoOther) {
  Random random(20);
  for (float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                    std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::signaling_NaN()})
    for (const Stored& stored : every_way()) {
      if (stored.numerics != Numerics::fast) continue;
      const Weights w(stored.format->id, 9, 320, random, Kind::plain);
      const Matrix x(5, 320, random, Kind::plain);
      x.rows()[2][static_cast<std::size_t>(pick(random, 0, 319))] = bad;
      Matrix y(5, 9);
      const auto multiply = [&](Ops& ops, Matrix& out) {
        const Product product{w.view(), x.rows(), out.rows()};
        ops.matmul({&product, 1});
      };
      ReferenceOps reference(Numerics::fast);
      multiply(reference, y);
      for (std::size_t row = 0; row < 5; ++row)
        for (float value : y.rows()[static_cast<int>(row)]) EXPECT_EQ(std::isnan(value), row == 2);
      expect_same_in(Numerics::fast, "not finite", multiply, Matrix(5, 9));
    }
}

// The largest sums that can be: where sixteen bits, or an unsigned byte, would not do.
TEST(FastMode, NothingSaturates) {
  for (const Stored& stored : every_way()) {
    if (stored.numerics != Numerics::fast) continue;
    const FastFormat& as = *fast_format(stored.format->id);
    const int cols = 512;
    for (int most : {0, 1})  // the least number and the greatest, or all equal
      for (int pattern = 0; pattern < 4; ++pattern) {
        std::vector<std::byte> weights(stored.format->weight_bytes({1, cols}));
        std::vector<std::byte> scales(stored.format->scale_bytes({1, cols}), std::byte{127});
        if (!as.e8m0)
          for (std::size_t at = 0; at < scales.size(); at += 4) store_f32(&scales[at], 1);
        const unsigned code = as.e8m0 ? (most == 1 ? 7u : 15u) : (most == 1 ? 15u : 0u);
        for (std::byte& byte : weights)
          byte = as.nibbles ? static_cast<std::byte>(code | code << 4) : static_cast<std::byte>(most == 1 ? 127 : 128);
        const int number = as.nibbles ? as.numbers[code] : most == 1 ? 127 : -128;
        std::vector<float> x(cols);
        double wanted = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
          x[i] = pattern == 0 ? 127.f : pattern == 1 ? -127.f : i % 4 < 2 ? 127.f : i / 4 % 2 == 0 ? -127.f : 1.f;
          if (pattern == 3) x[i] = -x[i];
          wanted += number * static_cast<double>(x[i]) * (as.e8m0 ? 0.5 : 1);
        }
        const WeightView view{stored.format->id, {1, cols}, weights.data(), scales.data()};
        EXPECT_EQ(fast_product(view, x), std::vector<float>{static_cast<float>(wanted)}) << stored.format->name;
      }
  }
}

// Rows of many runs: scales are widened a few runs at a time.
TEST(FastMode, LongRowsEqualTheReference) {
  Random random(22);
  ThreadPool pool(1);
  for (const Stored& stored : every_way()) {
    if (stored.numerics != Numerics::fast) continue;
    for (int cols : {2048, 4800, 5000 / stored.format->block_cols * stored.format->block_cols}) {
      const int rows = pick(random, 1, 5);
      const Weights w(stored.format->id, 19, cols, random, Kind::plain);
      const Matrix x(rows, cols, random, Kind::awkward), expected(rows, 19);
      const Product wanted{w.view(), x.rows(), expected.rows()};
      ReferenceOps(Numerics::fast).matmul({&wanted, 1});
      for (const KernelTable* kernels : supported_kernels()) {
        CpuOps ops(pool, *kernels, {rows, cols, Numerics::fast});
        const Matrix got(rows, 19);
        const Product product{w.view(), x.rows(), got.rows()};
        ops.matmul({&product, 1});
        EXPECT_TRUE(same(got, expected)) << stored.format->name << ", " << kernels->name << ", " << cols;
      }
    }
  }
}

// What the mode costs: the rounding of activations to 1/254 of the largest of 32, and nothing else.
TEST(FastMode, IsNearTheExactProduct) {
  Random random(21);
  for (const Stored& stored : every_way()) {
    if (stored.numerics != Numerics::fast) continue;
    const Weights w(stored.format->id, 64, 512, random, Kind::plain);
    const Matrix x(1, 512, random, Kind::plain), fast(1, 64), exact(1, 64);
    const Product quick{w.view(), x.rows(), fast.rows()}, slow{w.view(), x.rows(), exact.rows()};
    ReferenceOps(Numerics::fast).matmul({&quick, 1});
    ReferenceOps().matmul({&slow, 1});
    double apart = 0, size = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      apart += std::pow(static_cast<double>(fast.rows()[0][i]) - static_cast<double>(exact.rows()[0][i]), 2);
      size += std::pow(static_cast<double>(exact.rows()[0][i]), 2);
    }
    EXPECT_LT(std::sqrt(apart / size), 0.012) << stored.format->name;
    EXPECT_GT(std::sqrt(apart / size), 1e-4) << stored.format->name;
  }
}

std::vector<float> numbers(int count, Random& random, Kind kind) {
  std::vector<float> made(static_cast<std::size_t>(count));
  for (float& value : made) value = number(random, kind);
  return made;
}

// A vector of a norm, stored in one of the ways that are met, at an odd address.
Weights stored_vector_of(int count, Random& random, Kind kind) {
  constexpr FormatId kStored[] = {FormatId::f32, FormatId::bf16, FormatId::f16, FormatId::fp8};
  return {kStored[pick(random, 0, 3)], 1, count, random, kind};
}

TEST(CpuOps, VectorOperationsEqualTheReference) {
  Random random(7);
  for (int repeat = 0; repeat < test::cases(60); ++repeat) {
    const Kind kind = kKinds[repeat % 3];
    const int rows = pick(random, 1, 9), runs = pick(random, 1, 4),
              run = repeat % 10 == 0 ? 3000 : pick(random, 1, 140);
    const int width = runs * run;
    const Matrix x(rows, width, random, kind), other(rows, width, random, kind);
    const Weights gain = stored_vector_of(run, random, Kind::plain);
    const std::vector<float> plain_gain = numbers(run, random, Kind::plain);
    const std::string what = std::to_string(rows) + " x " + std::to_string(width);
    expect_same(
        "rms_norm " + what, [&](Ops& ops, Matrix& y) { ops.rms_norm(x.rows(), gain.view(), 1e-5f, y.rows()); },
        Matrix(rows, width));
    expect_same(
        "rms_norm in place " + what, [&](Ops& ops, Matrix& y) { ops.rms_norm(y.rows(), gain.view(), 0, y.rows()); }, x);
    expect_same(
        "rms_norm where the gain lies " + what,
        [&](Ops& ops, Matrix& y) { ops.rms_norm(x.rows(), stored_vector(plain_gain), 1e-5f, y.rows()); },
        Matrix(rows, width));
    const Weights row_gain = stored_vector_of(width, random, Kind::plain), bias = stored_vector_of(width, random, kind);
    expect_same(
        "layer_norm " + what,
        [&](Ops& ops, Matrix& y) { ops.layer_norm(x.rows(), row_gain.view(), bias.view(), 1e-6f, y.rows()); },
        Matrix(rows, width));
    expect_same(
        "layer_norm in place " + what,
        [&](Ops& ops, Matrix& y) { ops.layer_norm(y.rows(), row_gain.view(), bias.view(), 1e-6f, y.rows()); }, x);
    expect_same(
        "l2_norm " + what, [&](Ops& ops, Matrix& y) { ops.l2_norm(y.rows(), run, 1e-6f, 0.3f); }, x);
    expect_same(
        "l2_norm " + what, [&](Ops& ops, Matrix& y) { ops.l2_norm(y.rows(), run, 1e-6f, 1); }, x);
    expect_same(
        "add " + what, [&](Ops& ops, Matrix& y) { ops.add(x.rows(), y.rows()); }, other);
    expect_same(
        "sigmoid " + what, [&](Ops& ops, Matrix& y) { ops.sigmoid(y.rows(), y.rows()); }, x);
    expect_same(
        "gate " + what, [&](Ops& ops, Matrix& y) { ops.gate_sigmoid(x.rows(), y.rows()); }, other);
    expect_same(
        "situ " + what, [&](Ops& ops, Matrix& y) { ops.situ(y.rows(), other.rows(), 4, 25, y.rows()); }, x);
    expect_same(
        "swiglu " + what, [&](Ops& ops, Matrix& y) { ops.swiglu(y.rows(), other.rows(), y.rows()); }, x);
    expect_same(
        "clamped swiglu " + what,
        [&](Ops& ops, Matrix& y) { ops.clamped_swiglu(y.rows(), other.rows(), 0.5f, y.rows()); }, x);
    expect_same(
        "sqrt_softplus " + what, [&](Ops& ops, Matrix& y) { ops.sqrt_softplus(y.rows(), y.rows()); }, x);
    expect_same(
        "inverse_rms " + what, [&](Ops& ops, Matrix& y) { ops.inverse_rms(x.rows(), 1e-6f, y.rows()); },
        Matrix(x.rows().rows, 1));
    expect_same(
        "clamp " + what, [&](Ops& ops, Matrix& y) { ops.clamp(y.rows(), 0.75f); }, x);
    expect_same(
        "softmax " + what, [&](Ops& ops, Matrix& y) { ops.softmax(y.rows()); }, x);
  }
}

// Arguments of the functions over their whole range, through the operations that expose them.
TEST(CpuOps, FunctionsEqualTheReferenceOverAllOfFp32) {
  const int width = test::cases(20'000);
  const auto columns = static_cast<std::uint32_t>(width),
             step = 13'421u * static_cast<std::uint32_t>(test::sweep_stride());
  for (std::uint32_t part = 0; part < 16; ++part) {
    Matrix x(1, width);
    for (std::uint32_t i = 0; i < columns; ++i)
      x.rows()[0][i] = std::bit_cast<float>((part * columns + i) * step);  // steps through all 2^32 patterns
    const std::vector<float> zeros(columns), a_log = {0};
    expect_same(
        "sigmoid", [&](Ops& ops, Matrix& y) { ops.sigmoid(x.rows(), y.rows()); }, Matrix(1, width));
    expect_same(
        "tanh", [&](Ops& ops, Matrix& y) { ops.situ(x.rows(), x.rows(), 1, 1, y.rows()); }, Matrix(1, width));
    expect_same(
        "exp", [&](Ops& ops, Matrix& y) { ops.kda_decay(x.rows(), a_log, zeros, 80, width, y.rows()); },
        Matrix(1, width));
  }
}

TEST(CpuOps, SumsEqualTheReference) {
  Random random(8);
  for (int repeat = 0; repeat < test::cases(30); ++repeat) {
    const Kind kind = kKinds[repeat % 3];
    const int rows = pick(random, 1, 6), n = pick(random, 1, 17),
              width = repeat % 10 == 0 ? 7168 : pick(random, 1, 200);
    const Matrix outputs(rows * n, width, random, kind);
    const std::vector<float> weights = numbers(rows * n, random, kind);
    expect_same(
        "weighted_sum", [&](Ops& ops, Matrix& y) { ops.weighted_sum(outputs.rows(), weights, n, y.rows()); },
        Matrix(rows, width));
    std::vector<Matrix> held;
    std::vector<Rows> sources;
    for (int j = 0; j < n; ++j) held.emplace_back(rows, width, random, kind);
    for (const Matrix& source : held) sources.push_back(source.rows());
    const Weights gain = stored_vector_of(width, random, Kind::plain),
                  projection = stored_vector_of(width, random, Kind::plain);
    expect_same(
        "attention_residual",
        [&](Ops& ops, Matrix& y, Matrix& p) {
          ops.attention_residual(sources, gain.view(), projection.view(), 1e-5f, y.rows(), p.rows());
        },
        Matrix(rows, width), Matrix(rows, n));
    expect_same(
        "attention_residual",
        [&](Ops& ops, Matrix& y) {
          ops.attention_residual(sources, gain.view(), projection.view(), 1e-5f, y.rows(), Rows{});
        },
        Matrix(rows, width));
  }
}

TEST(CpuOps, ShortConvolutionEqualsTheReference) {
  Random random(9);
  for (int repeat = 0; repeat < test::cases(60); ++repeat) {
    const Kind kind = kKinds[repeat % 3];
    const int rows = pick(random, 1, 12), kernel = repeat % 2 == 0 ? 4 : pick(random, 1, 12);
    const int channels = repeat % 10 == 0 ? 5000 : pick(random, 1, 150);
    const Matrix x(rows, channels, random, kind);
    const std::vector<float> taps = numbers(channels * kernel, random, Kind::plain);
    const std::vector<float> history = numbers(channels * (kernel - 1), random, kind);
    expect_same(
        "short_conv",
        [&](Ops& ops, Matrix& y, std::vector<float>& kept) { ops.short_conv(x.rows(), taps, kernel, kept, y.rows()); },
        Matrix(rows, channels), history);
  }
}

TEST(CpuOps, KdaEqualsTheReference) {
  Random random(10);
  for (int repeat = 0; repeat < test::cases(60); ++repeat) {
    const Kind kind = kKinds[repeat % 3];
    const int rows = pick(random, 1, 7), heads = pick(random, 1, 12);
    const int dim = repeat % 4 == 0 ? 128 : repeat % 4 == 1 ? 16 * pick(random, 1, 6) : pick(random, 1, 70);
    const int width = heads * dim;
    const Matrix q(rows, width, random, kind), k(rows, width, random, kind), v(rows, width, random, kind);
    const Matrix alpha(rows, width, random, kind), beta(rows, heads, random, kind);
    const std::vector<float> state = numbers(width * dim, random, kind);
    const auto step = [&](Ops& ops, Matrix& out, std::vector<float>& advanced) {
      ops.kda_recurrence(
          {q.rows(), k.rows(), v.rows(), alpha.rows(), beta.rows(), out.rows(), heads, dim, advanced.data()});
    };
    expect_same("kda", step, Matrix(rows, width), state);
    const std::vector<float> a_log = numbers(heads + 3, random, Kind::plain), bias = numbers(width, random, kind);
    expect_same(
        "kda_decay", [&](Ops& ops, Matrix& y) { ops.kda_decay(q.rows(), a_log, bias, -5, dim, y.rows()); },
        Matrix(rows, width));
  }
}

// Pages of a cache of `width` floats a position.
struct Keys {
  Keys(int positions, int width, Random& random, Kind kind) {
    const int count = (positions + kAttentionBlock - 1) / kAttentionBlock;
    floats = numbers(count * kAttentionBlock * width, random, kind);
    for (int page = 0; page < count; ++page)
      pages.push_back(floats.data() + static_cast<std::ptrdiff_t>(page) * kAttentionBlock * width);
  }
  std::vector<float> floats;
  std::vector<const float*> pages;
};

TEST(CpuOps, LatentAttentionEqualsTheReference) {
  Random random(11);
  for (int repeat = 0; repeat < test::cases(40); ++repeat) {
    const Kind kind = repeat % 8 == 7 ? Kind::wild : repeat % 4 == 3 ? Kind::awkward : Kind::plain;
    const int rows = pick(random, 1, 5), heads = pick(random, 1, 9), first = pick(random, 0, 200);
    const bool large = repeat % 5 == 0;
    const int latent = large ? 512 : pick(random, 1, 90), rope = large ? 64 : pick(random, 0, 40),
              width = latent + rope;
    const Keys keys(first + rows, width, random, kind);
    const Matrix query(rows, heads * width, random, kind);
    expect_same(
        "latent_attention",
        [&](Ops& ops, Matrix& out) {
          ops.latent_attention({query.rows(), keys.pages, first, heads, latent, rope, 0.3f, out.rows()});
        },
        Matrix(rows, heads * latent));
  }
}

TEST(CpuOps, RopeEqualsTheReference) {
  Random random(12);
  for (int repeat = 0; repeat < test::cases(90); ++repeat) {
    const Kind kind = kKinds[repeat % 3];
    const int rows = pick(random, 1, 6), heads = pick(random, 1, 20), pairs = pick(random, 1, 70);
    const int before = pick(random, 0, 9), head_width = before + 2 * pairs + pick(random, 0, 9);
    const Matrix x(rows, heads * head_width, random, kind);
    const Matrix cos(rows, pairs, random, kind), sin(rows, pairs, random, kind);
    for (const RopeLayout layout : {RopeLayout::interleaved, RopeLayout::half_split})
      expect_same(
          "rope",
          [&](Ops& ops, Matrix& y) {
            ops.rope({y.rows(), head_width, before, layout, cos.rows(), sin.rows()});
          },
          x);
  }
}

TEST(CpuOps, HeadAttentionEqualsTheReference) {
  Random random(13);
  for (int repeat = 0; repeat < test::cases(40); ++repeat) {
    const Kind kind = repeat % 8 == 7 ? Kind::wild : repeat % 4 == 3 ? Kind::awkward : Kind::plain;
    const int rows = pick(random, 1, 5), kv_heads = pick(random, 1, 5), heads = kv_heads * pick(random, 1, 9);
    const int first = pick(random, 0, 200), dim = repeat % 5 == 0 ? 128 : pick(random, 1, 90);
    const Keys cache(first + rows, 2 * kv_heads * dim, random, kind);
    const Matrix query(rows, heads * dim, random, kind);
    expect_same(
        "head_attention",
        [&](Ops& ops, Matrix& out) {
          ops.head_attention({query.rows(), cache.pages, first, heads, kv_heads, dim, 0.3f, out.rows()});
        },
        Matrix(rows, heads * dim));
  }
}

// Query rows with choices of their own, from one position to everything; blocks that nobody chose from are skipped.
TEST(CpuOps, SparseAttentionEqualsTheReference) {
  Random random(14);
  for (int repeat = 0; repeat < test::cases(40); ++repeat) {
    const Kind kind = repeat % 8 == 7 ? Kind::wild : repeat % 4 == 3 ? Kind::awkward : Kind::plain;
    const int rows = pick(random, 1, 5), heads = pick(random, 1, 9), positions = pick(random, rows, 500);
    const int latent = pick(random, 1, 90), rope = pick(random, 0, 40), width = latent + rope;
    const Keys keys(positions, width, random, kind);
    std::vector<int> chosen, begin = {0};
    for (int row = 0; row < rows; ++row) {
      const int one_in = pick(random, 1, 100);
      for (int position = 0; position < positions; ++position)
        if (pick(random, 1, one_in) == 1) chosen.push_back(position);
      if (static_cast<int>(chosen.size()) == begin.back()) chosen.push_back(positions - 1);
      begin.push_back(static_cast<int>(chosen.size()));
    }
    const Matrix query(rows, heads * width, random, kind);
    expect_same(
        "sparse attention",
        [&](Ops& ops, Matrix& out) {
          ops.latent_attention({query.rows(), keys.pages, 0, heads, latent, rope, 0.3f, out.rows(), chosen, begin});
        },
        Matrix(rows, heads * latent));
  }
}

// A choice of everything that is visible has the bits of dense attention.
TEST(CpuOps, ChoosingEverythingIsDenseAttention) {
  Random random(15);
  for (Candidate& candidate : candidates())
    for (int first : {0, 5, 63, 64, 150}) {
      const int rows = 70, heads = 3, latent = 40, rope = 8, width = latent + rope;
      const Keys keys(first + rows, width, random, Kind::plain);
      const Matrix query(rows, heads * width, random, Kind::plain);
      std::vector<int> chosen, begin = {0};
      for (int row = 0; row < rows; ++row) {
        for (int position = 0; position <= first + row; ++position) chosen.push_back(position);
        begin.push_back(static_cast<int>(chosen.size()));
      }
      const Matrix dense(rows, heads * latent), sparse(rows, heads * latent);
      LatentAttention attention{query.rows(), keys.pages, first, heads, latent, rope, 0.3f, dense.rows()};
      candidate.ops->latent_attention(attention);
      attention.out = sparse.rows();
      attention.chosen = chosen;
      attention.chosen_begin = begin;
      candidate.ops->latent_attention(attention);
      EXPECT_TRUE(same(dense, sparse)) << candidate.name << ", first position " << first;
    }
}

// Windows that begin inside a page, with no entries, all of them or chosen ones behind them.
TEST(CpuOps, WindowAttentionEqualsTheReference) {
  Random random(17);
  for (int repeat = 0; repeat < test::cases(60); ++repeat) {
    const Kind kind = repeat % 8 == 7 ? Kind::wild : repeat % 4 == 3 ? Kind::awkward : Kind::plain;
    const int rows = pick(random, 1, 5), heads = pick(random, 1, 9), first = pick(random, 0, 200);
    const int dim = repeat % 5 == 0 ? 512 : pick(random, 1, 90), window = pick(random, 1, 150);
    const int entries = pick(random, 0, 200);
    const Keys keys(first + rows, dim, random, kind), compressed(entries + 1, dim, random, kind);
    std::vector<int> seen, chosen, begin = {0};
    for (int row = 0; row < rows; ++row) {
      seen.push_back(row == 0 ? 0 : pick(random, 0, entries));
      const int one_in = pick(random, 1, 20);
      for (int entry = 0; entry < entries; ++entry)
        if (pick(random, 1, one_in) == 1) chosen.push_back(entry);
      begin.push_back(static_cast<int>(chosen.size()));
    }
    const std::vector<float> sinks = numbers(heads, random, kind);
    const Matrix query(rows, heads * dim, random, kind);
    for (const bool sparse : {false, true})
      expect_same(
          sparse ? "window attention with a choice" : "window attention",
          [&](Ops& ops, Matrix& out) {
            WindowAttention attention{query.rows(), keys.pages, first, window, compressed.pages, seen,
                                      sinks,        heads,      dim,   0.3f,   out.rows()};
            attention.bf16_weights = repeat % 3 == 2;
            if (sparse) {
              attention.chosen = chosen;
              attention.chosen_begin = begin;
            }
            ops.window_attention(attention);
          },
          Matrix(rows, heads * dim));
  }
}

TEST(CpuOps, StreamsAndPoolsEqualTheReference) {
  Random random(18);
  for (int repeat = 0; repeat < test::cases(90); ++repeat) {
    const Kind kind = kKinds[repeat % 3];
    const int rows = pick(random, 1, 6), streams = repeat % 2 == 0 ? 4 : pick(random, 1, kMostStreams);
    const int width = repeat % 10 == 0 ? 2500 : pick(random, 1, 90);
    const Matrix output(rows, width, random, kind), weights(rows, streams * (1 + streams), random, Kind::plain);
    expect_same(
        "mix_streams", [&](Ops& ops, Matrix& x) { ops.mix_streams(output.rows(), weights.rows(), streams, x.rows()); },
        Matrix(rows, streams * width, random, kind));
    std::vector<const float*> values, gates;
    std::vector<int> begin = {0};
    const Matrix slots(200, 2 * width, random, kind);
    for (int window = 0; window < rows; ++window) {
      for (int slot = pick(random, 1, 20); slot > 0; --slot) {
        values.push_back(slots.rows().row(pick(random, 0, 199)));
        gates.push_back(slots.rows().row(pick(random, 0, 199)) + width);
      }
      begin.push_back(static_cast<int>(values.size()));
    }
    expect_same(
        "pool",
        [&](Ops& ops, Matrix& y) {
          ops.pool({values, gates, begin, y.rows()});
        },
        Matrix(rows, width));
  }
}

TEST(CpuOps, IndexScoresEqualTheReference) {
  Random random(16);
  for (int repeat = 0; repeat < test::cases(40); ++repeat) {
    const Kind kind = repeat % 8 == 7 ? Kind::wild : repeat % 4 == 3 ? Kind::awkward : Kind::plain;
    const bool large = repeat % 5 == 0;
    const int rows = pick(random, 1, 5), heads = large ? 32 : pick(random, 1, 9), positions = pick(random, 1, 300);
    const int dim = large ? 128 : pick(random, 1, 90);
    const Keys keys(positions, dim, random, kind);
    const Matrix query(rows, heads * dim, random, kind), weights(rows, heads, random, kind);
    expect_same(
        "index_scores",
        [&](Ops& ops, Matrix& out) {
          ops.index_scores({query.rows(), weights.rows(), keys.pages, heads, dim, out.rows(), repeat % 3 == 2});
        },
        Matrix(rows, positions));
  }
}

TEST(KernelTable, NamesAreFoundAndTheScalarSetIsAlwaysThere) {
  EXPECT_EQ(find_kernels("scalar"), &kScalarKernels);
  EXPECT_EQ(find_kernels("auto"), &best_kernels());
  EXPECT_EQ(find_kernels("mmx"), nullptr);
  EXPECT_EQ(find_kernels(""), nullptr);
  for (const KernelTable* kernels : supported_kernels()) EXPECT_EQ(find_kernels(kernels->name), kernels);
}

// Few distinct numbers make ties, and numbers of one magnitude need every step of the search.
float choosable(Random& random, Kind kind, int how) {
  if (how == 0) return static_cast<float>(pick(random, -3, 3));
  if (how == 1) return std::bit_cast<float>(0x3f800000u + static_cast<std::uint32_t>(pick(random, 0, 40)));
  return number(random, kind);
}

TEST(CpuOps, ChoicesEqualTheReference) {
  Random random(19);
  for (int repeat = 0; repeat < test::cases(300); ++repeat) {
    const Kind kind = kKinds[repeat % 3];
    const int how = repeat / 3 % 3, rows = pick(random, 1, 5), groups = repeat % 4 == 0 ? pick(random, 2, 9) : 1;
    const int width = groups * (repeat % 20 == 1 ? 3000 : pick(random, groups > 1 ? 2 : 1, 150));
    Matrix x(rows, width);
    for (int row = 0; row < rows; ++row)
      for (float& value : x.rows()[row]) value = choosable(random, kind, how);
    std::vector<float> bias(static_cast<std::size_t>(repeat % 2 == 0 ? width : 0));
    for (float& value : bias) value = choosable(random, kind, how);
    const int kept = pick(random, 1, groups), count = pick(random, 1, repeat % 5 == 0 ? 1 : width / groups * kept);
    expect_same(
        "choose " + std::to_string(count) + " of " + std::to_string(width) + " in " + std::to_string(groups),
        [&](Ops& ops, std::vector<float>& chosen) {
          std::vector<int> columns(chosen.size());
          ops.choose({x.rows(), bias, count, groups, kept, columns});
          std::ranges::copy(columns, chosen.begin());
        },
        std::vector<float>(static_cast<std::size_t>(rows * count)));
  }
}

TEST(CpuOps, WeightsOfStreamsEqualTheReference) {
  Random random(20);
  for (int repeat = 0; repeat < test::cases(120); ++repeat) {
    const Kind kind = kKinds[repeat % 3];
    const int rows = pick(random, 1, 7), n = repeat % 2 == 0 ? 4 : pick(random, 1, kMostStreams);
    const bool whole = repeat % 5 != 0;
    const int width = whole ? (2 + n) * n : n, iterations = pick(random, 1, 20);
    const Matrix mixes(rows, width, random, kind), inverse(rows, 1, random, Kind::plain);
    const std::vector<float> base = numbers(width, random, kind), scale = numbers(3, random, Kind::plain);
    const float eps = repeat % 7 == 0 ? 0.f : 1e-6f;
    expect_same(
        "weights of " + std::to_string(n) + " streams",
        [&](Ops& ops, std::vector<float>& pre, Matrix& weights) {
          ops.stream_weights(
              {mixes.rows(), inverse.rows(), base, scale, n, iterations, eps, pre, whole ? weights.rows() : Rows{}});
        },
        std::vector<float>(static_cast<std::size_t>(rows * n)), Matrix(rows, (1 + n) * n));
  }
}

// Exponents over the whole range of double's exp, results that are subnormal or out of range among them.
TEST(CpuOps, ExponentialsInDoubleEqualTheReference) {
  Random random(21);
  for (int repeat = 0; repeat < test::cases(40); ++repeat) {
    const int count = repeat % 8 == 0 ? 5000 : pick(random, 1, 70);
    std::vector<float> x = numbers(count, random, repeat % 4 == 3 ? Kind::wild : Kind::awkward);
    const float spread = std::ldexp(1.f, pick(random, -4, 9));
    if (repeat % 4 < 2)
      for (float& value : x) value = std::uniform_real_distribution<float>(-1, 1)(random) * spread;
    const double divisor = std::ldexp(1.0, pick(random, -2, 2)) * 1.1;
    ReferenceOps reference;
    std::vector<double> expected(x.size());
    reference.exp_weights(x, 0.25f, divisor, expected);
    for (Candidate& candidate : candidates()) {
      std::vector<double> got(x.size());
      candidate.ops->exp_weights(x, 0.25f, divisor, got);
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_TRUE(std::bit_cast<std::uint64_t>(got[i]) == std::bit_cast<std::uint64_t>(expected[i]) ||
                    (std::isnan(got[i]) && std::isnan(expected[i])))
            << candidate.name << ": exp of " << x[i] << " is " << got[i] << ", not " << expected[i];
    }
  }
}

}  // namespace
}  // namespace sluice
