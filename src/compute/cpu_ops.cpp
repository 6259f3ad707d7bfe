// See cpu_ops.h. Costs are guesses in nanoseconds of one core: they decide how work is cut, never what comes out.
#include "compute/cpu_ops.h"

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "formats/format.h"

namespace sluice {

namespace {

constexpr double kWorthSharing = 4000;     // less is done by the calling thread alone
constexpr double kLeastPart = 2000;        // a claimed chunk costs about 100
constexpr double kMostPart = 100'000;      // so that a slow thread is waited for little
constexpr double kNearBytes = 256 * 1024;  // of weights that a core keeps at hand
constexpr double kBytesPerNanosecond = 10;
constexpr std::uint64_t kStoredVectors = 2;  // that an operation needs the numbers of at once

static_assert(kKernelFormats == kFormatCount);
static_assert(kAttentionBlock == 64 && kMostStreams == kKernelStreams);

std::uint64_t padded(int cols) { return static_cast<std::uint64_t>((cols + kBlockCols - 1) / kBlockCols * kBlockCols); }
// Of one vector, packed in any form of the mode.
std::uint64_t most_floats(CpuOps::Limits limits) {
  const std::uint64_t exact = padded(limits.width);
  if (limits.numerics == Numerics::exact) return exact;
  return std::max({exact, quantised_floats(true, limits.width), quantised_floats(false, limits.width)});
}
std::uint64_t packed_floats(CpuOps::Limits limits) {
  return static_cast<std::uint64_t>(std::min(limits.rows, kRowBlock)) * most_floats(limits);
}

const std::uint8_t* bytes(const std::byte* p) { return reinterpret_cast<const std::uint8_t*>(p); }
std::int64_t row_weight_bytes(const WeightView& w) {
  return static_cast<std::int64_t>(format(w.format).row_weight_bytes(w.shape.cols));
}
std::int64_t scale_row_bytes(const WeightView& w) {
  return static_cast<std::int64_t>(format(w.format).scale_row_bytes(w.shape.cols));
}
double bytes_per_row(const WeightView& w) {
  return static_cast<double>(row_weight_bytes(w)) +
         static_cast<double>(scale_row_bytes(w)) / format(w.format).scale_rows;
}
// Never null, because kernels add to it.
const std::uint8_t* scale_bytes(const WeightView& w) { return bytes(w.scales != nullptr ? w.scales : w.weights); }

// Nanoseconds that one core needs for one row of W with `rows` vectors.
double row_cost(const WeightView& w, int rows) {
  return std::max(bytes_per_row(w) / kBytesPerNanosecond,
                  static_cast<double>(w.shape.cols) * rows / kMacsPerNanosecond);
}

}  // namespace

std::uint64_t CpuOps::scratch_bytes(Limits limits, int threads) {
  const std::uint64_t sums = limits.rows >= kTileFromRows ? static_cast<std::uint64_t>(threads) * kSumFloats : 0;
  return sizeof(float) * (packed_floats(limits) + kStoredVectors * padded(limits.width) + sums);
}

CpuOps::CpuOps(ThreadPool& pool, const KernelTable& kernels, Limits limits, bool two_fmas)
    : pool_(pool),
      kernels_(kernels),
      numerics_(limits.numerics),
      two_fmas_(two_fmas),
      packed_floats_(packed_floats(limits)),
      vector_floats_(padded(limits.width)),
      scratch_(scratch_bytes(limits, pool.threads()), "activations") {
  SLUICE_CHECK(scratch_.size() >= scratch_bytes(limits, pool.threads()));
}

float* CpuOps::sums() const {
  const auto thread = static_cast<std::uint64_t>(ThreadPool::thread_index());
  return reinterpret_cast<float*>(scratch_.data()) + packed_floats_ + kStoredVectors * vector_floats_ +
         thread * kSumFloats;
}

const float* CpuOps::numbers_of(const WeightView& stored, int room) {
  const bool fits = reinterpret_cast<std::uintptr_t>(stored.weights) % alignof(float) == 0;
  if (stored.format == FormatId::f32 && fits) return reinterpret_cast<const float*>(stored.weights);
  return make_numbers(stored, room);
}

float* CpuOps::make_numbers(const WeightView& stored, int room) {
  const auto count = static_cast<std::size_t>(stored.shape.cols);
  SLUICE_CHECK(stored.shape.rows == 1 && count <= vector_floats_);
  float* const numbers =
      reinterpret_cast<float*>(scratch_.data()) + packed_floats_ + static_cast<std::uint64_t>(room) * vector_floats_;
  format(stored.format).decode_row(stored, 0, {numbers, count});
  return numbers;
}

// Tasks [0, tasks), several of them a chunk if they are small; all by the caller if sharing does not pay.
void CpuOps::run(int tasks, double nanoseconds_each, FunctionRef<void(int first, int last)> body) {
  const double total = tasks * nanoseconds_each;
  if (total < kWorthSharing) {
    if (tasks > 0) body(0, tasks);
    return;
  }
  const double part = std::clamp(total / (4 * pool_.threads()), kLeastPart, kMostPart);
  pool_.parallel_ranges(tasks, std::clamp(static_cast<int>(part / nanoseconds_each), 1, tasks), body);
}

// Numbers [first, first + count) of each row, for operations that treat every number alone.
void CpuOps::along_rows(int rows, int width, double nanoseconds_per_number,
                        FunctionRef<void(int row, int first, int count)> body) {
  constexpr int kPiece = 1024;
  const int pieces = (width + kPiece - 1) / kPiece;
  run(rows * pieces, nanoseconds_per_number * std::min(width, kPiece), [&](int first, int last) {
    for (int task = first; task < last; ++task) {
      const int begin = task % pieces * kPiece;
      body(task / pieces, begin, std::min(kPiece, width - begin));
    }
  });
}

// Products ------------------------------------------------------------------------------------------------------------

void CpuOps::matmul(std::span<const Product> products) {
  for (const Product& product : products) {
    SLUICE_DCHECK(product.x.width == product.w.shape.cols && product.y.width == product.w.shape.rows);
    for (int row = 0; row < product.x.rows; row += kRowBlock) {
      const int rows = std::min(kRowBlock, product.x.rows - row);
      if (take(product, row, rows)) continue;
      flush();
      const bool fits = take(product, row, rows);
      SLUICE_CHECK(fits);
    }
  }
  flush();
}

CpuOps::Form CpuOps::form_of(const WeightView& w) const {
  const FastFormat* const fast = numerics_ == Numerics::fast ? fast_format(w.format) : nullptr;
  return fast == nullptr ? Form::floats : fast->nibbles ? Form::nibbles : Form::bytes;
}
std::uint64_t CpuOps::floats_of(Form form, int cols) {
  return form == Form::floats ? padded(cols) : quantised_floats(form == Form::nibbles, cols);
}

// Notes an item; false if there is no room to pack its vectors.
bool CpuOps::take(const Product& product, int first_row, int rows) {
  const Rows x = product.x.slice(first_row, rows);
  const Form form = form_of(product.w);
  const auto same = [&](const Packed& packed) {
    return packed.form == form && packed.x.data == x.data && packed.x.rows == x.rows && packed.x.width == x.width &&
           packed.x.stride == x.stride;
  };
  auto known = std::find_if(packed_.rbegin(), packed_.rend(), same);
  if (known == packed_.rend()) {
    const std::uint64_t needed = static_cast<std::uint64_t>(rows) * floats_of(form, x.width);
    if (used_floats_ + needed > packed_floats_) return false;
    packed_.push_back({x, form, reinterpret_cast<float*>(scratch_.data()) + used_floats_});
    used_floats_ += needed;
    known = packed_.rbegin();
  }
  items_.push_back({&product, first_row, rows, form, known->panels, 0, 0});
  return true;
}

// As many rows of W as take about so long, and stay in the second-level cache if several passes meet them.
int CpuOps::outs_per_part(const Item& item, double nanoseconds) const {
  const WeightView& w = item.product->w;
  const int wanted = static_cast<int>(std::min(nanoseconds / row_cost(w, item.rows), 1e6));
  const int near = static_cast<int>(kNearBytes / bytes_per_row(w));
  if (item.form != Form::floats) {
    const int streams = kernels_.streams_fast(item.rows);
    return (std::min(wanted, item.rows > 1 ? near : wanted) / streams | 1) * streams;
  }
  if (in_tiles(item.rows)) return kPartRows;
  const int streams = kernels_.streams[static_cast<std::size_t>(w.format)](item.rows, two_fmas_);
  const bool several_passes = item.rows > kernels_.panel_rows(item.rows, two_fmas_);
  return (std::min(wanted, several_passes ? near : wanted) / streams | 1) * streams;
}

// Computes the items noted so far.
void CpuOps::flush() {
  if (items_.empty()) return;
  pack();
  double total = 0;
  for (const Item& item : items_) total += item.product->w.shape.rows * row_cost(item.product->w, item.rows);
  const double part = std::clamp(total / (4 * pool_.threads()), kLeastPart, kMostPart);
  int parts = 0;
  for (Item& item : items_) {
    item.outs_per_part = outs_per_part(item, part);
    item.parts_before = parts;
    parts += (item.product->w.shape.rows + item.outs_per_part - 1) / item.outs_per_part;
  }
  const auto body = [&](int first, int last) {
    auto item = std::upper_bound(items_.begin(), items_.end(), first,
                                 [](int task, const Item& other) { return task < other.parts_before; });
    for (int task = first; task < last; ++task) {
      while (item != items_.end() && item->parts_before <= task) ++item;
      multiply(*std::prev(item), task - std::prev(item)->parts_before);
    }
  };
  if (total < kWorthSharing) {
    body(0, parts);
  } else {
    pool_.parallel_ranges(parts, 1, body);
  }
  items_.clear();
  packed_.clear();
  used_floats_ = 0;
}

void CpuOps::pack() {
  constexpr double kNanosecondsPerNumber = 0.15, kNanosecondsToQuantise = 0.5;
  for (const Packed& packed : packed_) {
    const Rows x = packed.x;
    if (packed.form != Form::floats) {
      const std::uint64_t floats = floats_of(packed.form, x.width);
      run(x.rows, kNanosecondsToQuantise * x.width, [&](int first, int last) {
        for (int row = first; row < last; ++row)
          kernels_.quantise(x.row(row), x.width, packed.form == Form::nibbles,
                            reinterpret_cast<std::uint8_t*>(packed.panels + static_cast<std::uint64_t>(row) * floats));
      });
      continue;
    }
    const int panel = kernels_.panel_rows(x.rows, two_fmas_), panels = (x.rows + panel - 1) / panel;
    run(panels, kNanosecondsPerNumber * panel * x.width, [&](int first, int last) {
      for (int row = first * panel; row < std::min(last * panel, x.rows); row += panel)
        kernels_.pack(x.row(row), x.stride, std::min(panel, x.rows - row), x.width,
                      packed.panels + static_cast<std::uint64_t>(row) * padded(x.width));
    });
  }
}

void CpuOps::multiply(const Item& item, int part) const {
  const int first = part * item.outs_per_part;
  const int outs = std::min(item.outs_per_part, item.product->w.shape.rows - first);
  const WeightView w = item.product->w.row_slice(first, outs);
  const Rows y = item.product->y;
  if (item.form != Form::floats)
    return kernels_.matmul_fast(fast_part(w, item.panels, item.rows, y.row(item.first_row) + first, y.stride));
  kernels_.matmul[static_cast<std::size_t>(w.format)]({
      .weights = bytes(w.weights),
      .scales = scale_bytes(w),
      .weight_stride = row_weight_bytes(w),
      .scale_stride = scale_row_bytes(w),
      .scale_phase = w.scale_phase,
      .two_fmas = two_fmas_,
      .outs = outs,
      .cols = w.shape.cols,
      .x = item.panels,
      .x_rows = item.rows,
      .y = y.row(item.first_row) + first,
      .y_stride = y.stride,
      .sums = in_tiles(item.rows) ? sums() : nullptr,
  });
}

void CpuOps::matmul_transposed(std::span<const Product> products) {
  constexpr int kBlocksPerPart = 4;
  const auto parts_of = [](const Product& product) {
    const int blocks = (product.w.shape.cols + kBlockCols - 1) / kBlockCols;
    return (blocks + kBlocksPerPart - 1) / kBlocksPerPart;
  };
  double total = 0;
  int parts = 0;
  for (const Product& product : products) {
    SLUICE_DCHECK(product.x.width == product.w.shape.rows && product.y.width == product.w.shape.cols);
    total += product.w.shape.rows * row_cost(product.w, product.x.rows);
    parts += parts_of(product);
  }
  run(parts, parts > 0 ? total / parts : 0, [&](int first, int last) {
    std::size_t index = 0;
    int before = 0;
    for (int task = first; task < last; ++task) {
      while (before + parts_of(products[index]) <= task) before += parts_of(products[index++]);
      const auto& [w, x, y] = products[index];
      const int block = (task - before) * kBlocksPerPart, blocks = (w.shape.cols + kBlockCols - 1) / kBlockCols;
      kernels_.matmul_transposed[static_cast<std::size_t>(w.format)]({
          .weights = bytes(w.weights),
          .scales = scale_bytes(w),
          .weight_stride = row_weight_bytes(w),
          .scale_stride = scale_row_bytes(w),
          .scale_phase = w.scale_phase,
          .w_rows = w.shape.rows,
          .cols = w.shape.cols,
          .first_block = block,
          .last_block = std::min(block + kBlocksPerPart, blocks),
          .x = x.data,
          .x_stride = x.stride,
          .x_rows = x.rows,
          .y = y.data,
          .y_stride = y.stride,
      });
    }
  });
}

// Along vectors -------------------------------------------------------------------------------------------------------

void CpuOps::rms_norm(Rows x, const WeightView& gain, float eps, Rows y) {
  const int width = gain.shape.cols, runs = x.width / width;
  SLUICE_DCHECK(x.width % width == 0);
  const float* const numbers = numbers_of(gain, 0);
  run(x.rows * runs, 0.15 * width, [&](int first, int last) {
    for (int task = first; task < last; ++task) {
      const int column = task % runs * width;
      kernels_.rms_norm(x.row(task / runs) + column, numbers, width, eps, y.row(task / runs) + column);
    }
  });
}

void CpuOps::inverse_rms(Rows x, float eps, Rows y) {
  run(x.rows, 0.1 * x.width, [&](int first, int last) {
    for (int row = first; row < last; ++row) *y.row(row) = kernels_.inverse_rms(x.row(row), x.width, eps);
  });
}

void CpuOps::layer_norm(Rows x, const WeightView& gain, const WeightView& bias, float eps, Rows y) {
  SLUICE_DCHECK(x.width == gain.shape.cols && x.width == bias.shape.cols);
  const float *const gains = numbers_of(gain, 0), *const biases = numbers_of(bias, 1);
  run(x.rows, 0.2 * x.width, [&](int first, int last) {
    for (int row = first; row < last; ++row) kernels_.layer_norm(x.row(row), gains, biases, x.width, eps, y.row(row));
  });
}

void CpuOps::l2_norm(Rows x, int width, float eps, float scale) {
  const int runs = x.width / width;
  SLUICE_DCHECK(x.width % width == 0);
  run(x.rows * runs, 0.15 * width, [&](int first, int last) {
    for (int task = first; task < last; ++task)
      kernels_.l2_norm(x.row(task / runs) + task % runs * width, width, eps, scale);
  });
}

void CpuOps::add(Rows x, Rows y) {
  along_rows(y.rows, y.width, 0.1,
             [&](int row, int first, int count) { kernels_.add(x.row(row) + first, count, y.row(row) + first); });
}

void CpuOps::sigmoid(Rows x, Rows y) {
  along_rows(y.rows, y.width, 1,
             [&](int row, int first, int count) { kernels_.sigmoid(x.row(row) + first, count, y.row(row) + first); });
}

void CpuOps::gate_sigmoid(Rows gate, Rows y) {
  along_rows(y.rows, y.width, 1, [&](int row, int first, int count) {
    kernels_.gate_sigmoid(gate.row(row) + first, count, y.row(row) + first);
  });
}

void CpuOps::situ(Rows gate, Rows up, float b1, float b2, Rows y) {
  along_rows(y.rows, y.width, 3, [&](int row, int first, int count) {
    kernels_.situ(gate.row(row) + first, up.row(row) + first, count, b1, b2, y.row(row) + first);
  });
}

void CpuOps::swiglu(Rows gate, Rows up, Rows y) {
  along_rows(y.rows, y.width, 1, [&](int row, int first, int count) {
    kernels_.swiglu(gate.row(row) + first, up.row(row) + first, count, y.row(row) + first);
  });
}

void CpuOps::clamped_swiglu(Rows gate, Rows up, float limit, Rows y) {
  along_rows(y.rows, y.width, 1, [&](int row, int first, int count) {
    kernels_.clamped_swiglu(gate.row(row) + first, up.row(row) + first, count, limit, y.row(row) + first);
  });
}

void CpuOps::sqrt_softplus(Rows x, Rows y) {
  along_rows(y.rows, y.width, 2, [&](int row, int first, int count) {
    kernels_.sqrt_softplus(x.row(row) + first, count, y.row(row) + first);
  });
}

void CpuOps::clamp(Rows x, float limit) {
  along_rows(x.rows, x.width, 0.1,
             [&](int row, int first, int count) { kernels_.clamp(x.row(row) + first, count, limit); });
}

void CpuOps::softmax(Rows x) {
  run(x.rows, 1.0 * x.width, [&](int first, int last) {
    for (int row = first; row < last; ++row) kernels_.softmax(x.row(row), x.width);
  });
}

void CpuOps::rope(const Rope& rope) {
  const int heads = rope.x.width / rope.head_width, pairs = rope.cos.width;
  SLUICE_DCHECK(rope.x.width % rope.head_width == 0 && rope.first + 2 * pairs <= rope.head_width);
  run(rope.x.rows * heads, 0.3 * pairs, [&](int first, int last) {
    for (int task = first; task < last; ++task) {
      const int row = task / heads;
      float* const turned = rope.x.row(row) + task % heads * rope.head_width + rope.first;
      kernels_.rope(turned, rope.layout == RopeLayout::half_split ? turned + pairs : nullptr, rope.cos.row(row),
                    rope.sin.row(row), pairs);
    }
  });
}

void CpuOps::weighted_sum(Rows outputs, std::span<const float> weights, int per_row, Rows y) {
  along_rows(y.rows, y.width, 0.1 * per_row, [&](int row, int first, int count) {
    kernels_.weighted_sum(outputs.row(row * per_row) + first, outputs.stride, weights.data() + row * per_row, per_row,
                          count, y.row(row) + first);
  });
}

void CpuOps::attention_residual(std::span<const Rows> sources, const WeightView& gain, const WeightView& projection,
                                float eps, Rows y, Rows weights) {
  const int n = static_cast<int>(sources.size());
  SLUICE_DCHECK(y.width == gain.shape.cols && y.width == projection.shape.cols);
  float* const f = make_numbers(gain, 0);
  const float* const projected = numbers_of(projection, 1);
  for (int i = 0; i < y.width; ++i) f[i] = f[i] * projected[i];
  sources_.clear();
  for (int row = 0; row < y.rows; ++row)
    for (const Rows& source : sources) sources_.push_back(source.row(row));
  if (weights.data == nullptr) softmax_.resize(sources_.size());
  run(y.rows, 0.3 * n * y.width, [&](int first, int last) {
    for (int row = first; row < last; ++row)
      kernels_.attention_residual(sources_.data() + row * n, n, f, y.width, eps, y.row(row),
                                  weights.data != nullptr ? weights.row(row) : softmax_.data() + row * n);
  });
}

void CpuOps::stream_weights(const StreamWeights& streams) {
  const int n = streams.streams;
  const bool whole = streams.weights.data != nullptr;
  SLUICE_DCHECK(n <= kMostStreams && streams.mixes.width == (whole ? (2 + n) * n : n));
  run(streams.mixes.rows, 200 + 1.5 * n * n * streams.iterations, [&](int first, int last) {
    for (int row = first; row < last; ++row)
      kernels_.stream_weights({
          .mixes = streams.mixes.row(row),
          .base = streams.base.data(),
          .scale = streams.scale.data(),
          .inverse_rms = *streams.inverse_rms.row(row),
          .streams = n,
          .iterations = streams.iterations,
          .eps = streams.eps,
          .pre = streams.pre.data() + static_cast<std::ptrdiff_t>(row) * n,
          .weights = whole ? streams.weights.row(row) : nullptr,
      });
  });
}

void CpuOps::mix_streams(Rows output, Rows weights, int streams, Rows x) {
  const int width = output.width;
  SLUICE_DCHECK(streams <= kMostStreams && x.width == streams * width && weights.width == streams * (1 + streams));
  along_rows(x.rows, width, 0.1 * streams * streams, [&](int row, int first, int count) {
    kernels_.mix_streams(output.row(row) + first, weights.row(row), streams, width, count, x.row(row) + first);
  });
}

void CpuOps::pool(const ChannelPool& pool) {
  SLUICE_DCHECK(static_cast<int>(pool.begin.size()) == pool.y.rows + 1 && pool.values.size() == pool.gates.size());
  const double slots = static_cast<double>(pool.values.size()) / std::max(pool.y.rows, 1);
  along_rows(pool.y.rows, pool.y.width, 2 * slots, [&](int window, int first, int count) {
    const auto begin = static_cast<std::size_t>(pool.begin[static_cast<std::size_t>(window)]);
    const int slots_here = pool.begin[static_cast<std::size_t>(window) + 1] - static_cast<int>(begin);
    kernels_.pool(pool.values.data() + begin, pool.gates.data() + begin, slots_here, first, count,
                  pool.y.row(window) + first);
  });
}

// In token order ------------------------------------------------------------------------------------------------------

void CpuOps::short_conv(Rows x, std::span<const float> taps, int kernel, std::span<float> history, Rows y) {
  constexpr int kChannels = 64;
  const int channels = x.width;
  run((channels + kChannels - 1) / kChannels, 1.0 * kChannels * (x.rows + 1), [&](int first, int last) {
    const int channel = first * kChannels;
    kernels_.short_conv({
        .x = x.data + channel,
        .taps = taps.data() + static_cast<std::int64_t>(channel) * kernel,
        .x_stride = x.stride,
        .y_stride = y.stride,
        .history_stride = channels,
        .rows = x.rows,
        .channels = std::min(last * kChannels, channels) - channel,
        .kernel = kernel,
        .history = history.data() + channel,
        .y = y.data + channel,
    });
  });
}

void CpuOps::kda_decay(Rows z, std::span<const float> a_log, std::span<const float> dt_bias, float bound, int dim,
                       Rows alpha) {
  const int heads = z.width / dim;
  run(z.rows * heads, 2.0 * dim + 20, [&](int first, int last) {
    for (int task = first; task < last; ++task) {
      const int head = task % heads, column = head * dim;
      kernels_.kda_decay(z.row(task / heads) + column, dt_bias.data() + column, dim,
                         a_log[static_cast<std::size_t>(head)], bound, alpha.row(task / heads) + column);
    }
  });
}

void CpuOps::kda_recurrence(const KdaStep& step) {
  // Whole heads are read in one stretch; few heads are cut by columns to feed all threads.
  const int dim = step.dim, columns = step.heads >= 2 * pool_.threads() ? dim : std::min(dim, 64);
  const int groups = (dim + columns - 1) / columns;
  run(step.heads * groups, 0.3 * step.q.rows * dim * columns, [&](int first, int last) {
    for (int task = first; task < last; ++task) {
      const int head = task / groups, column = task % groups * columns;
      const auto of = [&](Rows rows) { return rows.data + static_cast<std::int64_t>(head) * dim; };
      kernels_.kda({
          .q = of(step.q),
          .k = of(step.k),
          .v = of(step.v),
          .alpha = of(step.alpha),
          .beta = step.beta.data + head,
          .q_stride = step.q.stride,
          .k_stride = step.k.stride,
          .v_stride = step.v.stride,
          .alpha_stride = step.alpha.stride,
          .beta_stride = step.beta.stride,
          .out_stride = step.out.stride,
          .rows = step.q.rows,
          .dim = dim,
          .first = column,
          .count = std::min(columns, dim - column),
          .state = step.state + static_cast<std::int64_t>(head) * dim * dim,
          .out = of(step.out),
      });
    }
  });
}

}  // namespace sluice
