// sluice bench unpack: how fast a compressed block becomes its numbers, by instruction set and threads.
//
// As in a run: one large matrix with a bell curve of weights, unpacked within its slot. The kernel sets take turns
// within a round, beside the machine's reading of memory, and the median of the rounds is told.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/counter_random.h"
#include "base/median.h"
#include "checkpoint/block_layout.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "formats/bf16_stream.h"
#include "residency/memory_probe.h"
#include "residency/unpack_block.h"

namespace sluice::cli {
namespace {

constexpr Shape kMatrix{8192, 8192};  // 128 MiB of numbers: larger than caches

struct UnpackBenchFlags {
  std::string json;
  int threads = 1, rounds = 5;
};

struct UnpackBenchEntry {
  const KernelTable* kernels = nullptr;
  int threads = 1;
  std::vector<double> rates, memory_rates;  // bytes of numbers made a second, and read from memory, of each round
};

// Sums of four even numbers: near enough to a bell curve where exponents are concerned.
std::vector<std::byte> bell_numbers() {
  const std::uint64_t count = std::uint64_t{static_cast<unsigned>(kMatrix.rows)} * static_cast<unsigned>(kMatrix.cols);
  std::vector<std::byte> bytes(2 * count);
  for (std::uint64_t number = 0; number < count; ++number) {
    const std::uint64_t word = mix64(number);
    float value = -2;
    for (int part = 0; part < 4; ++part) value += static_cast<float>(word >> 16 * part & 0xffff) / 65536.f;
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(0.03f * value) >> 16;
    const auto narrow = static_cast<std::uint16_t>(bits);
    std::memcpy(bytes.data() + 2 * number, &narrow, sizeof narrow);
  }
  return bytes;
}

class UnpackBench {
 public:
  explicit UnpackBench(const UnpackBenchFlags& flags) : stream_(encode_matrix(kMatrix, numbers_)) {
    const FoundTensor found{FormatId::bf16, kMatrix, {0, 0, stream_.size()}, {}, 0, true};
    layout_ = lay_out({&found, 1});
    slot_ = PageArena(layout_.slot_bytes);
    for (const KernelTable* kernels : supported_kernels())
      for (const int threads : std::set{1, flags.threads}) entries_.push_back({kernels, threads, {}, {}});
  }

  Result<> round() {
    for (UnpackBenchEntry& entry : entries_) {
      if (interrupt_flag().requested()) return fail(ErrorKind::cancelled, "interrupted");
      ThreadPool pool(entry.threads);
      BlockUnpacker unpacker({&layout_, 1}, pool, *entry.kernels);
      std::memcpy(slot_.data() + layout_.compressed[0].stream, stream_.data(), stream_.size());
      const auto begin = std::chrono::steady_clock::now();
      TRY(unpacker.unpack(layout_, slot_.data(), [](std::size_t) { return std::string("the matrix"); }));
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (std::memcmp(slot_.data() + layout_.tensors[0].weights, numbers_.data(), numbers_.size()) != 0)
        return fail(ErrorKind::bug, fmt::format("{} unpacks other numbers than were compressed", entry.kernels->name));
      entry.rates.push_back(static_cast<double>(numbers_.size()) / seconds);
      entry.memory_rates.push_back(probe_memory(pool));
    }
    return {};
  }

  const std::vector<UnpackBenchEntry>& entries() const { return entries_; }
  double ratio() const { return static_cast<double>(stream_.size()) / static_cast<double>(numbers_.size()); }

 private:
  std::vector<std::byte> numbers_ = bell_numbers();
  std::vector<std::byte> stream_;
  BlockLayout layout_;
  PageArena slot_;
  std::vector<UnpackBenchEntry> entries_;
};

Result<> run_unpack_bench(const UnpackBenchFlags& flags) {
  UnpackBench bench(flags);
  for (int round = 0; round < flags.rounds; ++round) TRY(bench.round());
  nlohmann::json json = {{"ratio", bench.ratio()}, {"entries", nlohmann::json::array()}};
  if (flags.json != "-") fmt::print("a stream has {:.4f} of the bytes of its numbers\n", bench.ratio());
  for (const UnpackBenchEntry& entry : bench.entries()) {
    const auto [least, most] = std::ranges::minmax(entry.rates);
    const double rate = median(entry.rates), memory = median(entry.memory_rates);
    if (flags.json != "-")
      fmt::print(
          "{:<12} {} thread{} {:>6.2f} GB/s ({:.2f} to {:.2f})   memory is read at {:>6.2f} GB/s: {:.2f} of it\n",
          entry.kernels->name, entry.threads, entry.threads == 1 ? " " : "s", rate / 1e9, least / 1e9, most / 1e9,
          memory / 1e9, rate / memory);
    json["entries"].push_back({{"isa", entry.kernels->name},
                               {"threads", entry.threads},
                               {"bytes_per_s", rate},
                               {"rounds_bytes_per_s", entry.rates},
                               {"memory_bytes_per_s", memory}});
  }
  return flags.json.empty() ? Result<>{} : write_json(flags.json, json);
}

}  // namespace

void add_bench_unpack(CLI::App& bench, Chosen& chosen) {
  const auto flags = std::make_shared<UnpackBenchFlags>();
  flags->threads = ThreadPool::usable_cpus();
  CLI::App* const command = bench.add_subcommand("unpack", "How fast compressed weights become numbers");
  command->add_option("--threads", flags->threads, "Threads, beside one alone")->check(CLI::Range(1, 1024));
  command->add_option("--rounds", flags->rounds, "How often each is measured, in turns")->check(CLI::Range(1, 1000));
  command->add_option("--json", flags->json, "Write the figures; - is standard output")->type_name("FILE");
  command->callback([flags, &chosen] { chosen = [flags] { return run_unpack_bench(*flags); }; });
}

}  // namespace sluice::cli
