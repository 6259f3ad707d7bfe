// sluice's product kernels beside ggml's: in one process, in turns, on the same numbers. docs/peers.md has the figures;
// tools/peer/setup.sh builds it.
//
//   build-peer/ggml_kernels [--threads N] [--rounds N] [--format NAME] [--json FILE]
//
// A pair is a format of sluice and one of ggml that stores the same numbers: the same bytes (bf16, f16, f32), or the
// same values in ggml's own blocks (MXFP4; Q8_0 for int8, Q4_0 for int4 in groups of 64, with scales that both can
// hold), which is checked bit by bit. Q4_K has no partner; it stands beside int4g64 because a weight takes 4.5 bits in
// both. ggml's weights are measured as they lie in a file and, where ggml repacks them when a model is loaded without
// a mapping, repacked too.
//
// Speeds of a shared machine drift, so every round measures all of a pair in changing order, between two readings of
// the yardsticks (reading, multiply-adds), and ratios are medians over rounds. Time is processor time over the number
// of threads, as in `sluice bench kernels`: on an idle machine that is time by the clock, which --json tells too.
// Products of bf16 and f32 stand beside oneDNN's too, if it was there when this was built (Debian's libdnnl-dev).
//
// Each library has its own threads; before it is timed, the other's have gone to sleep and its own have been woken.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include <ggml-alloc.h>
#include <ggml-cpu.h>
#include <ggml.h>
#include "base/median.h"
#include "base/numbers.h"
#include "base/thread_pool.h"
#include "compute/cpu_ops.h"
#include "formats/format.h"
#ifdef PEER_ONEDNN
#include "peer/onednn.h"
#endif
#include "peer/same_weights.h"
#include "peer/yardsticks.h"

using namespace sluice;
using namespace peer;

namespace {

constexpr int kCheckedOuts = 256;                        // output rows compared with fp64
constexpr auto kSettle = std::chrono::milliseconds(20);  // until idle threads of either library sleep

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "ggml_kernels: %s\n", why.c_str());
  std::exit(1);
}

// The shapes of `sluice bench kernels`.
constexpr Pair kPairs[] = {
    {FormatId::bf16, GGML_TYPE_BF16, 12288, 7168, true},    {FormatId::mxfp4, GGML_TYPE_MXFP4, 3072, 3584, true},
    {FormatId::int8, GGML_TYPE_Q8_0, 2048, 6144, true},     {FormatId::int4g64, GGML_TYPE_Q4_0, 2048, 6144, true},
    {FormatId::int4g64, GGML_TYPE_Q4_K, 2048, 6144, false}, {FormatId::f16, GGML_TYPE_F16, 4096, 7168, true},
    {FormatId::f32, GGML_TYPE_F32, 4096, 7168, true}};

class Sluice final : public Contender {
 public:
  Sluice(ThreadPool& pool, const Weights& weights, const Pair& pair, Rows x, Numerics numerics)
      : weights_(weights), x_(x), ops_(pool, best_kernels(), {x.rows, x.width, numerics}) {
    name = "sluice " + std::string(numerics_name(numerics));
    bytes_of_one = weights.bytes_of_one();
    values_.resize(static_cast<std::size_t>(x.rows) * static_cast<std::size_t>(pair.outs));
    y_ = {values_.data(), x.rows, pair.outs, pair.outs};
  }
  void multiply(int first, int count) override {
    for (int i = 0; i < count; ++i) {
      const Product product{weights_[(first + i) % weights_.count()], x_, y_};
      ops_.matmul({&product, 1});
    }
  }
  std::span<const float> result() override { return values_; }

 private:
  const Weights& weights_;
  Rows x_, y_;
  CpuOps ops_;
  std::vector<float> values_;
};

using Buffer = std::unique_ptr<ggml_backend_buffer, decltype(&ggml_backend_buffer_free)>;
using Context = std::unique_ptr<ggml_context, decltype(&ggml_free)>;
Context context_for(std::size_t tensors, std::size_t graphs, std::size_t graph_size) {
  return {ggml_init({ggml_tensor_overhead() * tensors + ggml_graph_overhead_custom(graph_size, false) * graphs + 1024,
                     nullptr, true}),
          ggml_free};
}

