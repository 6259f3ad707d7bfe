// See synth.h.
#include "checkpoint/synth.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/units.h"
#include "checkpoint/output_directory.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// A shard ready to be written: its layout and, for each tensor in file order, how to fill it.
struct Shard {
  SafetensorsLayout layout;
  std::vector<ValueRule> rules;
  std::vector<std::uint64_t> keys;
};

Result<Shard> lay_out_shard(const std::vector<SynthTensor>& tensors, std::uint64_t seed) {
  std::vector<StoredTensor> stored;
  std::unordered_map<std::string_view, const ValueRule*> rules;
  for (const SynthTensor& tensor : tensors) {
    stored.push_back(tensor.stored);
    rules.emplace(tensor.stored.name, &tensor.values);
  }
  TRY_TAKE(SafetensorsLayout layout, lay_out_safetensors(std::move(stored)));
  Shard shard{std::move(layout), {}, {}};
  for (const StoredTensor& tensor : shard.layout.tensors) {
    shard.rules.push_back(*rules.at(tensor.name));
    shard.keys.push_back(value_key(seed, tensor.name));
  }
  return shard;
}

// Everything about one run of write_synth that its steps share.
class SynthWriter {
 public:
  SynthWriter(const SynthCheckpoint& checkpoint, fs::path directory, const SynthRun& run, SynthProgress progress)
      : checkpoint_(checkpoint), directory_(std::move(directory)), run_(run), progress_(progress) {}

  Result<SynthOutcome> write() {
    TRY_TAKE(const bool finished, look_around());
    if (finished) return SynthOutcome::already_there;
    for (const std::vector<SynthTensor>& tensors : checkpoint_.shards) {
      TRY_TAKE(Shard shard, lay_out_shard(tensors, checkpoint_.seed));
      total_ += shard.layout.file_bytes();
      shards_.push_back(std::move(shard));
    }
    TRY(check_room());
    TRY(write_text_file(path_of(kUnfinishedConfig), checkpoint_.config));
    std::vector<SafetensorsLayout> layouts;
    for (std::size_t index = 0; index < shards_.size(); ++index) {
      TRY(write_shard(index));
      layouts.push_back(std::move(shards_[index].layout));
    }
    TRY(write_safetensors_index(directory_.string(), layouts));
    for (const SynthText& text : checkpoint_.texts) TRY(write_text_file(path_of(text.name), text.text));
    std::error_code failed;
    fs::rename(path_of(kUnfinishedConfig), path_of(kConfigFile), failed);
    if (failed) return fail(ErrorKind::io, fmt::format("{}: {}", path_of(kConfigFile), failed.message()));
    return SynthOutcome::written;
  }

 private:
  std::string path_of(const std::string& name) const { return (directory_ / name).string(); }

  std::string shard_path(std::size_t index) const {
    return path_of(shard_name(static_cast<int>(index) + 1, static_cast<int>(checkpoint_.shards.size())));
  }

  bool holds_config(const char* name) const {
    std::ifstream in(path_of(name), std::ios::binary);
    return in && std::string(std::istreambuf_iterator<char>(in), {}) == checkpoint_.config;
  }

  // True: the finished checkpoint is here. False: an empty or new directory, or an unfinished one to go on with.
  Result<bool> look_around() {
    std::error_code failed;
    fs::create_directories(directory_, failed);
    const bool empty = !failed && fs::is_empty(directory_, failed);
    if (failed)
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: cannot use this directory: {}", directory_.string(), failed.message()));
    if (holds_config(kConfigFile)) return true;
    resumed_ = holds_config(kUnfinishedConfig);
    if (empty || resumed_) return false;
    return fail(ErrorKind::bad_input, fmt::format("{}: holds something else already", directory_.string()),
                "Nothing is overwritten: choose a new directory or empty this one.");
  }

  // A shard has its name only when it is complete, and the unfinished config says that its values are the same.
  bool is_written(std::size_t index) const {
    std::error_code failed;
    return resumed_ && fs::file_size(shard_path(index), failed) == shards_[index].layout.file_bytes() && !failed;
  }

  Result<> check_room() const {
    std::uint64_t needed = 0;
    for (std::size_t index = 0; index < shards_.size(); ++index)
      if (!is_written(index)) needed += shards_[index].layout.file_bytes();
    for (const SynthText& text : checkpoint_.texts) needed += text.text.size();
    std::error_code failed;
    const fs::space_info space = fs::space(directory_, failed);
    if (failed || space.available >= needed) return {};
    return fail(ErrorKind::bad_input,
                fmt::format("{}: needs {} and the disk has {} free", directory_.string(), format_bytes(needed),
                            format_bytes(space.available)),
                "Free some space, choose another disk, or ask for fewer --layers or --experts.");
  }

  Result<> write_shard(std::size_t index) {
    const Shard& shard = shards_[index];
    if (is_written(index)) {
      done_ += shard.layout.file_bytes();
      return {};
    }
    const std::thread::id caller = std::this_thread::get_id();
    const auto fill = [&](std::size_t tensor, std::uint64_t offset, std::span<std::byte> piece) -> Result<> {
      if (run_.cancel != nullptr && run_.cancel->requested())
        return fail(ErrorKind::cancelled, fmt::format("{}: stopped, unfinished", directory_.string()),
                    "The same command goes on where this one stopped.");
      fill_values(shard.rules[tensor], shard.layout.tensors[tensor].type, shard.keys[tensor], offset, piece);
      const std::uint64_t done = done_.fetch_add(piece.size(), std::memory_order_relaxed) + piece.size();
      if (std::this_thread::get_id() == caller) progress_(done, total_);
      return {};
    };
    done_ += shard.layout.head.size();
    return write_safetensors(shard_path(index), shard.layout, fill, {run_.threads, run_.durability});
  }

  const SynthCheckpoint& checkpoint_;
  const fs::path directory_;
  const SynthRun& run_;
  SynthProgress progress_;
  bool resumed_ = false;
  std::vector<Shard> shards_;
  std::uint64_t total_ = 0;
  std::atomic<std::uint64_t> done_{0};
};

}  // namespace

std::uint64_t synth_bytes(const SynthCheckpoint& checkpoint) {
  std::uint64_t bytes = 0;
  for (const std::vector<SynthTensor>& shard : checkpoint.shards)
    for (const SynthTensor& tensor : shard) bytes += tensor.stored.bytes();
  return bytes;
}

Result<SynthOutcome> write_synth(const SynthCheckpoint& checkpoint, const std::string& directory, const SynthRun& run,
                                 SynthProgress progress) {
  return SynthWriter(checkpoint, directory, run, progress).write();
}

}  // namespace sluice
