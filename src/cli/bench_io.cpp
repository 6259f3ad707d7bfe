// sluice bench io: what the disk brings at the sizes and depths that weights are read with, by each read engine.
//
// The engines take turns within a round, and the order turns round by round: a drive that others use as well drifts
// more than they differ. No bytes are read twice as long as the file has others.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/median.h"
#include "base/text_file.h"
#include "base/units.h"
#include "checkpoint/shard_names.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "io/disk_probe.h"
#include "io/extent.h"
#include "io/open_queue.h"
#include "io/uring_queue.h"

namespace sluice::cli {
namespace {

struct IoBenchFlags {
  std::string path, most = "256M", json;
  std::vector<std::string> sizes{"4M", "16M"};
  std::vector<int> depths{1, 2, 4, 8, 16};
  int rounds = 3;
  bool cached = false;
};

// One engine at one size and depth.
struct IoBenchEntry {
  ReadEngine engine = ReadEngine::threads;
  std::uint64_t read_bytes = 0;
  int depth = 0;
  bool direct = false;
  std::vector<double> rates;  // bytes a second, of each round
  double cpu_seconds = 0;
  std::uint64_t bytes = 0;

  double cpu_per_gb() const { return cpu_seconds / (static_cast<double>(bytes) / 1e9); }
};

std::string largest_file(const std::string& path) {
  const std::vector<std::string> shards = find_shards(path);
  if (shards.empty()) return path;
  return *std::ranges::max_element(shards, {},
                                   [](const std::string& shard) { return std::filesystem::file_size(shard); });
}

Result<> is_there(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::is_regular_file(path, failed)) return {};
  const bool directory = std::filesystem::is_directory(path, failed);
  if (directory) TRY(can_list(path));
  return fail(ErrorKind::bad_input,
              directory ? fmt::format("{} holds no *.safetensors file, so there is nothing to read", path)
                        : fmt::format("there is no file or directory {} that could be read", path),
              "name a checkpoint's directory, or a file");
}

Result<> measure(IoBenchEntry& entry, const std::string& path, DiskProbe probe) {
  probe.engine = entry.engine;
  const std::clock_t begin = std::clock();
  TRY_TAKE(const DiskSpeed speed, probe_disk(path, probe));
  entry.cpu_seconds += static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  entry.bytes += speed.bytes;
  entry.direct = speed.direct;
  entry.rates.push_back(speed.bytes_per_second);
  return {};
}

void print_entry(const IoBenchEntry& entry) {
  const auto [least, most] = std::ranges::minmax(entry.rates);
  fmt::print("{:>10} {:>6} {:<9} {:>7.2f} GB/s ({:.2f} to {:.2f})   {:.3f} s of a processor for each GB\n",
             format_bytes(entry.read_bytes), entry.depth, engine_name(entry.engine), median(entry.rates) / 1e9,
             least / 1e9, most / 1e9, entry.cpu_per_gb());
}

Result<> run_io_bench(const IoBenchFlags& flags) {
  const std::string path = largest_file(flags.path);
  TRY(is_there(path));
  DiskProbe probe{.most_seconds = 5, .cached = flags.cached, .as_told = true, .cancel = &interrupt_flag()};
  TRY_TAKE(probe.most_bytes, parse_size(flags.most, "--bytes"));
  std::vector<ReadEngine> engines{ReadEngine::threads};
  if (const std::optional<std::string> refusal = ring_refusal())
    note("io_uring cannot be used here: " + *refusal);
  else
    engines.push_back(ReadEngine::ring);
  nlohmann::json json = nlohmann::json::array();
  for (const std::string& size : flags.sizes) {
    TRY_TAKE(probe.read_bytes, parse_size(size, "--read-size"));
    if (probe.read_bytes == 0) return fail(ErrorKind::usage, "--read-size: reads of 0 bytes bring nothing");
    for (const int depth : flags.depths) {
      probe.depth = depth;
      std::vector<IoBenchEntry> entries;
      for (const ReadEngine engine : engines) entries.push_back({engine, probe.read_bytes, depth, false, {}, 0, 0});
      for (int round = 0; round < flags.rounds; ++round)
        for (std::size_t turn = 0; turn < entries.size(); ++turn) {
          if (interrupt_flag().requested()) return fail(ErrorKind::cancelled, "interrupted");
          const std::size_t which = (turn + static_cast<std::size_t>(round)) % entries.size();
          TRY(measure(entries[which], path, probe));
          probe.from += page_ceil(probe.read_bytes);
        }
      for (const IoBenchEntry& entry : entries) {
        if (flags.json != "-") print_entry(entry);
        json.push_back({{"engine", engine_name(entry.engine)},
                        {"read_bytes", entry.read_bytes},
                        {"depth", entry.depth},
                        {"direct", entry.direct},
                        {"bytes_per_s", median(entry.rates)},
                        {"rounds_bytes_per_s", entry.rates},
                        {"cpu_s_per_gb", entry.cpu_per_gb()}});
      }
    }
  }
  return flags.json.empty() ? Result<>{} : write_json(flags.json, json);
}

}  // namespace

void add_bench_io(CLI::App& bench, Chosen& chosen) {
  const auto flags = std::make_shared<IoBenchFlags>();
  CLI::App* const command = bench.add_subcommand("io", "What the disk brings, by read size, depth and read engine");
  command->add_option("PATH", flags->path, "A checkpoint, whose largest shard is read, or a file")->required();
  command->add_option("--read-size", flags->sizes, "Bytes of a read: 4M,16M")->delimiter(',')->type_name("SIZES");
  command->add_option("--depth", flags->depths, "Reads at a time: 1,2,4")
      ->delimiter(',')
      ->type_name("NUMBERS")
      ->check(CLI::Range(1, 128));
  command->add_option("--rounds", flags->rounds, "How often each is measured, in turns")->check(CLI::Range(1, 1000));
  command->add_option("--bytes", flags->most, "Bytes of one measurement at most")->type_name("SIZE");
  command->add_flag("--cached", flags->cached, "Through the page cache");
  command->add_option("--json", flags->json, "Write the figures; - is standard output")->type_name("FILE");
  command->callback([flags, &chosen] { chosen = [flags] { return run_io_bench(*flags); }; });
}

}  // namespace sluice::cli