// Matrices as tensors in one kind of ggml's memory.
class GgmlWeights {
 public:
  GgmlWeights(Weights& weights, const Pair& pair, ggml_backend_buffer_type_t kind)
      : context_(context_for(static_cast<std::size_t>(weights.count()), 0, 0)),
        buffer_(nullptr, ggml_backend_buffer_free) {
    for (int i = 0; i < weights.count(); ++i)
      tensors.push_back(ggml_new_tensor_2d(context_.get(), pair.theirs, pair.cols, pair.outs));
    const std::size_t bytes = ggml_nbytes(tensors[0]);
    if (!ggml_is_quantized(pair.theirs)) {  // the very same memory
      buffer_.reset(ggml_backend_cpu_buffer_from_ptr(weights.memory().data(), weights.memory().size()));
      for (std::size_t i = 0; i < tensors.size(); ++i)
        ggml_backend_tensor_alloc(buffer_.get(), tensors[i], weights.memory().data() + i * bytes);
      return;
    }
    buffer_.reset(ggml_backend_alloc_ctx_tensors_from_buft(context_.get(), kind));
    if (buffer_ == nullptr) give_up("ggml has no memory for weights");
    ask_for_huge_pages();
    SplitMix64 random;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::vector<std::uint8_t> blocks = as_blocks(pair, weights[static_cast<int>(i)], random);
      if (i == 0) first_blocks = blocks;
      ggml_backend_tensor_set(tensors[i], blocks.data(), 0, blocks.size());
    }
  }
  std::vector<ggml_tensor*> tensors;
  std::vector<std::uint8_t> first_blocks;  // of the first matrix, before any repacking; empty: ours

 private:
  void ask_for_huge_pages() {  // as sluice's weights have
    constexpr std::uintptr_t kPage = 2 << 20;
    const auto base = reinterpret_cast<std::uintptr_t>(ggml_backend_buffer_get_base(buffer_.get()));
    const std::uintptr_t first = (base + kPage - 1) / kPage * kPage;
    const std::uintptr_t end = (base + ggml_backend_buffer_get_size(buffer_.get())) / kPage * kPage;
    if (end > first) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
  }

  Context context_;
  Buffer buffer_;
};

// Graphs of `count` products one after the other, so that threads start once a timing.
class Ggml final : public Contender {
 public:
  Ggml(ggml_backend_t backend, std::string of_what, GgmlWeights& weights, const Pair& pair, Rows x, int count)
      : backend_(backend),
        count_(count),
        context_(context_for(2 * weights.tensors.size() + static_cast<std::size_t>(count) + 8,
                             weights.tensors.size() / static_cast<std::size_t>(count) + 2,
                             static_cast<std::size_t>(count) + 1)),
        buffer_(nullptr, ggml_backend_buffer_free) {
    name = std::move(of_what);
    bytes_of_one = ggml_nbytes(weights.tensors[0]);
    const std::size_t x_bytes = sizeof(float) * static_cast<std::size_t>(x.rows) * static_cast<std::size_t>(x.width);
    const std::size_t y_bytes = sizeof(float) * static_cast<std::size_t>(x.rows) * static_cast<std::size_t>(pair.outs);
    buffer_.reset(ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), x_bytes + y_bytes + 4096));
    auto* const base = static_cast<std::byte*>(ggml_backend_buffer_get_base(buffer_.get()));
    ggml_tensor* const vectors = ggml_new_tensor_2d(context_.get(), GGML_TYPE_F32, x.width, x.rows);
    ggml_backend_tensor_alloc(buffer_.get(), vectors, base);
    ggml_backend_tensor_set(vectors, x.data, 0, x_bytes);
    std::byte* const y = base + (x_bytes + 63) / 64 * 64;
    y_ = {reinterpret_cast<const float*>(y), y_bytes / sizeof(float)};
    const int all = static_cast<int>(weights.tensors.size());
    for (int first = 0; first < all; first += count) {
      graphs_.push_back(ggml_new_graph_custom(context_.get(), static_cast<std::size_t>(count) + 1, false));
      for (int i = first; i < first + count; ++i) {
        ggml_tensor* const product =
            ggml_mul_mat(context_.get(), weights.tensors[static_cast<std::size_t>(i % all)], vectors);
        ggml_backend_tensor_alloc(buffer_.get(), product, y);  // all at one place: one after the other
        ggml_build_forward_expand(graphs_.back(), product);
      }
    }
  }
  void multiply(int first, int) override {
    ggml_cgraph* const graph = graphs_[static_cast<std::size_t>(first / count_) % graphs_.size()];
    if (ggml_backend_graph_compute(backend_, graph) != GGML_STATUS_SUCCESS) give_up("ggml refuses a product");
  }
  std::span<const float> result() override { return y_; }

 private:
  ggml_backend_t backend_;
  int count_;
  Context context_;
  Buffer buffer_;
  std::vector<ggml_cgraph*> graphs_;
  std::span<const float> y_;
};

