// See bench_index.h.
#include "cli/bench_index.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/counted.h"
#include "base/units.h"
#include "checkpoint/tensor_index.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "models/kimi_k3/synth.h"

namespace sluice::cli {

namespace {

// A new directory inside another, gone with this object.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(const std::string& parent) : path_(parent + "/sluice-bench-XXXXXX") {
    made_ = ::mkdtemp(path_.data()) != nullptr;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    if (made_) std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  bool made() const { return made_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_;
};

// The two files that a text engine skips (spec section 2.5).
std::vector<StoredTensor> projector_shard() {
  return {{"mm_projector.proj.0.weight", Dtype::bf16, {4096, 4096}},
          {"mm_projector.proj.2.weight", Dtype::bf16, {7168, 4096}},
          {"mm_projector.post_norm.weight", Dtype::bf16, {7168}}};
}

std::vector<StoredTensor> vision_shard() {
  std::vector<StoredTensor> tensors = {{"vision_tower.encoder.final_layernorm.weight", Dtype::bf16, {1024}},
                                       {"vision_tower.patch_embed.proj.weight", Dtype::bf16, {1024, 3, 14, 14}},
                                       {"vision_tower.patch_embed.pos_emb.weight", Dtype::bf16, {64, 64, 1024}}};
  for (int block = 0; block < 27; ++block) {
    const std::string prefix = fmt::format("vision_tower.encoder.blocks.{}.", block);
    tensors.push_back({prefix + "norm0.weight", Dtype::bf16, {1024}});
    tensors.push_back({prefix + "norm1.weight", Dtype::bf16, {1024}});
    tensors.push_back({prefix + "wqkv.weight", Dtype::bf16, {4608, 1024}});
    tensors.push_back({prefix + "wo.weight", Dtype::bf16, {1024, 1536}});
    tensors.push_back({prefix + "mlp.fc0.weight", Dtype::bf16, {4096, 1024}});
    tensors.push_back({prefix + "mlp.fc1.weight", Dtype::bf16, {1024, 4096}});
  }
  return tensors;
}

Result<IndexTimes> time_index(const std::vector<std::string>& paths, int threads, int rounds, std::size_t& tensors) {
  IndexTimes times{threads, {}};
  for (int round = 0; round < rounds; ++round) {
    if (interrupt_flag().requested()) return fail(ErrorKind::cancelled, "interrupted");
    const auto begin = std::chrono::steady_clock::now();
    TRY_TAKE(const TensorIndex index, TensorIndex::read(paths, threads));
    times.seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    tensors = index.count();
  }
  std::sort(times.seconds.begin(), times.seconds.end());
  return times;
}

Result<> run_index_bench(const BenchIndexOptions& options, const std::string& json_path) {
  note("writing 96 files with the headers of Kimi K3, and holes for its weights");
  TRY_TAKE(const IndexBench bench, bench_index(options));
  if (json_path != "-") {
    std::string line = fmt::format("{} in {}: ", counted(bench.tensors, "tensor"), counted(bench.files, "header"));
    for (const IndexTimes& times : bench.times)
      line += fmt::format("{}best {:.3f} s, median {:.3f} s ({})", &times == bench.times.data() ? "" : "; ",
                          times.best(), times.median(), counted(times.threads, "thread"));
    fmt::print("{}\n", line);
  }
  if (json_path.empty()) return {};
  nlohmann::ordered_json json = {{"tensors", bench.tensors}, {"files", bench.files}};
  for (const IndexTimes& times : bench.times)
    json["runs"].push_back(
        {{"threads", times.threads}, {"best_s", times.best()}, {"median_s", times.median()}, {"all_s", times.seconds}});
  return write_json(json_path, json);
}

}  // namespace

Result<std::vector<std::vector<StoredTensor>>> released_shards() {
  TRY_TAKE(SynthCheckpoint checkpoint, kimi_k3::synth_checkpoint({.scale = SynthScale::full}));
  checkpoint.shards.pop_back();  // a small picture tower
  std::vector<std::vector<StoredTensor>> shards;
  for (auto& shard : checkpoint.shards) {
    shards.emplace_back();
    for (SynthTensor& tensor : shard) shards.back().push_back(std::move(tensor.stored));
  }
  shards.push_back(projector_shard());
  shards.push_back(vision_shard());
  return shards;
}

Result<std::vector<std::string>> write_sparse_shards(const std::string& directory,
                                                     std::vector<std::vector<StoredTensor>> shards) {
  std::vector<std::string> paths;
  const int count = static_cast<int>(shards.size());
  for (int shard = 0; shard < count; ++shard) {
    if (interrupt_flag().requested()) return fail(ErrorKind::cancelled, "interrupted");
    TRY_TAKE(const SafetensorsLayout layout,
             lay_out_safetensors(std::exchange(shards[static_cast<std::size_t>(shard)], {})));
    paths.push_back(directory + "/" + shard_name(shard + 1, count));
    std::ofstream file(paths.back(), std::ios::binary);
    file.write(layout.head.data(), static_cast<std::streamsize>(layout.head.size()));
    file.close();
    std::error_code problem;
    if (file) std::filesystem::resize_file(paths.back(), layout.file_bytes(), problem);
    if (!file || problem)
      return fail(ErrorKind::bad_input,
                  fmt::format("cannot make {} with {} of holes: {}", paths.back(), format_bytes(layout.file_bytes()),
                              problem ? problem.message() : std::strerror(errno)),
                  "name a directory on a file system with sparse files: --directory DIR");
  }
  return paths;
}

Result<IndexBench> bench_index(const BenchIndexOptions& options) {
  const ScratchDirectory scratch(options.directory);
  if (!scratch.made())
    return fail(ErrorKind::bad_input,
                fmt::format("cannot make a directory in {}: {}", options.directory, std::strerror(errno)),
                "name another one with --directory DIR");
  TRY_TAKE(std::vector<std::vector<StoredTensor>> shards, released_shards());
  TRY_TAKE(const std::vector<std::string> paths, write_sparse_shards(scratch.path(), std::move(shards)));
  IndexBench bench;
  bench.files = paths.size();
  for (int threads : {options.threads, 1}) {
    if (!bench.times.empty() && bench.times.front().threads == threads) continue;
    TRY_TAKE(IndexTimes times, time_index(paths, threads, options.rounds, bench.tensors));
    bench.times.push_back(std::move(times));
  }
  return bench;
}

void add_bench_index(CLI::App& bench, Chosen& chosen) {
  struct Flags {
    BenchIndexOptions options;
    std::string json;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* const command = bench.add_subcommand("index", "Time to find the 497,220 tensors of Kimi K3 in 96 headers");
  command->add_option("--threads", flags->options.threads, "Threads that parse headers")->check(CLI::Range(1, 1024));
  command->add_option("--rounds", flags->options.rounds, "How often")->check(CLI::Range(1, 1000));
  command->add_option("--directory", flags->options.directory, "Where to make the files, for as long as it takes");
  command->add_option("--json", flags->json, "Write the figures to this file; - is standard output");
  command->callback([flags, &chosen] { chosen = [flags] { return run_index_bench(flags->options, flags->json); }; });
}

}  // namespace sluice::cli
