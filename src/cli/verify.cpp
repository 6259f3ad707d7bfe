// sluice verify MODEL: is every byte of a checkpoint what it was, or can be? Names the files to fetch again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/counted.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "checkpoint/changed_runs.h"
#include "checkpoint/safetensors_dir.h"
#include "checkpoint/shard_names.h"
#include "checkpoint/verify.h"
#include "checkpoint/write_checksums.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "io/files.h"
#include "models/registry.h"

namespace sluice::cli {
namespace {

constexpr std::size_t kToldByName = 24;

struct VerifyFlags {
  std::string model, json;
  int layers = 0, threads = 1;
  bool write = false;
};

struct Opened {
  std::unique_ptr<SafetensorsDir> checkpoint;
  BoundCensus bound;
  std::unique_ptr<Files> files;
};

struct Verified {
  std::uint64_t files = 0, tensors = 0, bytes = 0;
  std::size_t checksums = 0;  // that there were
  double seconds = 0;
  std::vector<WeightFault> faults;
};

// Headers and the census first: they are quick, and a shard that is missing makes the rest pointless. The head that
// drafts is a part of it where the files have one.
Result<Opened> open_bound(const VerifyFlags& flags) {
  TRY_TAKE(const std::string text, read_config(flags.model));
  TRY_TAKE(const std::unique_ptr<ModelConfig> config,
           read_model_config(text, (std::filesystem::path(flags.model) / "config.json").string()));
  if (flags.layers > config->layers())
    return fail(ErrorKind::usage, fmt::format("--layers {}: the model has {}", flags.layers, config->layers()));
  const int layers = flags.layers > 0 ? flags.layers : config->layers();
  const bool partial = layers < config->layers();
  Opened opened;
  TRY_TAKE(opened.checkpoint, SafetensorsDir::open(flags.model, flags.threads));
  Result<BoundCensus> bound =
      opened.checkpoint->bind(config->census({layers, config->has_draft_head() && !partial}), partial);
  if (!bound) bound = opened.checkpoint->bind(config->census({layers}), partial);
  if (!bound) return tl::unexpected<Error>(std::move(bound.error()));
  opened.bound = std::move(*bound);
  TRY_TAKE(opened.files, open_files(opened.checkpoint->files(), IoMode::automatic));
  return opened;
}

Result<Verified> read_weights(const Opened& opened, const std::optional<Checksums>& sums) {
  const SafetensorsDir& checkpoint = *opened.checkpoint;
  Verified seen{checkpoint.files().size(), checkpoint.index().count(), verify_bytes(*opened.files), 0, 0, {}};
  const auto begin = std::chrono::steady_clock::now();
  std::optional<RunHasher> hasher;
  if (sums) hasher.emplace(sums->runs());
  {
    Progress shown("reading", seen.bytes);
    TRY_TAKE(seen.faults, verify_weights(checkpoint.index(), *opened.files,
                                         {.cancel = &interrupt_flag(), .hasher = hasher ? &*hasher : nullptr},
                                         [&](std::uint64_t done) { shown.at(done); }));
  }
  if (sums) {
    seen.checksums = sums->runs().size();
    std::ranges::copy(changed_runs(opened.bound, *sums, *hasher), std::back_inserter(seen.faults));
    std::ranges::stable_sort(seen.faults, {}, &WeightFault::file);
  }
  seen.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return seen;
}

nlohmann::json verified_json(const SafetensorsDir& checkpoint, const Verified& seen) {
  nlohmann::json json = {{"files", seen.files},     {"tensors", seen.tensors},     {"bytes", seen.bytes},
                         {"seconds", seen.seconds}, {"checksums", seen.checksums}, {"faults", nlohmann::json::array()}};
  for (const WeightFault& fault : seen.faults)
    json["faults"].push_back({{"file", file_name(checkpoint.files()[static_cast<std::size_t>(fault.file)])},
                              {"tensor", fault.tensor},
                              {"problem", fault.problem}});
  return json;
}

void print_faults(const SafetensorsDir& checkpoint, const Verified& seen) {
  for (const WeightFault& fault : seen.faults)
    fmt::print("{}: {}{}\n", file_name(checkpoint.files()[static_cast<std::size_t>(fault.file)]),
               fault.tensor.empty() ? "" : in_quotes(fault.tensor) + ": ", fault.problem);
}

// The verdict: nothing, or an error that names the damaged files.
Result<> judge(const SafetensorsDir& checkpoint, const Verified& seen) {
  std::vector<std::string> damaged;  // faults are in the order of files
  for (const WeightFault& fault : seen.faults) {
    std::string name = file_name(checkpoint.files()[static_cast<std::size_t>(fault.file)]);
    if (damaged.empty() || damaged.back() != name) damaged.push_back(std::move(name));
  }
  if (damaged.empty()) return {};
  const std::size_t all = damaged.size();
  if (all > kToldByName) damaged.resize(kToldByName);
  return fail(ErrorKind::corrupt,
              fmt::format("{}: {} of {} {} damaged: {}{}", checkpoint.directory(), all, counted(seen.files, "file"),
                          all == 1 ? "is" : "are", fmt::join(damaged, ", "),
                          all > damaged.size() ? fmt::format(" and {} more", all - damaged.size()) : ""),
              all == 1 ? "fetch this file again" : "fetch these files again");
}

Result<> write_sums(const VerifyFlags& flags, const Opened& opened) {
  {
    Progress shown("reading", verify_bytes(*opened.files));
    TRY(write_checksums(flags.model, opened.checkpoint->index(), *opened.files, opened.bound,
                        {.cancel = &interrupt_flag()}, [&](std::uint64_t done) { shown.at(done); }));
  }
  if (!flags.json.empty()) TRY(write_json(flags.json, {{"written", kChecksumsFile}}));
  if (flags.json != "-") fmt::print("{}: {} written\n", flags.model, kChecksumsFile);
  return {};
}

Result<> verify(const VerifyFlags& flags) {
  TRY_TAKE(const Opened opened, open_bound(flags));
  note(fmt::format("{}: headers are sound and hold the whole model; reading the weights", flags.model));
  if (flags.write) return write_sums(flags, opened);
  const SafetensorsDir& checkpoint = *opened.checkpoint;
  TRY_TAKE(const std::optional<Checksums> sums, Checksums::read(flags.model, checkpoint.files()));
  TRY_TAKE(const Verified seen, read_weights(opened, sums));
  if (!flags.json.empty()) TRY(write_json(flags.json, verified_json(checkpoint, seen)));
  if (flags.json != "-") {
    print_faults(checkpoint, seen);
    if (seen.faults.empty())
      fmt::print("{}: sound: {} in {}, {} read in {} ({}){}\n", flags.model, counted(seen.tensors, "tensor"),
                 counted(seen.files, "file"), format_bytes(seen.bytes), format_seconds(seen.seconds),
                 format_rate(static_cast<double>(seen.bytes) / seen.seconds),
                 sums ? fmt::format("; {} checksums match", format_count(seen.checksums)) : "");
  }
  return judge(checkpoint, seen);
}

}  // namespace

void add_verify(CLI::App& app, Chosen& chosen) {
  const auto flags = std::make_shared<VerifyFlags>();
  flags->threads = ThreadPool::usable_cpus();
  CLI::App* const command =
      app.add_subcommand("verify", "Read every weight once and look for damage; names the files to fetch again");
  command->add_option("MODEL", flags->model, "Directory of the checkpoint")->required();
  command->add_flag("--write", flags->write,
                    "Write checksums of what is there now, for later runs; not over older ones that do not match");
  command->add_option("--layers", flags->layers, "The directory holds the first layers only (0: all)")
      ->check(CLI::Range(0, 100000));
  command->add_option("--threads", flags->threads, "Threads that read headers")->check(CLI::Range(1, 1024));
  command->add_option("--json", flags->json, "Write what was found to this file; - is standard output");
  command->callback([flags, &chosen] { chosen = [flags] { return verify(*flags); }; });
}

}  // namespace sluice::cli