// Kinds of memory that ggml prefers for a product of this type, as llama.cpp asks for them, with a name.
std::vector<std::pair<std::string, ggml_backend_buffer_type_t>> memory_kinds(const Pair& pair) {
  std::vector<std::pair<std::string, ggml_backend_buffer_type_t>> kinds = {{"ggml", ggml_backend_cpu_buffer_type()}};
  ggml_backend_reg_t const all = ggml_backend_cpu_reg();
  ggml_backend_dev_t const device = ggml_backend_reg_dev_get(all, 0);
  const auto extra = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(
      ggml_backend_reg_get_proc_address(all, "ggml_backend_dev_get_extra_bufts"));
  for (ggml_backend_buffer_type_t* kind = extra != nullptr ? extra(device) : nullptr;
       kind != nullptr && *kind != nullptr; ++kind) {
    const Context context = context_for(4, 0, 0);
    ggml_tensor* const w = ggml_new_tensor_2d(context.get(), pair.theirs, pair.cols, pair.outs);
    const Buffer none(ggml_backend_buft_alloc_buffer(*kind, 0), ggml_backend_buffer_free);
    w->buffer = none.get();
    ggml_tensor* const x = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, pair.cols, 64);
    if (ggml_backend_dev_supports_op(device, ggml_mul_mat(context.get(), w, x)))
      kinds.emplace_back(std::string("ggml ") + ggml_backend_buft_name(*kind), *kind);
  }
  return kinds;
}

// fp64 results of the first kCheckedOuts rows of the first matrix, [rows, kCheckedOuts].
std::vector<double> exact_results(const std::vector<std::vector<float>>& decoded, Rows x) {
  std::vector<double> results;
  for (int row = 0; row < x.rows; ++row)
    for (const std::vector<float>& w : decoded) {
      double sum = 0;
      for (std::size_t k = 0; k < w.size(); ++k) sum += static_cast<double>(w[k]) * static_cast<double>(x[row][k]);
      results.push_back(sum);
    }
  return results;
}

// Largest difference against the root mean square of the exact results.
double error_of(std::span<const float> y, int outs, const std::vector<double>& exact) {
  double largest = 0, squares = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const std::size_t row = i / kCheckedOuts, out = i % kCheckedOuts;
    largest =
        std::max(largest, std::fabs(static_cast<double>(y[row * static_cast<std::size_t>(outs) + out]) - exact[i]));
    squares += exact[i] * exact[i];
  }
  return largest / std::sqrt(squares / static_cast<double>(exact.size()));
}

struct Flags {
  int threads = ThreadPool::usable_cpus(), rounds = 7;
  std::string format, json;
};

class Comparison {
 public:
  explicit Comparison(const Flags& flags)
      : flags_(flags), pool_(flags.threads), yardsticks_(pool_), backend_(ggml_backend_cpu_init()) {
    ggml_backend_cpu_set_n_threads(backend_, flags.threads);
#ifdef PEER_ONEDNN
    omp_set_num_threads(flags.threads);
#endif
  }
  ~Comparison() { ggml_backend_free(backend_); }
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  void run(const Pair& pair);
  void finish();

 private:
  using Decoded = std::vector<std::vector<float>>;
  struct Decodings {
    Decoded ours, theirs;
  };
  Decodings decode(const Pair& pair, const Weights& weights, const std::vector<std::uint8_t>& blocks) const;
  void measure(const Pair& pair, int rows, Weights& weights,
               std::vector<std::pair<std::string, std::unique_ptr<GgmlWeights>>>& theirs, const Decodings& decodings);
  void print(const Pair& pair, int rows, std::vector<std::unique_ptr<Contender>>& all,
             const std::vector<std::vector<double>>& speeds, const std::vector<nlohmann::json>& entries);

  Flags flags_;
  ThreadPool pool_;
  Yardsticks yardsticks_;
  ggml_backend_t backend_;
  nlohmann::json entries_ = nlohmann::json::array();
};

Comparison::Decodings Comparison::decode(const Pair& pair, const Weights& weights,
                                         const std::vector<std::uint8_t>& blocks) const {
  Decodings both;
  const WeightView first = weights[0];
  const auto* const bytes = blocks.empty() ? reinterpret_cast<const std::uint8_t*>(first.weights) : blocks.data();
  const ggml_to_float_t to_float = ggml_get_type_traits(pair.theirs)->to_float;
  for (int out = 0; out < kCheckedOuts; ++out) {
    both.ours.emplace_back(static_cast<std::size_t>(pair.cols));
    both.theirs.emplace_back(static_cast<std::size_t>(pair.cols));
    format(pair.ours).decode_row(first, out, both.ours.back());
    const std::uint8_t* const row = bytes + static_cast<std::size_t>(out) * ggml_row_size(pair.theirs, pair.cols);
    if (to_float != nullptr)
      to_float(row, both.theirs.back().data(), pair.cols);
    else
      std::memcpy(both.theirs.back().data(), row, sizeof(float) * static_cast<std::size_t>(pair.cols));
  }
  if (pair.same_numbers && both.ours != both.theirs)
    give_up(std::string(format(pair.ours).name) + ": ggml decodes other numbers than sluice");
  return both;
}

void Comparison::run(const Pair& pair) {
  if (!flags_.format.empty() && flags_.format != format(pair.ours).name) return;
  Weights weights(pair);
  std::vector<std::pair<std::string, std::unique_ptr<GgmlWeights>>> theirs;
  for (const auto& [name, kind] : memory_kinds(pair))
    theirs.emplace_back(name + " " + ggml_type_name(pair.theirs), std::make_unique<GgmlWeights>(weights, pair, kind));
  const Decodings decodings = decode(pair, weights, theirs[0].second->first_blocks);
  for (int rows : {1, 4, 64}) measure(pair, rows, weights, theirs, decodings);
}

void Comparison::measure(const Pair& pair, int rows, Weights& weights,
                         std::vector<std::pair<std::string, std::unique_ptr<GgmlWeights>>>& theirs,
                         const Decodings& decodings) {
  std::vector<float> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(pair.cols));
  SplitMix64 random;
  for (float& value : values) value = static_cast<float>(static_cast<std::int64_t>(random())) * 0x1p-63f;
  const Rows x{values.data(), rows, pair.cols, pair.cols};
  const double multiply_adds = 1.0 * rows * pair.outs * pair.cols;
  // A large stretch of memory a timing; of many rows, as much arithmetic as takes a while.
  const double wanted = std::min(2.5e8 / static_cast<double>(weights.bytes_of_one()), 4e9 / multiply_adds);
  const int count = std::clamp(static_cast<int>(wanted), 1, weights.count());

  std::vector<std::unique_ptr<Contender>> all;
  for (const Numerics numerics : {Numerics::exact, Numerics::fast})
    if (numerics == Numerics::exact || fast_format(pair.ours) != nullptr)
      all.push_back(std::make_unique<Sluice>(pool_, weights, pair, x, numerics));
  const std::size_t ours = all.size();
  for (auto& [name, stored] : theirs) all.push_back(std::make_unique<Ggml>(backend_, name, *stored, pair, x, count));
#ifdef PEER_ONEDNN
  if (pair.ours == FormatId::bf16 || pair.ours == FormatId::f32)
    all.push_back(std::make_unique<OneDnn>(weights, pair.ours == FormatId::bf16, pair.outs, x));
#endif

  std::vector<std::vector<double>> speeds(all.size()), clocks(all.size()), of_read(all.size()), of_fma(all.size());
  double read = yardsticks_.read_rate(), fma = yardsticks_.fma_rate();
  int next = 0;
  for (int round = 0; round < flags_.rounds; ++round) {
    std::vector<Seconds> spent(all.size());
    for (std::size_t turn = 0; turn < all.size(); ++turn) {
      const std::size_t who = (turn + static_cast<std::size_t>(round)) % all.size();
      std::this_thread::sleep_for(kSettle);
      all[who]->multiply(next, count);  // wakes its threads
      next = (next + count) % (weights.count() - weights.count() % count);
      spent[who] = seconds_of(flags_.threads, [&] { all[who]->multiply(next, count); });
      next = (next + count) % (weights.count() - weights.count() % count);
    }
    std::this_thread::sleep_for(kSettle);
    yardsticks_.read_rate();  // wakes the threads
    yardsticks_.reads.pop_back();
    const double read_after = yardsticks_.read_rate(), fma_after = yardsticks_.fma_rate();
    for (std::size_t who = 0; who < all.size(); ++who) {
      speeds[who].push_back(count * multiply_adds / spent[who].processor / 1e9);
      clocks[who].push_back(count * multiply_adds / spent[who].clock / 1e9);
      const double bytes_per_mac = static_cast<double>(all[who]->bytes_of_one) / multiply_adds;
      of_read[who].push_back(speeds[who].back() * bytes_per_mac / ((read + read_after) / 2));
      of_fma[who].push_back(speeds[who].back() / ((fma + fma_after) / 2));
    }
    read = read_after, fma = fma_after;
  }

  const std::vector<double> ours_exact = exact_results(decodings.ours, x);
  const std::vector<double> theirs_exact = pair.same_numbers ? ours_exact : exact_results(decodings.theirs, x);
  std::vector<nlohmann::json> entries;
  for (std::size_t who = 0; who < all.size(); ++who) {
    const double bytes_per_mac = static_cast<double>(all[who]->bytes_of_one) / multiply_adds;
    entries.push_back({{"format", format(pair.ours).name},
                       {"who", all[who]->name},
                       {"rows", rows},
                       {"shape", {pair.outs, pair.cols}},
                       {"gmac_per_s", median(speeds[who])},
                       {"gmac_per_s_by_the_clock", median(clocks[who])},
                       {"gb_per_s", median(speeds[who]) * bytes_per_mac},
                       {"bandwidth_ratio", median(of_read[who])},
                       {"peak_ratio", median(of_fma[who])}});
    const bool ggml = all[who]->name.starts_with("ggml");
    if (ggml) {  // a graph's last matrix is another one: one of the first alone
      Ggml alone(backend_, "", *theirs[who - ours].second, pair, x, 1);
      alone.multiply(0, 1);
      entries.back()["rel_error"] = error_of(alone.result(), pair.outs, theirs_exact);
    } else {
      all[who]->multiply(0, 1);
      entries.back()["rel_error"] = error_of(all[who]->result(), pair.outs, ours_exact);
    }
  }
  print(pair, rows, all, speeds, entries);
}

void Comparison::print(const Pair& pair, int rows, std::vector<std::unique_ptr<Contender>>& all,
                       const std::vector<std::vector<double>>& speeds, const std::vector<nlohmann::json>& entries) {
  std::size_t best = 0;
  while (!all[best]->name.starts_with("ggml")) ++best;
  for (std::size_t who = 0; who < all.size(); ++who)
    if (all[who]->name.starts_with("ggml") && median(speeds[who]) > median(speeds[best])) best = who;
  for (std::size_t who = 0; who < all.size(); ++who) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < speeds[who].size(); ++round)
      ratios.push_back(speeds[who][round] / speeds[best][round]);
    nlohmann::json entry = entries[who];
    entry["against_ggml"] = median(ratios);
    std::printf("%-8s %5d  %-24s %7.2f %8.2f %9.1f %8.2f %10.1e %10.2f\n", format(pair.ours).name.data(), rows,
                all[who]->name.c_str(), entry["gb_per_s"].get<double>(), entry["bandwidth_ratio"].get<double>(),
                entry["gmac_per_s"].get<double>(), entry["peak_ratio"].get<double>(), entry["rel_error"].get<double>(),
                median(ratios));
    entries_.push_back(std::move(entry));
  }
  std::fflush(stdout);
}

void Comparison::finish() {
  const double read = median(yardsticks_.reads), fma = median(yardsticks_.fmas);
  std::printf(
      "%d threads, %d rounds; yardsticks (medians): read %.1f GB/s, multiply-add %.1f GMAC/s; sluice %s, ggml %s\n",
      flags_.threads, flags_.rounds, read, fma, best_kernels().name, ggml_version());
  if (flags_.json.empty()) return;
  std::FILE* const file = std::fopen(flags_.json.c_str(), "w");
  if (file == nullptr) give_up("cannot write " + flags_.json);
  const nlohmann::json json = {{"threads", flags_.threads}, {"rounds", flags_.rounds}, {"read_gb_per_s", read},
                               {"fma_gmac_per_s", fma},     {"entries", entries_},     {"ggml", ggml_version()}};
  std::fputs((json.dump(1) + "\n").c_str(), file);
  std::fclose(file);
}

Flags flags_of(int count, char** words) {
  Flags flags;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string word = words[i];
    if (word == "--threads")
      flags.threads = std::atoi(words[i + 1]);
    else if (word == "--rounds")
      flags.rounds = std::atoi(words[i + 1]);
    else if (word == "--format")
      flags.format = words[i + 1];
    else if (word == "--json")
      flags.json = words[i + 1];
    else
      give_up("no such flag: " + word);
  }
  if (count % 2 == 0 || flags.threads < 1 || flags.rounds < 1)
    give_up("usage: ggml_kernels [--threads N] [--rounds N] [--format NAME] [--json FILE]");
  return flags;
}

}  // namespace

int main(int count, char** words) {
  ggml_log_set([](ggml_log_level, const char*, void*) {}, nullptr);  // repacking tells of every matrix
  Comparison comparison(flags_of(count, words));
  std::printf("%-8s %5s  %-24s %7s %8s %9s %8s %10s %10s\n", "format", "rows", "kernel", "GB/s", "of read", "GMAC/s",
              "of peak", "error", "of ggml's");
  for (const Pair& pair : kPairs) comparison.run(pair);
  comparison.finish();
}
